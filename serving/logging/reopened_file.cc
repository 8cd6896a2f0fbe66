#include "serving/logging/reopened_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "runtime/base/append_whole.h"
#include "runtime/base/status.h"

namespace tessera::serving {

absl::StatusOr<std::unique_ptr<ReopenedFile>> ReopenedFile::Open(const std::string& path) {
  std::unique_ptr<ReopenedFile> file(new ReopenedFile(path));
  RETURN_IF_ERROR(file->OpenAgain());
  return file;
}

absl::Status ReopenedFile::OpenAgain() {
  // A pipe that nobody reads would be waited for otherwise.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
  const int fd = path_ == "-" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                              : ::open(path_.c_str(), kFlags, 0644);
  if (fd < 0) return ErrnoStatus(errno, "open", path_);
  if (path_ != "-") ::fcntl(fd, F_SETFL, O_APPEND);
  file_ = std::make_unique<FileDescriptor>(fd);
  return absl::OkStatus();
}

absl::Status ReopenedFile::Append(absl::string_view bytes) {
  if (is_stale_.exchange(false, std::memory_order_relaxed)) {
    if (absl::Status status = OpenAgain(); !status.ok()) {
      Reopen();
      return status;
    }
  }
  // Standard output is not cut back, because others write to it.
  struct stat info;
  const bool can_be_cut =
      path_ != "-" && ::fstat(file_->get(), &info) == 0 && S_ISREG(info.st_mode);
  return AppendWhole(file_->get(), bytes, can_be_cut ? std::optional(info.st_size) : std::nullopt,
                     path_);
}

}  // namespace tessera::serving
