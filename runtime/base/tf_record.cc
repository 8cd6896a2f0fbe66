#include "runtime/base/tf_record.h"

#include <cstdint>

#include "runtime/base/crc32c.h"

namespace tessera {
namespace {

template <typename T>
void AppendLittleEndian(T value, std::string* out) {
  for (size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

void AppendTfRecord(absl::string_view data, std::string* file) {
  const size_t start = file->size();
  AppendLittleEndian(static_cast<uint64_t>(data.size()), file);
  AppendLittleEndian(MaskCrc32c(Crc32c(absl::string_view(*file).substr(start))), file);
  file->append(data.data(), data.size());
  AppendLittleEndian(MaskCrc32c(Crc32c(data)), file);
}

}  // namespace tessera
