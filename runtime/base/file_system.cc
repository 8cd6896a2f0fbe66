#include "runtime/base/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/status.h"

namespace tessera {

namespace {

// Limits of what is read from pipes and devices, such as the configuration of `--config=<(...)`.
constexpr size_t kMaxStreamBytes = size_t{256} << 20;
constexpr int kMaxStreamWaitMillis = 10'000;

// The directory that holds `path`, for syncing a rename.
std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A rename survives a crash only once the directory is on the disk, too.
void SyncDirectory(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (fd.get() >= 0) ::fsync(fd.get());
}

// Returns the path that a symbolic link leads to, and other paths as they are.
std::string TargetOf(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return path;
  const std::unique_ptr<char, decltype(&std::free)> target(::realpath(path.c_str(), nullptr),
                                                           &std::free);
  return target == nullptr ? path : target.get();
}

absl::Status WriteAll(int fd, absl::string_view data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "write", path);
    }
    data.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

// Waits for bytes, or the end, of what is no file. Errors: DEADLINE_EXCEEDED if none come;
// RESOURCE_EXHAUSTED if too many have come.
absl::Status WaitForMore(int fd, size_t num_read, const std::string& path) {
  if (num_read > kMaxStreamBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, " is no file, and gives more than ", kMaxStreamBytes, " bytes"));
  }
  pollfd more{.fd = fd, .events = POLLIN, .revents = 0};
  while (true) {
    const int found = ::poll(&more, 1, kMaxStreamWaitMillis);
    if (found > 0) return absl::OkStatus();
    if (found == 0) {
      return absl::DeadlineExceededError(
          absl::StrCat(path, " is no file, and nobody writes to it"));
    }
    if (errno != EINTR) return ErrnoStatus(errno, "poll", path);
  }
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  // O_NONBLOCK: a pipe is opened at once, whether somebody writes to it or not.
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return ErrnoStatus(errno, "open", path);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat", path);
  if (S_ISDIR(info.st_mode)) return DirectoryError("read", path);
  const bool is_stream = !S_ISREG(info.st_mode);

  // The size is a hint: files of /proc say 0, and a file may grow meanwhile.
  std::string contents;
  size_t filled = 0;
  contents.resize(std::max<size_t>(static_cast<size_t>(info.st_size) + 1, 4096));
  while (true) {
    if (filled == contents.size()) contents.resize(contents.size() * 2);
    if (is_stream) RETURN_IF_ERROR(WaitForMore(fd.get(), filled, path));
    const ssize_t n = ::read(fd.get(), contents.data() + filled, contents.size() - filled);
    if (n < 0) {
      if (errno == EINTR || (is_stream && errno == EAGAIN)) continue;
      return ErrnoStatus(errno, "read", path);
    }
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  contents.resize(filled);
  return contents;
}

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& link_or_path) {
  static std::atomic<uint64_t> counter{0};
  const std::string path = TargetOf(link_or_path);
  struct stat old;
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus(errno, "open", path);
    return AtomicFile(path, "", fd);
  }
  // Beside the target, so that the rename stays within one file system; a name of its own for each
  // process and call, so that writers of one path do not mix.
  std::string temporary =
      absl::StrCat(path, ".tmp.", ::getpid(), ".", counter.fetch_add(1, std::memory_order_relaxed));
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                        exists ? 0600 : 0666);  // what is replaced may be for nobody else to read
  if (fd < 0) return ErrnoStatus(errno, "create", temporary);
  if (exists) {
    // An owner that this process may not set is no reason to fail.
    [[maybe_unused]] const int owned = ::fchown(fd, old.st_uid, old.st_gid);
    ::fchmod(fd, old.st_mode & 07777);
  }
  return AtomicFile(path, std::move(temporary), fd);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      buffer_(std::move(other.buffer_)),
      size_(other.size_),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  RemoveTemporary();
}

absl::Status AtomicFile::Append(absl::string_view data) {
  constexpr size_t kBufferSize = 1 << 16;
  size_ += data.size();
  if (buffer_.size() + data.size() <= kBufferSize) {
    buffer_.append(data.data(), data.size());
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(WriteAll(fd_, buffer_, written_path()));
  buffer_.clear();
  return WriteAll(fd_, data, written_path());
}

void AtomicFile::RemoveTemporary() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

absl::Status AtomicFile::Commit() {
  RETURN_IF_ERROR(WriteAll(fd_, buffer_, written_path()));
  buffer_.clear();
  const bool is_in_place = temporary_.empty();
  if (!is_in_place && ::fsync(fd_) != 0) return ErrnoStatus(errno, "sync", temporary_);
  if (::close(std::exchange(fd_, -1)) != 0) {
    const int error = errno;
    RemoveTemporary();
    return ErrnoStatus(error, "close", written_path());
  }
  if (is_in_place) return absl::OkStatus();
  if (absl::Status status = RenameFile(temporary_, path_); !status.ok()) {
    RemoveTemporary();
    return status;
  }
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents) {
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RETURN_IF_ERROR(file.Append(contents));
  return file.Commit();
}

absl::Status RenameFile(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("rename '", from, "' to"), to);
  }
  SyncDirectory(ParentOf(to));
  return absl::OkStatus();
}

absl::Status RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return ErrnoStatus(errno, "remove", path);
  return absl::OkStatus();
}

absl::Status CreateDirectories(const std::string& path) {
  for (size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string prefix = path.substr(0, end);
    if (prefix.empty() || ::mkdir(prefix.c_str(), 0755) == 0) continue;
    const int error = errno;
    if (!IsDirectory(prefix)) return ErrnoStatus(error, "create directory", prefix);
  }
  return absl::OkStatus();
}

bool FileExists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

bool IsDirectory(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path) {
  std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
  if (!directory) return ErrnoStatus(errno, "list", path);
  std::vector<std::string> names;
  while (true) {
    errno = 0;  // anew each time: what is done with a name may set it, too
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const absl::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return ErrnoStatus(errno, "list", path);
  std::sort(names.begin(), names.end());
  return names;
}

std::string JoinPath(absl::string_view a, absl::string_view b) {
  if (a.empty()) return std::string(b);
  while (!b.empty() && b.front() == '/') b.remove_prefix(1);
  if (b.empty()) return std::string(a);
  while (!a.empty() && a.back() == '/') a.remove_suffix(1);
  return absl::StrCat(a, "/", b);
}

}  // namespace tessera
