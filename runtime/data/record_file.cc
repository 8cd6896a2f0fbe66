#include "runtime/data/record_file.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

constexpr uint64_t kLengthBytes = 8, kChecksumBytes = 4;

uint64_t LittleEndian(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

// Reads `size` bytes and the checksum behind them, at which *bytes is cut off.
absl::Status ReadChecked(ByteSource& source, uint64_t size, uint64_t record_at,
                         std::string* bytes) {
  std::string checksum;
  RETURN_IF_ERROR(source.Read(size, bytes));
  if (bytes->size() == size) RETURN_IF_ERROR(source.Read(kChecksumBytes, &checksum));
  if (checksum.size() < kChecksumBytes) {
    return absl::DataLossError(absl::StrCat("truncated record at ", record_at));
  }
  const uint32_t stored = UnmaskCrc32c(static_cast<uint32_t>(LittleEndian(checksum)));
  if (ChecksumMatches(stored, Crc32c(*bytes))) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("corrupted record at ", record_at));
}

}  // namespace

absl::StatusOr<bool> ReadRecord(ByteSource& source, std::string* record) {
  const uint64_t at = source.position();
  ASSIGN_OR_RETURN(const int next, source.Peek());
  if (next < 0) return false;
  RETURN_IF_ERROR(ReadChecked(source, kLengthBytes, at, record));
  RETURN_IF_ERROR(ReadChecked(source, LittleEndian(*record), at, record));
  return true;
}

}  // namespace tessera
