// Numbers of 8 bits, and products of them with a stand-in for the library.
#include "runtime/kernels/primitives/cuda/fp8.h"

#include <cmath>
#include <limits>
#include <memory>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cuda/testing/both_devices.h"
#include "runtime/kernels/primitives/cuda/testing/e4m3_value.h"
#include "runtime/kernels/primitives/cuda/testing/library_stand_in.h"
#include "runtime/kernels/primitives/matmul.h"

namespace tessera {
namespace {

using cuda::E4m3Matrix;
using cuda::E4m3OfFloat;
using cuda::FloatOfE4m3;
using cuda::LibraryStandIn;

TEST(E4m3Test, EachNumberComesBack) {
  for (int bits = 0; bits < 256; ++bits) {
    const float value = FloatOfE4m3(static_cast<uint8_t>(bits));
    if (std::isnan(value)) {
      EXPECT_EQ(bits & 0x7f, 0x7f);
    } else {
      EXPECT_EQ(E4m3OfFloat(value), bits) << value;
    }
  }
  EXPECT_EQ(FloatOfE4m3(0x7e), 448.0f);
  EXPECT_EQ(FloatOfE4m3(0x38), 1.0f);
  EXPECT_EQ(FloatOfE4m3(0x01), std::ldexp(1.0f, -9));
  EXPECT_EQ(FloatOfE4m3(0x08), std::ldexp(1.0f, -6));
}

TEST(E4m3Test, RoundsToTheNearestAndTiesToEven) {
  for (int bits = 0; bits < 0x7e; ++bits) {
    const float low = FloatOfE4m3(static_cast<uint8_t>(bits));
    const float high = FloatOfE4m3(static_cast<uint8_t>(bits + 1));
    const float middle = (low + high) / 2;
    EXPECT_EQ(E4m3OfFloat(middle), bits % 2 == 0 ? bits : bits + 1) << middle;
    EXPECT_EQ(E4m3OfFloat(std::nextafter(middle, low)), bits);
    EXPECT_EQ(E4m3OfFloat(std::nextafter(middle, high)), bits + 1);
    EXPECT_EQ(E4m3OfFloat(-std::nextafter(middle, high)), (bits + 1) | 0x80);
  }
}

TEST(E4m3Test, WhatIsOutOfRange) {
  EXPECT_EQ(E4m3OfFloat(449), 0x7e);
  EXPECT_EQ(E4m3OfFloat(-1e38f), 0xfe);
  EXPECT_EQ(E4m3OfFloat(1e-40f), 0);
  EXPECT_EQ(E4m3OfFloat(std::numeric_limits<float>::infinity()) & 0x7f, 0x7f);
  EXPECT_EQ(E4m3OfFloat(std::numeric_limits<float>::quiet_NaN()) & 0x7f, 0x7f);
}

class Fp8Test : public BothDevicesTest {
 protected:
  E4m3Matrix Quantised(const Tensor& values) {
    E4m3Matrix result{Empty(DType::kUint8, values.shape()), Empty(DType::kFloat, {1})};
    const absl::Status status = cuda::RunQuantise(ctx_, values, &result);
    EXPECT_TRUE(status.ok()) << status;
    return result;
  }
};

TEST_F(Fp8Test, ScaleIsThatOfTheGreatestFiniteElement) {
  for (const int64_t count : {1, 255, 300000}) {
    Tensor values = Floats({count}, -3, 3);
    values.data<float>()[count / 2] = -7;
    const E4m3Matrix result = Quantised(values);
    EXPECT_EQ(*result.scale.data<float>(), 7 / 448.0f);
    EXPECT_EQ(result.values.data<uint8_t>()[count / 2], 0xfe);
    for (int64_t i = 0; i < count; ++i) {
      const float value = values.flat<float>()[i];
      const float rounded = FloatOfE4m3(result.values.flat<uint8_t>()[i]) * 7 / 448;
      // Half a step of 3 bits, or of the least exponent.
      ASSERT_NEAR(rounded, value, std::max(std::abs(value) / 16, 2e-5f)) << i;
    }
  }
}

TEST_F(Fp8Test, ZerosAndWhatIsNotFinite) {
  EXPECT_EQ(*Quantised(Floats({40}, 0, 0)).scale.data<float>(), 1.0f);
  Tensor values = Tensor::Vector<float>(
      {std::numeric_limits<float>::infinity(), 2, std::numeric_limits<float>::quiet_NaN()});
  const E4m3Matrix result = Quantised(values);
  EXPECT_EQ(*result.scale.data<float>(), 2 / 448.0f);
  EXPECT_TRUE(std::isnan(FloatOfE4m3(result.values.data<uint8_t>()[0])));
  EXPECT_EQ(result.values.data<uint8_t>()[1], 0x7e);
  EXPECT_TRUE(std::isnan(FloatOfE4m3(result.values.data<uint8_t>()[2])));
}

TEST_F(Fp8Test, ElementsOfHalf) {
  Tensor values = Empty(DType::kHalf, {3});
  values.flat<Eigen::half>()[0] = Eigen::half(1.0f);
  values.flat<Eigen::half>()[1] = Eigen::half(-0.5f);
  values.flat<Eigen::half>()[2] = Eigen::half(0.0f);
  const E4m3Matrix result = Quantised(values);
  EXPECT_EQ(*result.scale.data<float>(), 1 / 448.0f);
  EXPECT_EQ(FloatOfE4m3(result.values.data<uint8_t>()[1]), -224.0f);
  EXPECT_EQ(result.values.data<uint8_t>()[2], 0);
}

TEST_F(Fp8Test, WeightsAreTurnedSoThatTheirColumnsAreRows) {
  const Tensor weights = Floats({32, 16});
  Tensor turned = Empty(DType::kFloat, {16, 32});
  for (int i = 0; i < 32; ++i) {
    for (int j = 0; j < 16; ++j)
      turned.data<float>()[j * 32 + i] = weights.data<float>()[i * 16 + j];
  }
  const auto plain = cuda::QuantiseWeights(weights, /*transpose_b=*/false);
  const auto transposed = cuda::QuantiseWeights(turned, /*transpose_b=*/true);
  ASSERT_TRUE(plain.ok() && plain->has_value() && transposed.ok() && transposed->has_value());
  EXPECT_EQ((*plain)->values.shape(), Shape({16, 32}));
  ExpectSameBytes((*plain)->values, (*transposed)->values);
}

TEST_F(Fp8Test, SizesThatAreNoMultiplesOf16AndOtherDTypesAreNotTaken) {
  EXPECT_FALSE(cuda::QuantiseWeights(Floats({24, 16}), false)->has_value());
  EXPECT_FALSE(cuda::QuantiseWeights(Floats({16, 24}), false)->has_value());
  EXPECT_FALSE(cuda::QuantiseWeights(Floats({16, 16, 16}), false)->has_value());
  EXPECT_FALSE(cuda::QuantiseWeights(Empty(DType::kDouble, {16, 16}), false)->has_value());
}

// A kernel whose right-hand side is constant.
class Fp8ProductTest : public Fp8Test {
 protected:
  std::unique_ptr<MatMul> Product(const Tensor& weights, bool transpose_b) {
    const OpDef* const op = OpRegistry::Global().Find("MatMul");
    const AttrMap attrs = {
        {"T", weights.dtype()}, {"transpose_a", false}, {"transpose_b", transpose_b}};
    KernelBuild build(*op, "product", attrs, {weights.dtype(), weights.dtype()}, {weights.dtype()},
                      /*device=*/nullptr, /*functions=*/nullptr,
                      {.constant_inputs = {nullptr, &weights}});
    std::unique_ptr<MatMul> product =
        PrimitiveImplementations<MatMul>::Find(kEmulated)(build, /*b_input=*/1);
    EXPECT_TRUE(product->Prepare(PrepareContext(), transpose_b, WeightUse::kOnceARun).ok());
    return product;
  }
};

TEST_F(Fp8ProductTest, IsThatOfFloatsUpToRounding) {
  LibraryStandIn library;
  constexpr int64_t kRows = 10, kColumns = 32, kInner = 64;
  const Tensor a = Floats({2, kRows / 2, kInner}), bias = Floats({kColumns}),
               c = Floats({kRows, kColumns});
  for (const bool transpose_b : {false, true}) {
    const Tensor b = Floats(transpose_b ? Shape{kColumns, kInner} : Shape{kInner, kColumns});
    MatMulShape shape;
    shape.m = kRows / 2, shape.n = kColumns, shape.k = kInner, shape.transpose_b = transpose_b;
    shape.batch = {2}, shape.a_stride = {1}, shape.b_stride = {0};
    Tensor y = Copy(c);
    const PostOps post_ops{.bias = true, .add = true, .activation = Activation::kRelu};
    const absl::Status status =
        Product(b, transpose_b)
            ->Run(ctx_, shape, post_ops, a, b, {.bias = &bias, .addend = &c}, &y);
    ASSERT_TRUE(status.ok()) << status;
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kColumns; ++j) {
        double sum = 0, sizes = 0;
        for (int64_t k = 0; k < kInner; ++k) {
          const double term = static_cast<double>(a.data<float>()[i * kInner + k]) *
                              b.data<float>()[transpose_b ? j * kInner + k : k * kColumns + j];
          sum += term, sizes += std::abs(term);
        }
        const double want =
            std::max(0.0, sum + bias.data<float>()[j] + c.data<float>()[i * kColumns + j]);
        // Each operand is rounded by at most a sixteenth.
        ASSERT_NEAR(y.data<float>()[i * kColumns + j], want, sizes / 8) << i << ", " << j;
      }
    }
  }
  EXPECT_EQ(library.num_calls(), 2);
}

TEST_F(Fp8ProductTest, WeightsThatDoNotFitAreMultipliedAsTheyAre) {
  LibraryStandIn library;
  const Tensor a = Floats({3, 20}), b = Floats({20, 16});
  MatMulShape shape;
  shape.m = 3, shape.n = 16, shape.k = 20;
  Tensor y = Empty(DType::kFloat, {3, 16});
  ASSERT_TRUE(Product(b, false)->Run(ctx_, shape, PostOps(), a, b, {}, &y).ok());
  float want = 0;
  for (int k = 0; k < 20; ++k) want += a.data<float>()[k] * b.data<float>()[k * 16];
  EXPECT_NEAR(y.data<float>()[0], want, 1e-5f);
  EXPECT_EQ(library.num_calls(), 0);
}

}  // namespace
}  // namespace tessera
