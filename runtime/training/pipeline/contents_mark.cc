#include "runtime/training/pipeline/contents_mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/file_descriptor.h"

namespace tessera {
namespace {

constexpr int64_t kEndSize = 64 << 10;

// A file that is open, and its size.
struct OpenFile {
  explicit OpenFile(const std::string& path) : fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat info;
    if (fd.get() >= 0 && ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode))
      size = info.st_size;
  }

  FileDescriptor fd;
  int64_t size = -1;  // of what is no regular file, or cannot be read
};

// The checksum of the ends of the first `size` bytes; nullopt if they cannot be read.
std::optional<uint32_t> ChecksumOfEnds(const OpenFile& file, int64_t size) {
  const int64_t length = std::min(size, kEndSize);
  std::string bytes(static_cast<size_t>(length), '\0');
  uint32_t crc = 0;
  for (const int64_t offset : {int64_t{0}, size - length}) {
    if (::pread(file.fd.get(), bytes.data(), bytes.size(), offset) != length) return std::nullopt;
    crc = ExtendCrc32c(crc, bytes);
  }
  return crc;
}

std::string MarkOf(const std::string& path) {
  const OpenFile file(path);
  if (file.size < 0) return "";
  const std::optional<uint32_t> crc = ChecksumOfEnds(file, file.size);
  return crc ? absl::StrCat(file.size, ":", *crc) : "";
}

bool Fits(absl::string_view mark, const std::string& path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(mark, ':');
  int64_t size = 0;
  uint32_t crc = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &size) ||
      !absl::SimpleAtoi(parts[1], &crc)) {
    return true;
  }
  const OpenFile file(path);
  return file.size >= size && ChecksumOfEnds(file, size) == crc;
}

}  // namespace

std::string ContentsMark(const std::vector<std::string>& files) {
  return absl::StrJoin(files, ",", [](std::string* out, const std::string& path) {
    absl::StrAppend(out, MarkOf(path));
  });
}

absl::Status CheckContents(absl::string_view mark, const std::vector<std::string>& files) {
  const std::vector<absl::string_view> marks = absl::StrSplit(mark, ',');
  for (size_t i = 0; i < std::min(marks.size(), files.size()); ++i) {
    if (Fits(marks[i], files[i])) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the position was saved with other contents of '", files[i], "'"));
  }
  return absl::OkStatus();
}

}  // namespace tessera
