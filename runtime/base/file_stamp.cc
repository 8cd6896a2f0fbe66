#include "runtime/base/file_stamp.h"

#include <sys/stat.h>

namespace tessera {
namespace {

// Several times the longest tick of a kernel's clock, which is 10 ms.
constexpr absl::Duration kSettleTime = absl::Milliseconds(50);

}  // namespace

FileStamp FileStamp::Of(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return {};
  return {.exists = true,
          .device = info.st_dev,
          .inode = info.st_ino,
          .size = info.st_size,
          .modified = absl::TimeFromTimespec(info.st_mtim),
          .changed = absl::TimeFromTimespec(info.st_ctim)};
}

bool FileStamp::IsSettled(absl::Time now) const { return !exists || changed + kSettleTime < now; }

}  // namespace tessera
