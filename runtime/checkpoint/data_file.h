// DataFile: writes one data file of a checkpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Writes a file under a temporary name, which Commit() replaces. A file that is destroyed before
// Commit(), or whose write failed, is removed.
//
// A large file is written past the page cache (O_DIRECT) where the file system can do that: writing
// 1 GB through the cache and waiting for it took 0.5 to 3.7 s on a disk that takes it in 0.6 s
// directly. Used by one thread at a time.
class DataFile {
 public:
  // `expected_size`: about how many bytes will be appended. Errors: NOT_FOUND if the directory is
  // missing; PERMISSION_DENIED.
  static absl::StatusOr<DataFile> Create(const std::string& path, uint64_t expected_size);
  DataFile(DataFile&& other) noexcept;
  DataFile& operator=(DataFile&&) = delete;
  ~DataFile();

  // Appends bytes and extends *crc by them. Errors: those of write(), such as RESOURCE_EXHAUSTED
  // on a full disk.
  absl::Status Append(absl::string_view data, uint32_t* crc);
  // Appends zeros up to the next multiple of `alignment`, which is at most 4096.
  absl::Status Align(uint64_t alignment);
  // The number of bytes appended so far.
  uint64_t size() const { return size_; }
  // Flushes the file to the disk and gives it its name. The caller syncs the directory. Must be the
  // last call.
  absl::Status Commit();

 private:
  struct Free {
    void operator()(char* buffer) const;
  };
  DataFile(std::string path, std::string temporary, int fd, bool direct);
  // Puts bytes into the buffer, and writes the buffer whenever it is full.
  absl::Status Put(absl::string_view data);
  // Writes the first `size` bytes of the buffer at the end of the file.
  absl::Status WriteBuffer(size_t size);

  std::string path_;
  std::string temporary_;
  int fd_;
  bool direct_;
  std::unique_ptr<char, Free> buffer_;
  size_t filled_ = 0;
  uint64_t size_ = 0;
};

}  // namespace tessera
