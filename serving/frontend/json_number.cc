#include "serving/frontend/json_number.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace tessera::serving {
namespace {

constexpr int kShortDigits = 6;
// Digits that tell every value from its neighbours.
template <typename T>
constexpr int kAllDigits = std::numeric_limits<T>::max_digits10;

// Powers of ten that a double holds exactly.
constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
// Between these, all scaling below is by one of kPowers: one rounding, whose error is known.
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

// floor(log10(x)), or one less just below a power of ten. Requires x in [kMinQuick, kMaxQuick).
int DecimalExponent(double x) {
  constexpr int kLog10Of2 = 78913, kShift = 18;  // log10(2) * 2^18
  const int binary = static_cast<int>(std::bit_cast<uint64_t>(x) >> 52) - 1023;
  int exponent = (binary * kLog10Of2) >> kShift;
  if (x >= ScaleByPower(1.0, exponent + 1)) ++exponent;
  return exponent;
}

// `digits` times 10^(exponent - precision + 1), as %.{precision}g prints it, with ".0" where that
// is an integer. `digits` has `precision` digits.
char* WriteDigits(uint64_t digits, int precision, int exponent, char* out) {
  char text[20];
  for (int i = precision - 1; i >= 0; --i, digits /= 10) text[i] = '0' + digits % 10;
  int size = precision;
  while (size > 1 && text[size - 1] == '0') --size;

  if (exponent < -4 || exponent >= precision) {
    *out++ = text[0];
    if (size > 1) {
      *out++ = '.';
      std::memcpy(out, text + 1, size - 1);
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
    *out++ = '0';
    *out++ = '.';
    for (int i = -1; i > exponent; --i) *out++ = '0';
    std::memcpy(out, text, size);
    return out + size;
  }
  const int whole = exponent + 1;
  std::memcpy(out, text, whole);  // zeros that were cut off belong to it
  out += whole;
  *out++ = '.';
  if (size <= whole) {
    *out++ = '0';
    return out;
  }
  std::memcpy(out, text + whole, size - whole);
  return out + size - whole;
}

// Any finite value, by the exact conversions of the standard library.
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

// x scaled to `precision` digits and rounded; -1 if rounding errors might have decided.
int64_t RoundToDigits(double x, int precision, int exponent) {
  const double scaled = ScaleByPower(x, precision - 1 - exponent);
  const double rounded = std::nearbyint(scaled);
  // The error of `scaled` is below 1e-6 for nine digits.
  if (std::abs(std::abs(scaled - rounded) - 0.5) < 1e-5) return -1;
  return static_cast<int64_t>(rounded);
}

// Rounding up may carry into one digit more.
char* WriteRounded(int64_t digits, int precision, int exponent, char* out) {
  if (digits >= static_cast<int64_t>(kPowers[precision])) {
    digits /= 10;
    ++exponent;
  }
  return WriteDigits(static_cast<uint64_t>(digits), precision, exponent, out);
}

// True if `x`, in the quick range, is that close to the middle between two floats that a decimal
// number which rounds to the double x might round to either float.
bool IsBetweenFloats(double x) {
  constexpr uint64_t kLowBits = (uint64_t{1} << 29) - 1, kMiddle = uint64_t{1} << 28;
  const uint64_t low = std::bit_cast<uint64_t>(x) & kLowBits;
  return low >= kMiddle - 1 && low <= kMiddle + 1;
}

// For a positive value in the quick range. Null, having written nothing: not to be told this way.
char* WriteQuickly(float value, char* out) {
  const double x = value;
  const int exponent = DecimalExponent(x);
  int64_t digits = RoundToDigits(x, kShortDigits, exponent);
  if (digits < 0) return nullptr;
  const double read = ScaleByPower(static_cast<double>(digits), exponent - kShortDigits + 1);
  if (IsBetweenFloats(read)) return nullptr;
  if (static_cast<float>(read) == value) return WriteRounded(digits, kShortDigits, exponent, out);
  digits = RoundToDigits(x, kAllDigits<float>, exponent);
  if (digits < 0) return nullptr;
  return WriteRounded(digits, kAllDigits<float>, exponent, out);
}

// x * 10^power, rounded to even, without error. Requires x in the quick range, a result below 2^63,
// and a power of five that fits in 64 bits.
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
    return WriteRounded(static_cast<int64_t>(digits), kShortDigits, exponent, out);
  }
  constexpr int kPrecision = kAllDigits<double>;
  return WriteRounded(ScaleExactly(value, kPrecision - 1 - exponent), kPrecision, exponent, out);
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
      out = std::to_chars(out, out + kMaxJsonNumber, whole).ptr;
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
  return std::to_chars(out, out + kMaxJsonNumber, value).ptr;
}
char* WriteJsonNumber(uint64_t value, char* out) {
  return std::to_chars(out, out + kMaxJsonNumber, value).ptr;
}

}  // namespace tessera::serving
