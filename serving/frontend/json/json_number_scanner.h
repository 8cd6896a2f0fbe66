// Reads numbers of JSON text fast, with exactly the same results as RapidJSON.
//
// Clients of this API have always had RapidJSON's default precision, which is off by one unit in
// the last place of a double now and then. A better conversion would be a different one. So this
// code repeats RapidJSON's arithmetic step by step, several digits at a time where that makes no
// difference, and leaves rare cases to RapidJSON. It must be compiled without fused multiply-add,
// as the rest of this library is.
#pragma once

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "rapidjson/internal/strtod.h"

namespace tessera::serving::json_scanner {

inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

// Integers with more digits are left to RapidJSON.
inline constexpr int kMaxIntegerDigits = 18;

// Returns true if all eight bytes are digits.
inline bool AreDigits(uint64_t bytes) {
  return ((bytes & 0xF0F0F0F0F0F0F0F0) |
          (((bytes + 0x0606060606060606) & 0xF0F0F0F0F0F0F0F0) >> 4)) == 0x3333333333333333;
}

// Returns the number that eight digits spell, the first of which is in the lowest byte.
inline uint64_t EightDigits(uint64_t bytes) {
  bytes -= 0x3030303030303030;
  bytes = bytes * 10 + (bytes >> 8);  // pairs, in every other byte
  constexpr uint64_t kMask = 0x000000FF000000FF;
  return (((bytes & kMask) * (100 + (uint64_t{1000000} << 32)) +
           ((bytes >> 16) & kMask) * (1 + (uint64_t{10000} << 32))) >>
          32);
}

// Returns a mask with a bit for each of 64 bytes, which is set if the byte equals `c`.
inline uint64_t Matches(const char* p, char c) {
  uint64_t bits = 0;
  for (int i = 0; i < 64; i += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i));
    const __m256i found = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c));
    bits |= uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(found))} << i;
  }
  return bits;
}

// Reads the digits of an integer without sign at `p`. Returns their end; null if there are none, if
// there is a superfluous leading zero, or if there are more than kMaxIntegerDigits.
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

// Has no branch, because which numbers are negative cannot be predicted.
inline int64_t WithSign(uint64_t magnitude, bool minus) {
  return static_cast<int64_t>((magnitude ^ -uint64_t{minus}) + minus);
}

// Reads an integer, that is, a number without fraction and exponent. Returns its end, or null if
// RapidJSON must read it.
inline const char* ScanInteger(const char* p, const char* end, int64_t* value) {
  const bool minus = p < end && *p == '-';
  uint64_t magnitude;
  p = ScanDigits(p + minus, end, &magnitude);
  if (p == nullptr || (p < end && (*p == '.' || *p == 'e' || *p == 'E'))) return nullptr;
  *value = WithSign(magnitude, minus);
  return p;
}

// Stores an integer as an element. Returns false if it is out of range; the range of narrow types
// is that of int32.
template <typename T>
inline bool StoreInteger(int64_t value, T* out) {
  using Range = std::conditional_t<sizeof(T) < sizeof(int32_t), int32_t, T>;
  if (!std::in_range<Range>(value)) return false;
  *out = static_cast<T>(value);
  return true;
}

// The most bytes of a short number. The integer that its digits make is below 2^52.
inline constexpr uint64_t kMaxShort = 15;

// Look-up tables of ReadShortNumber(). The tail of a number is its bytes from the point on; an
// integer has no tail.
struct ShortNumberTables {
  // Converts the integer that the digits make into a double. The integer is put into the bits of
  // `base`, which is 2^52 or -2^52; then `base` is subtracted, and the result is divided by
  // `divisor`. The sign of an integer is that of `base`, so that zero has none. The sign of another
  // number is that of `divisor`, so that zero keeps its sign.
  struct Scale {
    double base, divisor;
  };

  // The sixteen indices from `size` on shuffle the first `size` bytes of a register to its end,
  // after zeros.
  alignas(32) std::array<int8_t, 32> indexes{};
  // Indexed by the size of the tail: added to those indices to leave out the point.
  alignas(64) std::array<std::array<int8_t, 16>, kMaxShort + 1> steps{};
  // Indexed by the size of the tail, and by whether there is a minus.
  std::array<std::array<Scale, 2>, kMaxShort + 1> scales{};

  constexpr ShortNumberTables() {
    for (int i = 0; i < 32; ++i) indexes[i] = static_cast<int8_t>(i - 16);
    constexpr double kTwoTo52 = uint64_t{1} << 52;
    scales[0] = {Scale{kTwoTo52, 1}, Scale{-kTwoTo52, 1}};
    // A point without digits after it is not left out, and is found to be no digit.
    double power = 1;
    for (int tail = 2; tail <= kMaxShort; ++tail) {
      for (int i = 0; i <= 16 - tail; ++i) steps[tail][i] = -1;
      power *= 10;
      scales[tail] = {Scale{kTwoTo52, power}, Scale{kTwoTo52, -power}};
    }
  }
};
inline constexpr ShortNumberTables kShortNumberTables;

// Reads the number in `size` bytes: digits, with or without a minus before them, and a point at
// `point`, which is `size` if there is none. At least sixteen bytes must be readable. Returns false
// if the bytes are anything else, are more than kMaxShort, or do not fit `T`.
template <typename T>
inline bool ReadShortNumber(const char* number, uint64_t size, uint64_t point, T* value) {
  if (size > kMaxShort) return false;
  const bool minus = *number == '-';
  // With more than one digit before the point, the first must not be zero. A single digit is
  // checked with the others.
  if (point - minus != 1 && static_cast<unsigned char>(number[minus] - '1') > 8) return false;

  const ShortNumberTables& tables = kShortNumberTables;
  const uint64_t tail = std::is_floating_point_v<T> ? size - point : 0;
  const auto load = [](const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); };
  const __m128i text = load(number);
  // Digits become 0 to 9, and a leading minus becomes 0.
  const __m128i zeros = _mm_set1_epi8('0');
  const __m128i is_zero = _mm_cmpeq_epi8(text, _mm_insert_epi8(zeros, '-', 0));
  const __m128i values = _mm_andnot_si128(is_zero, _mm_xor_si128(text, zeros));
  const __m128i digits = _mm_shuffle_epi8(
      values, _mm_add_epi8(load(&tables.indexes[size]), load(&tables.steps[tail])));
  const __m128i excess = _mm_subs_epu8(digits, _mm_set1_epi8(9));
  if (!_mm_testz_si128(excess, excess)) return false;

  const __m128i twos = _mm_maddubs_epi16(digits, _mm_set1_epi16(10 + (1 << 8)));
  const __m128i fours = _mm_madd_epi16(twos, _mm_set1_epi32(100 + (1 << 16)));
  const __m128i eights =
      _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(10000 + (1 << 16)));
  const __m128i sum =
      _mm_add_epi64(_mm_mul_epu32(eights, _mm_set1_epi64x(100000000)), _mm_srli_epi64(eights, 32));
  if constexpr (std::is_floating_point_v<T>) {
    const ShortNumberTables::Scale& scale = tables.scales[tail][minus];
    const __m128d base = _mm_load_sd(&scale.base);
    const __m128d whole = _mm_sub_sd(_mm_or_pd(_mm_castsi128_pd(sum), base), base);
    *value = static_cast<T>(_mm_cvtsd_f64(whole) / scale.divisor);
    return true;
  } else {
    return StoreInteger(WithSign(static_cast<uint64_t>(_mm_cvtsi128_si64(sum)), minus), value);
  }
}

// The position where a scan stopped, in the text and in the values.
template <typename T>
struct ScannedNumbers {
  const char* p;
  T* out;
  bool at_end;  // true if the list ends here: *p is its bracket
};

// Reads numbers that ReadShortNumber() accepts, each followed by a comma, with or without a space
// after it, or by the bracket that ends their list. Stops before the first number that is anything
// else, and before `end`.
//
// The length of a number cannot be predicted, and the next one begins after it. So the ends and
// points of numbers are located first, 64 bytes at once, and then numbers are read independently of
// each other, which lets several be in flight.
template <typename T>
inline ScannedNumbers<T> ScanShortNumbers(const char* p, const char* end, T* out) {
  while (end - p >= 64 + 16) {
    const char* const block = p;
    const uint64_t brackets = Matches(block, ']');
    const uint64_t in_list = brackets ^ (brackets - 1);
    uint64_t ends = (Matches(block, ',') | brackets) & in_list;
    if (ends == 0) break;
    const uint64_t ends_and_points = ends | Matches(block, '.');
    for (uint64_t start = 0; ends != 0; ends &= ends - 1, p = block + start) {
      const uint64_t stop = _tzcnt_u64(ends);
      const uint64_t point = _tzcnt_u64(ends_and_points >> start);
      if (!ReadShortNumber(p, stop - start, point, out)) return {p, out, false};
      ++out;
      start = stop + 1;
      // This is a branch, because most texts have a space always or never.
      if (__builtin_expect_with_probability(block[start] == ' ', 1, 0.999)) ++start;
    }
    if (brackets != 0) return {block + _tzcnt_u64(brackets), out, true};
  }
  return {p, out, false};
}

// Reads any finite number. Returns its end, or null if RapidJSON must read it.
inline const char* ScanFloating(const char* p, const char* end, double* value) {
  const bool minus = p < end && *p == '-';
  uint64_t significand;
  p = ScanDigits(p + minus, end, &significand);
  if (p == nullptr) return nullptr;
  if (p == end || (*p != '.' && *p != 'e' && *p != 'E')) {
    // This is an integer, whose zero has no sign.
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
      // Further digits are gathered in the double, until seventeen are counted. The first digit of
      // the whole part does not count.
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
