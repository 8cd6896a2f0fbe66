// Copies of rows of tens to thousands of bytes, which take about as long as a call of memcpy()
// itself.
#pragma once

#include <cstdint>
#include <cstring>

namespace tessera {

inline constexpr int64_t kMinMediumRow = 32, kMaxMediumRow = 2048;  // bytes

// Copies `count` rows of `bytes` bytes, kMinMediumRow to kMaxMediumRow, that lie the given numbers
// of bytes apart.
inline void CopyMediumRows(int64_t count, int64_t bytes, const char* from, int64_t from_stride,
                           char* to, int64_t to_stride) {
  constexpr int64_t kVector = 32, kVectors = 8;
  for (int64_t i = 0; i < count; ++i, from += from_stride, to += to_stride) {
    int64_t at = 0;
    for (; at + kVectors * kVector <= bytes; at += kVectors * kVector) {
#pragma GCC unroll 8
      for (int64_t v = 0; v < kVectors; ++v) {
        std::memcpy(to + at + v * kVector, from + at + v * kVector, kVector);
      }
    }
    for (; at + kVector <= bytes; at += kVector) std::memcpy(to + at, from + at, kVector);
    if (at < bytes) std::memcpy(to + bytes - kVector, from + bytes - kVector, kVector);
  }
}

}  // namespace tessera
