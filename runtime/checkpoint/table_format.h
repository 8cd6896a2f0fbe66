// Constants and number encodings of sorted string tables, for their reader and writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera::table {

// The footer ends a table. It holds two block handles, padded to 40 bytes, and the magic number.
inline constexpr uint64_t kMagic = 0xdb4775248b80fb57;
inline constexpr size_t kFooterSize = 48;
// The trailer follows each block. It holds a byte for the compression, and the masked CRC32C of the
// block and of that byte.
inline constexpr size_t kTrailerSize = 5;

enum class Compression : uint8_t { kNone = 0, kSnappy = 1 };

// Appends groups of seven bits, the lowest first. The high bit of a byte says that another follows.
inline void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

// Removes a varint from the front of *in. Returns false if it is truncated or longer than 64 bits.
inline bool ConsumeVarint(absl::string_view* in, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift <= 63 && !in->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(in->front());
    in->remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

template <typename T>
void AppendLittleEndian(T value, std::string* out) {
  for (size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

// Requires sizeof(T) bytes at `p`.
template <typename T>
T LoadLittleEndian(const char* p) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<uint8_t>(p[i])) << (8 * i);
  }
  return value;
}

}  // namespace tessera::table
