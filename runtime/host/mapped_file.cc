#include "runtime/host/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/status.h"
#include "runtime/host/mapping_guard.h"

namespace tessera {
namespace {

// munmap(), the pages let go in slices before: a large range at once would make page faults and
// maps of other threads wait for all of it.
void UnmapInSlices(char* data, size_t size) {
  DropPages(data, size);
  ::munmap(data, size);
}

// Below this a read takes no longer than a map.
constexpr size_t kMinMappedSize = 64 << 10;

// Reads `size` bytes of `fd` into memory of their own. Errors: DATA_LOSS if there are fewer.
absl::StatusOr<void*> ReadPrivately(int fd, size_t size, const std::string& path) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, "make room for", path);
  absl::Status status;
  size_t filled = 0;
  while (filled < size && status.ok()) {
    const ssize_t n =
        ::pread(fd, static_cast<char*>(memory) + filled, size - filled, static_cast<off_t>(filled));
    if (n > 0) {
      filled += static_cast<size_t>(n);
    } else if (n == 0) {
      status = absl::DataLossError(absl::StrCat("'", path, "' was cut short while it was read"));
    } else if (errno != EINTR) {
      status = ErrnoStatus(errno, "read", path);
    }
  }
  if (!status.ok()) {
    ::munmap(memory, size);
    return status;
  }
  ::mprotect(memory, size, PROT_READ);
  return memory;
}

// Takes `fd` over if it returns a map that needs it.
absl::StatusOr<void*> MapOrRead(FileDescriptor& fd, size_t size, const std::string& path) {
  if (size < kMinMappedSize) return ReadPrivately(fd.get(), size, path);
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (map == MAP_FAILED) return ErrnoStatus(errno, "map", path);
  if (GuardMapping(fd.get(), path, static_cast<char*>(map), size)) {
    fd.Release();
    return map;
  }
  // It might change under its readers.
  ::munmap(map, size);
  return ReadPrivately(fd.get(), size, path);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  // O_NONBLOCK: a FIFO in a file's place must not hang the caller.
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return ErrnoStatus(errno, "open", path);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat", path);
  if (S_ISDIR(info.st_mode)) return DirectoryError("map", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot map '", path, "': it is not a regular file"));
  }
  const auto size = static_cast<size_t>(info.st_size);
  static char empty[1];
  char* data = empty;
  if (size > 0) {
    ASSIGN_OR_RETURN(void* const map, MapOrRead(fd, size, path));
    data = static_cast<char*>(map);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, data, size));
}

MappedFile::~MappedFile() {
  if (size_ == 0) return;
  UnguardMapping(data_);
  UnmapInSlices(data_, size_);
}

}  // namespace tessera
