#include "runtime/kernels/primitives/x86_convert.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

template <typename T>
constexpr T kLowest = std::numeric_limits<T>::lowest();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(X86ConvertTest, WhatAnIntegerHoldsIsTruncated) {
  EXPECT_EQ(ConvertAsX86<int32_t>(-2.75f), -2);
  EXPECT_EQ(ConvertAsX86<int64_t>(-9223372036854775808.0), kLowest<int64_t>);
  EXPECT_EQ(ConvertAsX86<int32_t>(2147483647.0), 2147483647);
  EXPECT_EQ(ConvertAsX86<uint8_t>(200.5f), 200);
}

TEST(X86ConvertTest, WhatNoIntegerHoldsBecomesTheLowest) {
  EXPECT_EQ(ConvertAsX86<int32_t>(2147483648.0), kLowest<int32_t>);
  EXPECT_EQ(ConvertAsX86<int64_t>(9223372036854775808.0), kLowest<int64_t>);
  EXPECT_EQ(ConvertAsX86<int64_t>(kNan), kLowest<int64_t>);
  EXPECT_EQ(ConvertAsX86<int32_t>(-kInfinity), kLowest<int32_t>);
}

TEST(X86ConvertTest, NarrowIntegersGetTheLowBits) {
  EXPECT_EQ(ConvertAsX86<uint8_t>(300.0f), 44);
  EXPECT_EQ(ConvertAsX86<uint8_t>(-1.0f), 255);
  EXPECT_EQ(ConvertAsX86<uint8_t>(-kInfinity), 0);
}

TEST(X86ConvertTest, FloatsAreConvertedAsTheyAre) {
  EXPECT_EQ(ConvertAsX86<float>(-kInfinity), -kInfinity);
  EXPECT_EQ(ConvertAsX86<double>(0.5f), 0.5);
}

}  // namespace
}  // namespace tessera
