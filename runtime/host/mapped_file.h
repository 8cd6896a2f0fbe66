// MappedFile: a read-only memory map of a file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// A read-only map of a whole file. The kernel reads its pages when they are touched, and shares
// them with other processes that map the same file. Small files, and files that cannot be guarded,
// are read into private memory instead.
//
// The bytes stay what they were at Open(), even if the file is overwritten or truncated later:
// mapping_guard.h describes how. Immutable; thread-safe.
class MappedFile {
 public:
  // Errors: NOT_FOUND; PERMISSION_DENIED; FAILED_PRECONDITION for anything but a regular file;
  // DATA_LOSS if the file is truncated while it is read.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const char* data() const { return data_; }
  size_t size() const { return size_; }
  absl::string_view view() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, char* data, size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}
  std::string path_;
  char* data_;
  size_t size_;
};

}  // namespace tessera
