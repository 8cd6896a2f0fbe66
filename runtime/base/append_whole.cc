#include "runtime/base/append_whole.h"

#include <unistd.h>

#include <cerrno>

#include "runtime/base/file_descriptor.h"

namespace tessera {

absl::Status AppendWhole(int fd, absl::string_view bytes, std::optional<off_t> size,
                         const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      const int error = errno;
      // A cut that fails leaves a part of a record, which readers of the file report.
      if (size && ::ftruncate(fd, *size) != 0) {
        return ErrnoStatus(errno, "cut back", path);
      }
      return ErrnoStatus(error, "write to", path);
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
