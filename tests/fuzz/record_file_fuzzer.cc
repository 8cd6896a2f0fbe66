// Any bytes as a file of records, as it stands or compressed, and as lines of text.
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/logging.h"
#include "runtime/data/record_file.h"

namespace {

// What a compressed file may become here; one that goes on is no finding.
constexpr uint64_t kMostBytes = 1 << 20;

}  // namespace

// The first byte says what to read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const tessera::Compression compression = data[0] % 3 == 0   ? tessera::Compression::kNone
                                           : data[0] % 3 == 1 ? tessera::Compression::kZlib
                                                              : tessera::Compression::kGzip;
  const bool lines = data[0] / 3 % 2 == 1;
  const auto source = tessera::ByteSource::Of(bytes, compression);
  std::string record;
  while (source->position() < kMostBytes) {
    const uint64_t before = source->position();
    const absl::StatusOr<bool> more =
        lines ? source->ReadLine(&record) : tessera::ReadRecord(*source, &record);
    if (!more.ok() || !*more) break;
    CHECK(source->position() >= before + record.size());
    CHECK(source->position() > before);
  }
  return 0;
}
