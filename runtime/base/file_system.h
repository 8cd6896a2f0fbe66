// Local files: reads of whole files, atomic writes, directory listings. POSIX only.
// Every error names the path and carries the text of errno. A missing file is NOT_FOUND.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Writes a file that appears under its name complete, or not at all. The bytes go to a temporary
// file in the same directory, which Commit() renames.
//
//   ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
//   RETURN_IF_ERROR(file.Append(header));
//   RETURN_IF_ERROR(file.Append(body));
//   RETURN_IF_ERROR(file.Commit());  // without this call the temporary file is removed
//
// A file that is replaced keeps its permissions, and its owner where this process may set it. A
// symbolic link stays one: its target is replaced. What is no regular file, such as a device or a
// pipe, is written in place.
//
// Not thread-safe.
class AtomicFile {
 public:
  // Errors: NOT_FOUND if the directory is missing; PERMISSION_DENIED.
  static absl::StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  absl::Status Append(absl::string_view data);
  // The number of bytes appended so far.
  uint64_t size() const { return size_; }
  // Flushes the file to the disk and gives it its name. Must be the last call. After an error the
  // temporary file is gone.
  absl::Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

  const std::string& written_path() const { return temporary_.empty() ? path_ : temporary_; }
  void RemoveTemporary();

  std::string path_;
  std::string temporary_;  // empty for what is written in place
  std::string buffer_;
  uint64_t size_ = 0;
  int fd_;
};

// Returns the contents of a file, or of a pipe or device up to its end.
// Errors: NOT_FOUND; PERMISSION_DENIED; FAILED_PRECONDITION for a directory; DEADLINE_EXCEEDED if
// nobody writes to a pipe for ten seconds; RESOURCE_EXHAUSTED beyond 256 MiB of one.
absl::StatusOr<std::string> ReadFile(const std::string& path);
// Replaces the file at `path`, or creates it. A reader sees either the old or the new contents,
// because the bytes are written to a temporary file that is then renamed.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view contents);
// Renames a file, and replaces `to` if it exists. Both paths must be on the same file system.
absl::Status RenameFile(const std::string& from, const std::string& to);
// Removes a file. Errors: NOT_FOUND; PERMISSION_DENIED; FAILED_PRECONDITION for a directory.
absl::Status RemoveFile(const std::string& path);
// Creates the directory and all missing parents. Succeeds if it exists.
absl::Status CreateDirectories(const std::string& path);
bool FileExists(const std::string& path);
bool IsDirectory(const std::string& path);
// Returns the names (not the paths) of the entries of a directory, sorted, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path);
// Joins two parts of a path with exactly one '/'.
std::string JoinPath(absl::string_view a, absl::string_view b);

}  // namespace tessera
