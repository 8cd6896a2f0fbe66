// Reads the primitive encodings of MLIR bytecode from memory that nobody vouches for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace tessera::stablehlo {

// A position in a buffer. Reading past the end, or anything malformed, makes the cursor fail: it
// then stands at its end and returns zeros, so that callers look at failed() once, after a group of
// reads. The buffer must outlive the cursor.
class ByteCursor {
 public:
  explicit ByteCursor(absl::string_view buffer) : buffer_(buffer), end_(buffer.size()) {}

  bool failed() const { return failed_; }
  size_t remaining() const { return end_ - position_; }
  bool AtEnd() const { return position_ == end_; }

  uint8_t Byte();
  // An unsigned integer of 1 to 9 bytes. As many low bits of the first byte are zero as bytes
  // follow it.
  uint64_t Varint();
  // A signed integer in zigzag form in a Varint().
  int64_t SignedVarint();
  // A Varint() that counts elements of at least one byte each. Fails if there is no room for them.
  size_t Count();
  absl::string_view Bytes(size_t count);
  // Bytes up to a zero, which is skipped.
  absl::string_view CString();
  // Skips padding up to an offset in the buffer that is a multiple of `alignment`.
  void Align(uint64_t alignment);
  // A cursor over the next `count` bytes, which this one skips.
  ByteCursor Sub(size_t count);
  void Fail();

 private:
  absl::string_view buffer_;
  size_t position_ = 0;
  size_t end_;
  bool failed_ = false;
};

}  // namespace tessera::stablehlo
