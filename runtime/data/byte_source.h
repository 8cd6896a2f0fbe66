// Reading a file from its beginning to its end, as it stands or decompressed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// How a file of records is compressed, by the names that TensorFlow gives.
enum class Compression { kNone, kZlib, kGzip };
// Takes "", "ZLIB" and "GZIP". Errors: INVALID_ARGUMENT for another name.
absl::StatusOr<Compression> CompressionFromName(absl::string_view name);

// A buffered reader of one file. Used by one thread at a time.
//
// The memory that it takes depends on what is in the file, never on a length that a file claims.
class ByteSource {
 public:
  // `buffer_size` is the number of bytes to read at once; 0 or less: the default.
  // Errors: NOT_FOUND; PERMISSION_DENIED; FAILED_PRECONDITION for a directory.
  static absl::StatusOr<std::unique_ptr<ByteSource>> Open(const std::string& path,
                                                          Compression compression,
                                                          int64_t buffer_size = 0);
  // Reads from bytes in memory, which must outlive the source.
  static std::unique_ptr<ByteSource> Of(absl::string_view bytes, Compression compression);
  virtual ~ByteSource() = default;

  // Replaces *bytes by the next `count`, or by those that are left.
  // Errors: DATA_LOSS for compressed data that is damaged or cut; those of read().
  absl::Status Read(uint64_t count, std::string* bytes);
  // Reads up to and with the next '\n', which it leaves out, or to the end. Returns false if
  // nothing is left. Errors: likewise.
  absl::StatusOr<bool> ReadLine(std::string* line);
  // Leaves out `count` bytes. Returns how many there were. Errors: likewise.
  absl::StatusOr<uint64_t> Skip(uint64_t count);
  // Returns the next byte without reading it, or -1 at the end. Errors: likewise.
  absl::StatusOr<int> Peek();
  // The number of (decompressed) bytes read so far.
  uint64_t position() const { return position_; }

 protected:
  explicit ByteSource(size_t buffer_size) : buffer_(buffer_size, '\0') {}
  // Puts up to `size` bytes, at least one, at `to`; returns 0 at the end.
  virtual absl::StatusOr<size_t> Fetch(char* to, size_t size) = 0;

 private:
  // Makes sure that the buffer has something unread. Returns false at the end.
  absl::StatusOr<bool> Fill();
  absl::string_view unread() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void Take(size_t count) {
    begin_ += count;
    position_ += count;
  }

  std::string buffer_;
  size_t begin_ = 0, end_ = 0;  // the unread part of the buffer
  uint64_t position_ = 0;
};

}  // namespace tessera
