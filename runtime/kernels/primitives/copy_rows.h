// Copies of rows of tens to thousands of bytes, which take about as long as a call of memcpy()
// itself.
#pragma once

#include <cstdint>

namespace tessera {

inline constexpr int64_t kMinMediumRow = 32, kMaxMediumRow = 2048;  // bytes

// Copies a vector by one load and one store. GCC makes two of each for memcpy() of its size, which
// takes up to twice as long.
inline void CopyVector(const char* from, char* to) {
  typedef char Vector __attribute__((vector_size(32), aligned(1), may_alias));
  *reinterpret_cast<Vector*>(to) = *reinterpret_cast<const Vector*>(from);
}

// Copies a row of `bytes` bytes, kMinMediumRow to kMaxMediumRow.
inline void CopyMediumRow(int64_t bytes, const char* from, char* to) {
  constexpr int64_t kVector = 32, kVectors = 8;
  int64_t at = 0;
  for (; at + kVectors * kVector <= bytes; at += kVectors * kVector) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v)
      CopyVector(from + at + v * kVector, to + at + v * kVector);
  }
  for (; at + kVector <= bytes; at += kVector) CopyVector(from + at, to + at);
  if (at < bytes) CopyVector(from + bytes - kVector, to + bytes - kVector);
}

// Copies `count` rows of `bytes` bytes, kMinMediumRow to kMaxMediumRow, that lie the given numbers
// of bytes apart.
inline void CopyMediumRows(int64_t count, int64_t bytes, const char* from, int64_t from_stride,
                           char* to, int64_t to_stride) {
  for (int64_t i = 0; i < count; ++i, from += from_stride, to += to_stride) {
    CopyMediumRow(bytes, from, to);
  }
}

}  // namespace tessera
