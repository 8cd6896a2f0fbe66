// NameHash: a fast hash for the names of models, one of which every request looks up. It computes
// CRC-32C with the processor's instruction, eight bytes at a time. The keys of the table come from
// the configuration, not from requests, so that nobody can choose them to collide.
#pragma once

#include <nmmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace tessera::serving {

struct NameHash {
  using is_transparent = void;

  size_t operator()(absl::string_view name) const {
    const char* const data = name.data();
    const size_t size = name.size();
    uint64_t hash = size;
    if (size >= 8) {
      for (size_t i = 0; i + 8 < size; i += 8) hash = _mm_crc32_u64(hash, Load<uint64_t>(data + i));
      hash = _mm_crc32_u64(hash, Load<uint64_t>(data + size - 8));
    } else if (size >= 4) {
      const uint64_t head = Load<uint32_t>(data), tail = Load<uint32_t>(data + size - 4);
      hash = _mm_crc32_u64(hash, head << 32 | tail);
    } else {
      for (const char byte : name) hash = _mm_crc32_u8(static_cast<uint32_t>(hash), byte);
    }
    return hash * 0x9E3779B97F4A7C15;  // a checksum has 32 bits; tables want more
  }

 private:
  template <typename T>
  static T Load(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }
};

}  // namespace tessera::serving
