// A file descriptor with an owner, and the statuses of failed calls on files.
#pragma once

#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Closes its descriptor in the destructor. A negative descriptor, that of a failed open(), is
// allowed and is not closed.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }
  // Gives up ownership: the caller closes the descriptor.
  void Release() { fd_ = -1; }

 private:
  int fd_;
};

// "cannot open '/a/b': No such file or directory", with the code that belongs to the errno value.
inline absl::Status ErrnoStatus(int error, absl::string_view action, absl::string_view path) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", action, " '", path, "'"));
}

// FAILED_PRECONDITION for a call that needs a file and was given a directory.
inline absl::Status DirectoryError(absl::string_view action, absl::string_view path) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", action, " '", path, "': it is a directory"));
}

}  // namespace tessera
