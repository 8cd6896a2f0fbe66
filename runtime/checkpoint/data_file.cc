#include "runtime/checkpoint/data_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

// What O_DIRECT wants addresses, offsets and sizes to be multiples of, on every disk.
constexpr size_t kBlock = 4096;
constexpr size_t kBufferSize = 4 << 20;
// Bytes whose checksum is computed before they are copied, so that they come from the cache then.
constexpr size_t kChunk = 128 << 10;

}  // namespace

void DataFile::Free::operator()(char* buffer) const { std::free(buffer); }

absl::StatusOr<DataFile> DataFile::Create(const std::string& path, uint64_t expected_size) {
  static std::atomic<uint64_t> counter{0};
  // Beside the target, so that the rename stays within one file system; a name of its own for each
  // process and call, so that writers of one path do not mix.
  std::string temporary =
      absl::StrCat(path, ".tmp.", ::getpid(), ".", counter.fetch_add(1, std::memory_order_relaxed));
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  bool direct = expected_size >= kBufferSize;
  int fd = ::open(temporary.c_str(), kFlags | (direct ? O_DIRECT : 0), 0644);
  if (fd < 0 && errno == EINVAL && direct) {  // a file system without O_DIRECT
    direct = false;
    ::unlink(temporary.c_str());  // some have made the file by then
    fd = ::open(temporary.c_str(), kFlags, 0644);
  }
  if (fd < 0) return ErrnoStatus(errno, "create", temporary);
  return DataFile(path, std::move(temporary), fd, direct);
}

DataFile::DataFile(std::string path, std::string temporary, int fd, bool direct)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      fd_(fd),
      direct_(direct),
      buffer_(static_cast<char*>(std::aligned_alloc(kBlock, kBufferSize))) {}

DataFile::DataFile(DataFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      direct_(other.direct_),
      buffer_(std::move(other.buffer_)),
      filled_(other.filled_),
      size_(other.size_) {}

DataFile::~DataFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

absl::Status DataFile::Append(absl::string_view data, uint32_t* crc) {
  for (; !data.empty(); data.remove_prefix(std::min(kChunk, data.size()))) {
    const absl::string_view chunk = data.substr(0, kChunk);
    *crc = ExtendCrc32c(*crc, chunk);
    RETURN_IF_ERROR(Put(chunk));
  }
  return absl::OkStatus();
}

absl::Status DataFile::Align(uint64_t alignment) {
  static constexpr char kZeros[kBlock] = {};
  return Put(absl::string_view(kZeros, -size_ & (alignment - 1)));
}

absl::Status DataFile::Put(absl::string_view data) {
  size_ += data.size();
  while (!data.empty()) {
    const size_t count = std::min(data.size(), kBufferSize - filled_);
    std::memcpy(buffer_.get() + filled_, data.data(), count);
    filled_ += count;
    data.remove_prefix(count);
    if (filled_ == kBufferSize) RETURN_IF_ERROR(WriteBuffer(kBufferSize));
  }
  return absl::OkStatus();
}

absl::Status DataFile::WriteBuffer(size_t size) {
  const char* from = buffer_.get();
  while (size > 0) {
    const ssize_t written = ::write(fd_, from, size);
    if (written >= 0) {
      from += written;
      size -= static_cast<size_t>(written);
      // The rest of a short write may not suit O_DIRECT any more.
      if (size % kBlock == 0 || !direct_) continue;
    } else if (errno == EINTR) {
      continue;
    } else if (errno != EINVAL || !direct_) {
      return ErrnoStatus(errno, "write", temporary_);
    }
    direct_ = false;
    if (::fcntl(fd_, F_SETFL, 0) != 0) return ErrnoStatus(errno, "write", temporary_);
  }
  filled_ = 0;
  return absl::OkStatus();
}

absl::Status DataFile::Commit() {
  size_t last = filled_;
  if (direct_) {  // whole blocks; what is too much is cut off
    last = (filled_ + kBlock - 1) / kBlock * kBlock;
    std::memset(buffer_.get() + filled_, 0, last - filled_);
  }
  const bool too_long = last != filled_;
  RETURN_IF_ERROR(WriteBuffer(last));
  if (too_long && ::ftruncate(fd_, static_cast<off_t>(size_)) != 0) {
    return ErrnoStatus(errno, "truncate", temporary_);
  }
  if (::fsync(fd_) != 0) return ErrnoStatus(errno, "sync", temporary_);
  if (::close(std::exchange(fd_, -1)) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    return ErrnoStatus(error, absl::StrCat("rename '", temporary_, "' to"), path_);
  }
  return absl::OkStatus();
}

}  // namespace tessera
