// Writes numbers, tags and strings in the wire format of protocol buffers.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "serving/frontend/wire/wire_reader.h"

namespace tessera::serving {

constexpr uint64_t VarintSize(uint64_t value) {
  return (static_cast<uint64_t>(std::bit_width(value | 1)) + 6) / 7;
}
// Returns the number of bytes of a field of type kBytes.
constexpr uint64_t BytesFieldSize(uint32_t field, uint64_t length) {
  return VarintSize(WireTag(field, WireType::kBytes)) + VarintSize(length) + length;
}

// These return the end of the written bytes.
inline char* WriteVarint(uint64_t value, char* out) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}
// Writes the tag and the length that precede the contents of a field of type kBytes.
inline char* WriteBytesHead(uint32_t field, uint64_t length, char* out) {
  return WriteVarint(length, WriteVarint(WireTag(field, WireType::kBytes), out));
}
inline char* WriteBytesField(uint32_t field, absl::string_view bytes, char* out) {
  out = WriteBytesHead(field, bytes.size(), out);
  std::memcpy(out, bytes.data(), bytes.size());
  return out + bytes.size();
}

}  // namespace tessera::serving
