// Local files: whole reads, memory maps, atomic writes, directory listings. POSIX only.
// Every error names the path and carries errno's text; a missing file is NOT_FOUND.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// A read-only map of a whole file. Pages come in as they are touched and are shared with other
// processes that map the same file. Immutable; thread-safe.
//
// What becomes of the map when its file is overwritten or cut short is said in mapping_guard.h.
class MappedFile {
 public:
  // Errors: NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION for a directory.
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

// A file written piece by piece that appears under its name as a whole, or not at all: the bytes go
// to a temporary file beside it.
//
//   ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
//   RETURN_IF_ERROR(file.Append(header));
//   RETURN_IF_ERROR(file.Append(body));
//   RETURN_IF_ERROR(file.Commit());  // without it the temporary file goes away
//
// Used by one thread at a time.
class AtomicFile {
 public:
  // Errors: NOT_FOUND if the directory is missing, PERMISSION_DENIED.
  static absl::StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  absl::Status Append(absl::string_view data);
  // Bytes appended so far.
  uint64_t size() const { return size_; }
  // Syncs and renames; the last call. On an error nothing is left behind.
  absl::Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

  std::string path_;
  std::string temporary_;
  std::string buffer_;
  uint64_t size_ = 0;
  int fd_;
};

// Errors: NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION for a directory.
absl::StatusOr<std::string> ReadFile(const std::string& path);
// Writes to a temporary file beside `path`, syncs, and renames: readers see the old or the new
// file.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents);
// Replaces `to` if it exists. Both must be on one file system.
absl::Status RenameFile(const std::string& from, const std::string& to);
// Errors: NOT_FOUND, PERMISSION_DENIED; a directory is refused.
absl::Status RemoveFile(const std::string& path);
// With all missing parents; an existing directory is fine.
absl::Status CreateDirectories(const std::string& path);
bool FileExists(const std::string& path);
bool IsDirectory(const std::string& path);
// Names (not paths) of the entries of a directory, sorted, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path);
// Joins with exactly one '/'.
std::string JoinPath(absl::string_view a, absl::string_view b);

}  // namespace tessera
