#include "serving/frontend/json/json_number.h"

#include <immintrin.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace tessera::serving {
namespace {

constexpr int kShortDigits = 6;
// The number of digits that distinguish each value from its neighbours.
template <typename T>
constexpr int kAllDigits = std::numeric_limits<T>::max_digits10;

// The powers of ten that a double represents exactly.
constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
// Values between these limits are scaled by one of kPowers, with one rounding and a known error.
constexpr double kMinQuick = 1e-10, kMaxQuick = 1e15;

constexpr std::array<uint64_t, 28> MakePowersOfFive() {
  std::array<uint64_t, 28> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 5;
  return powers;
}
constexpr std::array<uint64_t, 28> kPowersOfFive = MakePowersOfFive();

double ScaleByPower(double x, int power) {
  return power >= 0 ? x * kPowers[power] : x / kPowers[-power];
}

char* Copy(const char* text, char* out) {
  const size_t size = std::strlen(text);
  std::memcpy(out, text, size);
  return out + size;
}

char* WriteNotFinite(double value, char* out) {
  if (std::isnan(value)) return Copy("NaN", out);
  return Copy(value > 0 ? "Infinity" : "-Infinity", out);
}

// Returns floor(log10(x)), or one less just below a power of ten. Requires x in [kMinQuick,
// kMaxQuick).
int DecimalExponent(double x) {
  constexpr int kLog10Of2 = 78913, kShift = 18;  // log10(2) * 2^18
  const int binary = static_cast<int>(std::bit_cast<uint64_t>(x) >> 52) - 1023;
  int exponent = (binary * kLog10Of2) >> kShift;
  if (x >= ScaleByPower(1.0, exponent + 1)) ++exponent;
  return exponent;
}

// Returns the eight digits of a number below 10^8, one in each byte, the first in the lowest byte.
inline uint64_t EightDigits(uint64_t value) {
  const uint64_t fours = value / 10000 | (value % 10000) << 32;
  const uint64_t hundreds = ((fours * 10486) >> 20) & 0x0000007F0000007F;
  const uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
  const uint64_t tens = ((twos * 103) >> 10) & 0x000F000F000F000F;
  return tens | (twos - tens * 10) << 8;
}

void Store(__m128i bytes, char* out) { _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes); }

// Returns the bytes from the n-th on, followed by zeros. Requires n <= 16.
__m128i BytesFrom(int n, __m128i bytes) {
  alignas(32) static constexpr std::array<int8_t, 32> kIndexes = {
      0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
      -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  const auto* indexes = reinterpret_cast<const __m128i*>(kIndexes.data() + n);
  return _mm_shuffle_epi8(bytes, _mm_loadu_si128(indexes));
}

// Writes `digits` times 10^(exponent - kPrecision + 1) as %.{kPrecision}g prints it, with ".0"
// after an integer. Requires that `digits` has kPrecision digits.
template <int kPrecision>
char* WriteDigits(uint64_t digits, int exponent, char* out) {
  // The other digits are in a register, followed by zeros. The register is always stored as a
  // whole: surplus bytes lie behind the number or are overwritten.
  constexpr int kWords = (kPrecision + 6) / 8;
  constexpr uint64_t kWord = 100'000'000, kFirst = static_cast<uint64_t>(kPowers[kPrecision - 1]);
  constexpr uint64_t kZerosBehind = static_cast<uint64_t>(kPowers[8 * kWords + 1 - kPrecision]);
  const char first = static_cast<char>('0' + digits / kFirst);
  const uint64_t rest = digits % kFirst * kZerosBehind;
  const uint64_t high = EightDigits(kWords == 2 ? rest / kWord : rest);
  const uint64_t low = kWords == 2 ? EightDigits(rest % kWord) : 0;
  const __m128i others = _mm_add_epi8(_mm_set_epi64x(low, high), _mm_set1_epi8('0'));
  const int size = low != 0 ? 17 - std::countl_zero(low) / 8 : 9 - std::countl_zero(high) / 8;

  if (exponent < -4 || exponent >= kPrecision) {
    *out++ = first;
    if (size > 1) {
      *out++ = '.';
      Store(others, out);
      out += size - 1;
    }
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    const int magnitude = std::abs(exponent);  // below 100: the quick range is narrow
    *out++ = '0' + magnitude / 10;
    *out++ = '0' + magnitude % 10;
    return out;
  }
  if (exponent < 0) {
    std::memcpy(out, "0.000", 5);
    out += 1 - exponent;
    *out = first;
    Store(others, out + 1);
    return out + size;
  }
  *out++ = first;
  Store(others, out);
  out += exponent;
  *out++ = '.';
  Store(BytesFrom(exponent, others), out);
  if (size <= exponent + 1) {
    *out++ = '0';
    return out;
  }
  return out + size - exponent - 1;
}

// Writes any finite value with the exact conversions of the standard library.
template <typename T>
char* WriteExactly(T value, char* out) {
  char* end =
      std::to_chars(out, out + kMaxJsonNumber, value, std::chars_format::general, kShortDigits).ptr;
  T read = 0;
  std::from_chars(out, end, read);
  if (read != value) {
    end = std::to_chars(out, out + kMaxJsonNumber, value, std::chars_format::general, kAllDigits<T>)
              .ptr;
  }
  for (const char* p = out; p < end; ++p) {
    if (*p == '.' || *p == 'e') return end;
  }
  *end++ = '.';
  *end++ = '0';
  return end;
}

// Returns x scaled to `precision` digits and rounded; -1 if a rounding error may have changed it.
int64_t RoundToDigits(double x, int precision, int exponent) {
  const double scaled = ScaleByPower(x, precision - 1 - exponent);
  const double rounded = std::nearbyint(scaled);
  // For nine digits the error of `scaled` is below 1e-6.
  if (std::abs(std::abs(scaled - rounded) - 0.5) < 1e-5) return -1;
  return static_cast<int64_t>(rounded);
}

// Rounding up may give one more digit.
template <int kPrecision>
char* WriteRounded(int64_t digits, int exponent, char* out) {
  if (digits >= static_cast<int64_t>(kPowers[kPrecision])) {
    digits /= 10;
    ++exponent;
  }
  return WriteDigits<kPrecision>(static_cast<uint64_t>(digits), exponent, out);
}

// Returns whether `x` is so close to the middle between two floats that a decimal number which
// rounds to the double x could round to either float. Requires x in the quick range.
bool IsBetweenFloats(double x) {
  constexpr uint64_t kLowBits = (uint64_t{1} << 29) - 1, kMiddle = uint64_t{1} << 28;
  const uint64_t low = std::bit_cast<uint64_t>(x) & kLowBits;
  return low >= kMiddle - 1 && low <= kMiddle + 1;
}

// Writes a positive value in the quick range. Returns null, and writes nothing, if this method
// cannot decide how to round.
char* WriteQuickly(float value, char* out) {
  const double x = value;
  const int exponent = DecimalExponent(x);
  int64_t digits = RoundToDigits(x, kShortDigits, exponent);
  if (digits < 0) return nullptr;
  const double read = ScaleByPower(static_cast<double>(digits), exponent - kShortDigits + 1);
  if (IsBetweenFloats(read)) return nullptr;
  if (static_cast<float>(read) == value) return WriteRounded<kShortDigits>(digits, exponent, out);
  digits = RoundToDigits(x, kAllDigits<float>, exponent);
  if (digits < 0) return nullptr;
  return WriteRounded<kAllDigits<float>>(digits, exponent, out);
}

// Returns x * 10^power, rounded to even, without any other error. Requires x in the quick range, a
// result below 2^63, and a power of five that fits in 64 bits.
int64_t ScaleExactly(double x, int power) {
  using Wide = unsigned __int128;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t significand = (bits & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  const int shift = 1075 - static_cast<int>(bits >> 52) - power;
  const Wide product = Wide{significand} * kPowersOfFive[power];
  if (shift <= 0) return static_cast<int64_t>(product << -shift);
  const Wide rest = product & ((Wide{1} << shift) - 1), half = Wide{1} << (shift - 1);
  const int64_t whole = static_cast<int64_t>(product >> shift);
  return whole + (rest > half || (rest == half && (whole & 1) != 0));
}

char* WriteQuickly(double value, char* out) {
  const int exponent = DecimalExponent(value);
  const double digits = std::nearbyint(ScaleByPower(value, kShortDigits - 1 - exponent));
  if (ScaleByPower(digits, exponent - kShortDigits + 1) == value) {
    return WriteRounded<kShortDigits>(static_cast<int64_t>(digits), exponent, out);
  }
  constexpr int kPrecision = kAllDigits<double>;
  return WriteRounded<kPrecision>(ScaleExactly(value, kPrecision - 1 - exponent), exponent, out);
}

template <typename T>
char* WriteFloating(T value, char* out) {
  if (!std::isfinite(value)) return WriteNotFinite(value, out);
  if (std::signbit(value)) {
    *out++ = '-';
    value = -value;
  }
  if (value < 1e6) {
    const int whole = static_cast<int>(value);
    if (whole == value) {
      out = WriteJsonNumber(static_cast<uint64_t>(whole), out);
      return Copy(".0", out);
    }
  }
  if (value >= static_cast<T>(kMinQuick) && value < static_cast<T>(kMaxQuick)) {
    if (char* end = WriteQuickly(value, out); end != nullptr) return end;
  }
  return WriteExactly(value, out);
}

}  // namespace

char* WriteJsonNumber(float value, char* out) { return WriteFloating(value, out); }
char* WriteJsonNumber(double value, char* out) { return WriteFloating(value, out); }

char* WriteJsonNumber(int64_t value, char* out) {
  const bool minus = value < 0;
  *out = '-';
  return WriteJsonNumber(minus ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value),
                         out + minus);
}
char* WriteJsonNumber(uint64_t value, char* out) {
  if (value >= 100'000'000) return std::to_chars(out, out + kMaxJsonNumber, value).ptr;
  const uint64_t digits = EightDigits(value);
  const int zeros = std::countr_zero(digits | uint64_t{1} << 56) / 8;  // the last digit is none
  const uint64_t text = (digits | 0x3030303030303030) >> (8 * zeros);
  std::memcpy(out, &text, sizeof(text));
  return out + sizeof(text) - zeros;
}

}  // namespace tessera::serving
