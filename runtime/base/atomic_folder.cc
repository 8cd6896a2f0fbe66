#include "runtime/base/atomic_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/directory_tree.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

constexpr char kTemporary[] = ".tmp.";

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status TakenError(const std::string& path) {
  return absl::AlreadyExistsError(absl::StrCat("'", path, "' is there already"));
}

int OpenFolder(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

absl::Status SyncFolder(const std::string& path) {
  const FileDescriptor fd(OpenFolder(path));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) return ErrnoStatus(errno, "sync", path);
  return absl::OkStatus();
}

// Removes the temporary folders in `parent` that nobody holds a lock on.
void RemoveLeftovers(const std::string& parent) {
  for (const std::string& name : ListDirectory(parent).value_or(std::vector<std::string>())) {
    if (!absl::StrContains(name, kTemporary)) continue;
    const std::string path = JoinPath(parent, name);
    const FileDescriptor fd(OpenFolder(path));
    if (fd.get() < 0 || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
}

}  // namespace

absl::StatusOr<AtomicFolder> AtomicFolder::Create(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  std::string target = path;
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  const std::string parent = ParentOf(target);
  RETURN_IF_ERROR(CreateDirectories(parent));
  RemoveLeftovers(parent);
  if (FileExists(target)) return TakenError(target);
  while (true) {
    std::string temporary = absl::StrCat(target, kTemporary, ::getpid(), ".", counter++);
    if (::mkdir(temporary.c_str(), 0755) != 0) return ErrnoStatus(errno, "create", temporary);
    FileDescriptor fd(OpenFolder(temporary));
    // Before the lock is held, another writer may take the folder for a leftover.
    if (fd.get() >= 0 && ::flock(fd.get(), LOCK_EX) != 0) {
      return ErrnoStatus(errno, "lock", temporary);
    }
    if (fd.get() < 0 && errno != ENOENT) return ErrnoStatus(errno, "open", temporary);
    if (!FileExists(temporary)) continue;
    AtomicFolder folder(std::move(target), std::move(temporary), fd.get());
    fd.Release();
    return folder;
  }
}

AtomicFolder::AtomicFolder(AtomicFolder&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFolder::~AtomicFolder() {
  if (fd_ < 0) return;
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);
  ::close(fd_);
}

absl::Status AtomicFolder::Commit() {
  ASSIGN_OR_RETURN(const DirectoryTree tree, ReadDirectoryTree(temporary_));
  for (const std::string& name : tree.directories) {
    RETURN_IF_ERROR(SyncFolder(JoinPath(temporary_, name)));
  }
  RETURN_IF_ERROR(SyncFolder(temporary_));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) return TakenError(path_);
    return ErrnoStatus(errno, absl::StrCat("rename '", temporary_, "' to"), path_);
  }
  ::close(std::exchange(fd_, -1));
  return SyncFolder(ParentOf(path_));
}

}  // namespace tessera
