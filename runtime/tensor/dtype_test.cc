#include "runtime/tensor/dtype.h"

#include <complex>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/variant.h"

namespace tessera {
namespace {

TEST(DTypeTest, EveryNameReadsBackAsItsType) {
  for (int i = 1; i <= static_cast<int>(DType::kUint2); ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_EQ(DTypeFromName(DTypeName(t)), t) << i;
    EXPECT_EQ(DTypeFromName(DTypeName(MakeRef(t))), MakeRef(t)) << i;
    EXPECT_TRUE(IsKnown(t)) << i;
    EXPECT_FALSE(IsKnown(MakeRef(t))) << i;
  }
}

TEST(DTypeTest, NamesComeInThreeSpellings) {
  EXPECT_EQ(DTypeFromName("float"), DType::kFloat);
  EXPECT_EQ(DTypeFromName("DT_FLOAT"), DType::kFloat);
  EXPECT_EQ(DTypeFromName("float32"), DType::kFloat);
  EXPECT_EQ(DTypeFromName("DT_HALF"), DType::kHalf);
  EXPECT_EQ(DTypeFromName("float16"), DType::kHalf);
  EXPECT_EQ(DTypeFromName("DT_FLOAT8_E4M3FN"), DType::kFloat8E4M3FN);
  EXPECT_EQ(DTypeFromName("DT_STRING_REF"), MakeRef(DType::kString));
  EXPECT_EQ(DTypeFromName("Float"), DType::kInvalid);
  EXPECT_EQ(DTypeFromName(""), DType::kInvalid);
  EXPECT_EQ(DTypeFromName("invalid"), DType::kInvalid);
}

TEST(DTypeTest, UnknownNumbersHaveNoSizeAndNoName) {
  for (const int number : {0, 33, 99, 100, 133, 255}) {
    const auto t = static_cast<DType>(number);
    EXPECT_EQ(DTypeSize(t), 0u) << number;
    EXPECT_EQ(DTypeName(t), "invalid") << number;
    EXPECT_FALSE(IsKnown(t)) << number;
  }
}

TEST(DTypeTest, SizesAreThoseOfTheCppTypes) {
  EXPECT_EQ(DTypeSize(DType::kBfloat16), sizeof(CppType<DType::kBfloat16>));
  EXPECT_EQ(DTypeSize(DType::kComplex64), sizeof(std::complex<float>));
  EXPECT_EQ(DTypeSize(DType::kComplex128), sizeof(std::complex<double>));
  EXPECT_EQ(DTypeSize(DType::kBool), sizeof(bool));
  EXPECT_EQ(DTypeSize(DType::kQint32), sizeof(qint32));
  EXPECT_EQ(DTypeSize(DType::kString), sizeof(std::string));
  EXPECT_EQ(DTypeSize(DType::kResource), sizeof(ResourceHandle));
  EXPECT_EQ(DTypeSize(DType::kVariant), sizeof(Variant));
  EXPECT_EQ(DTypeSize(DType::kInt4), 1u);
}

TEST(DTypeTest, ClassesDoNotOverlap) {
  EXPECT_TRUE(IsFloating(DType::kBfloat16));
  EXPECT_TRUE(IsFloating(DType::kFloat8E5M2));
  EXPECT_FALSE(IsFloating(DType::kComplex64));
  EXPECT_TRUE(IsComplex(DType::kComplex128));
  EXPECT_TRUE(IsInteger(DType::kInt2));
  EXPECT_TRUE(IsInteger(DType::kUint8));
  EXPECT_FALSE(IsInteger(DType::kBool));
  EXPECT_FALSE(IsInteger(DType::kQint8));
  EXPECT_TRUE(IsUnsigned(DType::kUint4));
  EXPECT_FALSE(IsUnsigned(DType::kInt4));
  EXPECT_TRUE(IsQuantized(DType::kQuint16));
}

}  // namespace
}  // namespace tessera
