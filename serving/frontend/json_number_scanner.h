// Numbers of JSON text, read fast and exactly as RapidJSON reads them.
//
// RapidJSON's usual precision is what clients of this API have always had: it is off by one unit in
// the last place of a double now and then, so a better conversion would be a different one. What
// follows repeats its arithmetic step by step, several digits at a time where that makes no
// difference, and leaves to RapidJSON what is rare. Must be compiled without fused multiplication
// and addition, as the rest of this library is.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rapidjson/internal/strtod.h"

namespace tessera::serving::json_scanner {

inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

// Integers of more digits are left to RapidJSON.
inline constexpr int kMaxIntegerDigits = 18;

// True if the eight bytes are digits.
inline bool AreDigits(uint64_t bytes) {
  return ((bytes & 0xF0F0F0F0F0F0F0F0) |
          (((bytes + 0x0606060606060606) & 0xF0F0F0F0F0F0F0F0) >> 4)) == 0x3333333333333333;
}

// The number that eight digits, the first in the lowest byte, spell.
inline uint64_t EightDigits(uint64_t bytes) {
  bytes -= 0x3030303030303030;
  bytes = bytes * 10 + (bytes >> 8);  // pairs, in every other byte
  constexpr uint64_t kMask = 0x000000FF000000FF;
  return (((bytes & kMask) * (100 + (uint64_t{1000000} << 32)) +
           ((bytes >> 16) & kMask) * (1 + (uint64_t{10000} << 32))) >>
          32);
}

// A bit for each comma and each closing bracket in 64 bytes.
inline uint64_t CommasAndBrackets(const char* p) {
  uint64_t bits = 0;
  for (int i = 0; i < 64; i += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i));
    const __m256i found = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(',')),
                                          _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(']')));
    bits |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(found))} << i;
  }
  return bits;
}

// The digits of an integer at `p`, without sign. Returns their end; null if there is none, if it
// begins with a superfluous zero, or has over kMaxIntegerDigits.
inline const char* ScanDigits(const char* p, const char* end, uint64_t* value) {
  if (p == end || !IsDigit(*p)) return nullptr;
  uint64_t sum = static_cast<uint64_t>(*p - '0');
  const char* const begin = p++;
  if (sum == 0 && p < end && IsDigit(*p)) return nullptr;
  const char* const limit = end - begin > kMaxIntegerDigits ? begin + kMaxIntegerDigits : end;
  while (p < limit && IsDigit(*p)) sum = sum * 10 + static_cast<uint64_t>(*p++ - '0');
  if (p == limit && p < end && IsDigit(*p)) return nullptr;
  *value = sum;
  return p;
}

// Without a branch: which numbers are negative cannot be predicted.
inline int64_t WithSign(uint64_t magnitude, bool minus) {
  return static_cast<int64_t>((magnitude ^ -uint64_t{minus}) + minus);
}

// An integer, that is without fraction and exponent. Returns its end, or null for all that is to be
// looked at by RapidJSON.
inline const char* ScanInteger(const char* p, const char* end, int64_t* value) {
  const bool minus = p < end && *p == '-';
  uint64_t magnitude;
  p = ScanDigits(p + minus, end, &magnitude);
  if (p == nullptr || (p < end && (*p == '.' || *p == 'e' || *p == 'E'))) return nullptr;
  *value = WithSign(magnitude, minus);
  return p;
}

// Reads the integer that these bytes, sign included, are. At least eight bytes may be read. False
// if they are none, are more than eight, or are not for `T`.
template <typename T>
inline bool ReadShortInteger(const char* number, int64_t size, T* value) {
  constexpr uint64_t kZeros = 0x3030303030303030, kHighBits = 0x8080808080808080;
  const bool minus = *number == '-';
  if (size - minus < 1 || size > 8 || (size - minus > 1 && number[minus] == '0')) return false;
  if (std::is_unsigned_v<T> && sizeof(T) >= sizeof(uint32_t) && minus) return false;
  uint64_t bytes;
  std::memcpy(&bytes, number, 8);
  const int64_t unused_bits = 64 - 8 * size;
  // Digits become 0 to 9, the last one in the highest byte; there is nothing before the first.
  bytes = (bytes ^ kZeros) << unused_bits;
  bytes &= ~((uint64_t{minus} * 0xFF) << unused_bits);
  if (((bytes | (bytes + 0x7676767676767676)) & kHighBits) != 0) return false;
  *value = static_cast<T>(WithSign(EightDigits(bytes + kZeros), minus));
  return true;
}

// Where a scan stopped, in the text and in the values.
template <typename T>
struct ScannedIntegers {
  const char* p;
  T* out;
  bool at_end;  // of the list: *p is its bracket
};

// Reads integers that ReadShortInteger() takes and that are followed by a comma, with a space
// behind it or none, or by the bracket that ends their list. Stops before the first that is
// anything else, and short of `end`.
//
// How long a number is cannot be predicted, and where the next one begins hangs on it. So their
// ends are looked up first, 64 bytes at once, and numbers are read independently of each other.
template <typename T>
inline ScannedIntegers<T> ScanShortIntegers(const char* p, const char* end, T* out) {
  while (end - p >= 64 + 8) {
    const char* const block = p;
    uint64_t ends = CommasAndBrackets(block);
    if (ends == 0) break;
    for (; ends != 0; ends &= ends - 1) {
      const char* const stop = block + std::countr_zero(ends);
      if (!ReadShortInteger(p, stop - p, out)) return {p, out, false};
      ++out;
      if (*stop == ']') return {stop, out, true};
      p = stop + 1;
      p += *p == ' ';
    }
  }
  return {p, out, false};
}

// Any finite number. Returns its end, or null for all that is to be looked at by RapidJSON.
inline const char* ScanFloating(const char* p, const char* end, double* value) {
  const bool minus = p < end && *p == '-';
  uint64_t significand;
  p = ScanDigits(p + minus, end, &significand);
  if (p == nullptr) return nullptr;
  if (p == end || (*p != '.' && *p != 'e' && *p != 'E')) {
    // An integer: its zero has no sign.
    *value = static_cast<double>(WithSign(significand, minus));
    return p;
  }

  double d;
  int exponent = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    if (p == end || !IsDigit(*p)) return nullptr;
    const bool has_whole_part = significand != 0;
    // Digits are gathered in an integer until it exceeds what a double holds exactly.
    constexpr uint64_t kMaxExact = (uint64_t{1} << 53) - 1;
    constexpr uint64_t kRoomForEight = (kMaxExact - 9999999) / 10000000;
    while (end - p >= 8 && significand <= kRoomForEight) {
      uint64_t bytes;
      std::memcpy(&bytes, p, 8);
      if (!AreDigits(bytes)) break;
      significand = significand * 100000000 + EightDigits(bytes);
      p += 8;
    }
    while (p < end && IsDigit(*p) && significand <= kMaxExact) {
      significand = significand * 10 + static_cast<uint64_t>(*p++ - '0');
    }
    d = static_cast<double>(significand);
    if (p < end && IsDigit(*p)) {
      // Then in the double, until seventeen are counted. The first digit of the whole part is not.
      int counted = 16 + (significand >= uint64_t{10'000'000'000'000'000}) +
                    (significand >= uint64_t{100'000'000'000'000'000}) - has_whole_part;
      for (; counted < 17 && p < end && IsDigit(*p); ++p, ++counted) d = d * 10.0 + (*p - '0');
      exponent = static_cast<int>(fraction - p);
      while (p < end && IsDigit(*p)) ++p;
    } else {
      exponent = static_cast<int>(fraction - p);
    }
  } else {
    d = static_cast<double>(significand);
  }

  if (p < end && (*p == 'e' || *p == 'E')) {
    if (++p == end) return nullptr;
    const bool negative = *p == '-';
    if (negative || *p == '+') ++p;
    int written = 0;
    const char* const begin = p;
    while (p < end && IsDigit(*p) && p - begin < 4) written = written * 10 + (*p++ - '0');
    if (p == begin || (p < end && IsDigit(*p))) return nullptr;
    if (!negative && written > 308 - exponent) return nullptr;
    exponent += negative ? -written : written;
  }
  d = rapidjson::internal::StrtodNormalPrecision(d, exponent);
  *value = std::bit_cast<double>(std::bit_cast<uint64_t>(d) ^ (uint64_t{minus} << 63));
  return p;
}

}  // namespace tessera::serving::json_scanner
