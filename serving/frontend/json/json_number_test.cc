#include "serving/frontend/json/json_number.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

// What the header promises, by the C library.
template <typename T>
std::string Expected(T value, const char* all_digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.6g", value);
  const T read = sizeof(T) == 4 ? std::strtof(text, nullptr) : std::strtod(text, nullptr);
  if (read != value) std::snprintf(text, sizeof(text), all_digits, value);
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

void Check(float value) { ASSERT_EQ(JsonNumber(value), Expected(value, "%.9g")); }
void Check(double value) { ASSERT_EQ(JsonNumber(value), Expected(value, "%.17g")); }

TEST(JsonNumberTest, FloatsHaveSixDigitsOrNine) {
  EXPECT_EQ(JsonNumber(0.1f), "0.1");
  EXPECT_EQ(JsonNumber(1.0f), "1.0");
  EXPECT_EQ(JsonNumber(-0.0f), "-0.0");
  EXPECT_EQ(JsonNumber(1 / 3.0f), "0.333333343");
  EXPECT_EQ(JsonNumber(999999.0f), "999999.0");
  EXPECT_EQ(JsonNumber(1e6f), "1e+06");
  EXPECT_EQ(JsonNumber(1234567.0f), "1234567.0");
  EXPECT_EQ(JsonNumber(16777216.0f), "16777216.0");
  EXPECT_EQ(JsonNumber(1e-5f), "1e-05");
  EXPECT_EQ(JsonNumber(1.401298464324817e-45f), "1.4013e-45");
  EXPECT_EQ(JsonNumber(std::numeric_limits<float>::max()), "3.40282347e+38");
}

TEST(JsonNumberTest, DoublesHaveSixDigitsOrSeventeen) {
  EXPECT_EQ(JsonNumber(0.1), "0.1");
  EXPECT_EQ(JsonNumber(1 / 3.0), "0.33333333333333331");
  EXPECT_EQ(JsonNumber(9007199254740992.0), "9007199254740992.0");
  EXPECT_EQ(JsonNumber(-1.7976931348623157e+308), "-1.7976931348623157e+308");
  EXPECT_EQ(JsonNumber(-4.9406564584124654e-324), "-4.94066e-324");
}

TEST(JsonNumberTest, NotFinite) {
  EXPECT_EQ(JsonNumber(std::numeric_limits<float>::quiet_NaN()), "NaN");
  EXPECT_EQ(JsonNumber(-std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(JsonNumber(std::numeric_limits<float>::infinity()), "Infinity");
  EXPECT_EQ(JsonNumber(-std::numeric_limits<double>::infinity()), "-Infinity");
}

TEST(JsonNumberTest, Integers) {
  EXPECT_EQ(JsonNumber(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(JsonNumber(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(JsonNumber(int8_t{-128}), "-128");
  EXPECT_EQ(JsonNumber(uint8_t{255}), "255");
  std::mt19937_64 random(3);
  for (int digits = 0; digits <= 18; ++digits) {
    const auto power = static_cast<int64_t>(std::pow(10.0, digits));
    for (const int64_t value : {power - 1, power, power + 1, power / 9 * 5}) {
      EXPECT_EQ(JsonNumber(value), std::to_string(value));
      EXPECT_EQ(JsonNumber(-value), std::to_string(-value));
    }
    for (int i = 0; i < 1000; ++i) {
      const auto value = static_cast<int64_t>(random() % static_cast<uint64_t>(power));
      EXPECT_EQ(JsonNumber(value), std::to_string(value));
      EXPECT_EQ(JsonNumber(static_cast<uint64_t>(value)), std::to_string(value));
      EXPECT_EQ(JsonNumber(-value), std::to_string(-value));
    }
  }
}

TEST(JsonNumberTest, AnyBitsPrintAsTheCLibraryDoes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300000; ++i) {
    const auto f = std::bit_cast<float>(static_cast<uint32_t>(random()));
    const auto d = std::bit_cast<double>(random());
    if (std::isfinite(f)) Check(f);
    if (std::isfinite(d)) Check(d);
  }
}

TEST(JsonNumberTest, UsualMagnitudesPrintAsTheCLibraryDoes) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-12, 16), unit(-1, 1);
  std::uniform_int_distribution<int> digits(1, 9), power(-12, 15), integer(-2000000, 2000000);
  for (int i = 0; i < 300000; ++i) {
    const double value = unit(random) * std::pow(10, exponent(random));
    Check(static_cast<float>(value));
    Check(value);
    Check(static_cast<float>(unit(random)));
    // Few digits: where six suffice, or nearly do.
    const double scale = std::pow(10, digits(random));
    const double few = std::round(unit(random) * scale) / scale * std::pow(10, power(random));
    Check(static_cast<float>(few));
    Check(few);
    // Halves and the like: ties of the rounding.
    Check(static_cast<float>(std::ldexp(integer(random), power(random) - 10)));
    Check(std::ldexp(integer(random), power(random) - 10));
  }
}

TEST(JsonNumberTest, NeighboursOfPowersOfTenPrintAsTheCLibraryDoes) {
  for (int power = -45; power <= 38; ++power) {
    float below = static_cast<float>(std::pow(10.0, power)), above = below;
    double d_below = std::pow(10.0, power), d_above = d_below;
    for (int i = 0; i < 1000; ++i) {
      Check(below);
      Check(above);
      Check(d_below);
      Check(d_above);
      below = std::nextafter(below, 0.0f);
      above = std::nextafter(above, std::numeric_limits<float>::infinity());
      d_below = std::nextafter(d_below, 0.0);
      d_above = std::nextafter(d_above, std::numeric_limits<double>::infinity());
    }
  }
}

}  // namespace
}  // namespace tessera::serving
