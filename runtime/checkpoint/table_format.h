// What reader and writer of sorted string tables share: constants and varints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera::table {

// The last bytes of a table: two block handles padded to 40 bytes, and the magic number.
inline constexpr uint64_t kMagic = 0xdb4775248b80fb57;
inline constexpr size_t kFooterSize = 48;
// After each block: its compression, and the masked CRC-32C of the block and that byte.
inline constexpr size_t kTrailerSize = 5;

enum class Compression : uint8_t { kNone = 0, kSnappy = 1 };

// Little-endian groups of seven bits, the high bit of a byte telling that more follow.
inline void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

// Takes a varint off the front. False if it is cut off or has over 64 bits.
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
