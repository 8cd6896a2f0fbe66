#include "runtime/stablehlo/byte_cursor.h"

#include <bit>

namespace tessera::stablehlo {

void ByteCursor::Fail() {
  failed_ = true;
  position_ = end_;
}

uint8_t ByteCursor::Byte() {
  if (AtEnd()) {
    Fail();
    return 0;
  }
  return static_cast<uint8_t>(buffer_[position_++]);
}

uint64_t ByteCursor::Varint() {
  const uint8_t first = Byte();
  const int following = first == 0 ? 8 : std::countr_zero(first);
  uint64_t value = first;
  if (following == 8) {
    value = 0;
    for (int i = 0; i < 8; ++i) value |= static_cast<uint64_t>(Byte()) << (8 * i);
    return value;
  }
  for (int i = 1; i <= following; ++i) value |= static_cast<uint64_t>(Byte()) << (8 * i);
  return failed_ ? 0 : value >> (following + 1);
}

int64_t ByteCursor::SignedVarint() {
  const uint64_t value = Varint();
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

size_t ByteCursor::Count() {
  const uint64_t count = Varint();
  if (count > remaining()) {
    Fail();
    return 0;
  }
  return static_cast<size_t>(count);
}

absl::string_view ByteCursor::Bytes(size_t count) {
  if (count > remaining()) {
    Fail();
    return "";
  }
  const absl::string_view bytes = buffer_.substr(position_, count);
  position_ += count;
  return bytes;
}

absl::string_view ByteCursor::CString() {
  const size_t length = buffer_.substr(position_, remaining()).find('\0');
  if (length == absl::string_view::npos) {
    Fail();
    return "";
  }
  const absl::string_view text = Bytes(length);
  Byte();
  return text;
}

void ByteCursor::Align(uint64_t alignment) {
  if (!std::has_single_bit(alignment)) return Fail();
  Bytes(static_cast<size_t>(-static_cast<uint64_t>(position_) & (alignment - 1)));
}

ByteCursor ByteCursor::Sub(size_t count) {
  ByteCursor sub = *this;
  if (count > remaining()) {
    Fail();
    sub.Fail();
    return sub;
  }
  sub.end_ = position_ + count;
  position_ += count;
  return sub;
}

}  // namespace tessera::stablehlo
