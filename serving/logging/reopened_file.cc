#include "serving/logging/reopened_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/base/append_whole.h"
#include "runtime/base/status.h"

namespace tessera::serving {

absl::StatusOr<std::unique_ptr<ReopenedFile>> ReopenedFile::Open(const std::string& path) {
  const int stopped = ::eventfd(0, EFD_CLOEXEC);
  if (stopped < 0) return ErrnoStatus(errno, "make an event for", path);
  std::unique_ptr<ReopenedFile> file(new ReopenedFile(path, stopped));
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
  struct stat info;
  if (::fstat(file_->get(), &info) != 0) return ErrnoStatus(errno, "look at", path_);
  if (!S_ISREG(info.st_mode)) return AppendToReader(bytes);
  // Standard output is not cut back, because others write to it.
  return AppendWhole(file_->get(), bytes, path_ == "-" ? std::nullopt : std::optional(info.st_size),
                     path_);
}

void ReopenedFile::StopWaiting() {
  const uint64_t one = 1;
  (void)!::write(stopped_.get(), &one, sizeof(one));
}

// Writes to a pipe, a socket or a terminal, whose reader may be slow, or stopped.
absl::Status ReopenedFile::AppendToReader(absl::string_view bytes) const {
  while (!bytes.empty()) {
    pollfd ready[] = {{.fd = file_->get(), .events = POLLOUT, .revents = 0},
                      {.fd = stopped_.get(), .events = POLLIN, .revents = 0}};
    if (::poll(ready, std::size(ready), /*timeout=*/-1) < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "wait for the reader of", path_);
    }
    if (ready[0].revents == 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot write to '", path_, "': its reader does not take more"));
    }
    // A pipe that is ready takes so many bytes without waiting.
    const absl::string_view chunk = bytes.substr(0, PIPE_BUF);
    RETURN_IF_ERROR(AppendWhole(file_->get(), chunk, std::nullopt, path_));
    bytes.remove_prefix(chunk.size());
  }
  return absl::OkStatus();
}

}  // namespace tessera::serving
