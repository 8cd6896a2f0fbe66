#include "runtime/kernels/primitives/cpu/elementwise.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/elementwise/activation.h"
#include "runtime/kernels/primitives/elementwise/arithmetic.h"
#include "runtime/kernels/primitives/elementwise/bitwise.h"
#include "runtime/kernels/primitives/elementwise/comparison.h"
#include "runtime/kernels/primitives/elementwise/special.h"
#include "runtime/kernels/primitives/elementwise/transcendental.h"
#include "runtime/kernels/primitives/elementwise/unary.h"

namespace tessera {
namespace {

// The contract of Elementwise: a device has all declared ops for all of their dtypes.
TEST(CpuElementwiseTest, HasLoopsForEveryDeclaration) {
  int count = 0;
  const auto expect_loops = [&count](const auto&... op) {
    const auto expect = [&count](const ElementwiseOp& op) {
      ++count;
      for (const DType dtype : DTypeList(op.dtypes)) {
        EXPECT_NE(FindElementwiseLoop(op.name, dtype), nullptr) << op.name << DTypeName(dtype);
      }
    };
    (expect(op), ...);
  };
  std::apply(expect_loops, functors::kActivationOps);
  std::apply(expect_loops, functors::kArithmeticOps);
  std::apply(expect_loops, functors::kBitwiseOps);
  std::apply(expect_loops, functors::kComparisonOps);
  std::apply(expect_loops, functors::kGeluFunctions);
  std::apply(expect_loops, functors::kSpecialOps);
  std::apply(expect_loops, functors::kTranscendentalOps);
  std::apply(expect_loops, functors::kUnaryOps);
  EXPECT_GT(count, 120);
}

TEST(CpuElementwiseTest, HasNoLoopForOtherDTypes) {
  EXPECT_EQ(FindElementwiseLoop("AddV2", DType::kString), nullptr);
  EXPECT_EQ(FindElementwiseLoop("AddV2", DType::kBool), nullptr);
  EXPECT_EQ(FindElementwiseLoop("NextAfter", DType::kHalf), nullptr);
  EXPECT_EQ(FindElementwiseLoop("NoSuchOp", DType::kFloat), nullptr);
}

// Runs a loop over one row of floats. The strides are in floats.
void RunRow(LoopFn loop, const float* x, int64_t x_stride, const float* y, int64_t y_stride,
            float* z, int64_t count) {
  LoopBlock block{};
  block.rows = 1;
  block.columns = count;
  const float* const operands[] = {z, x, y};
  const int64_t strides[] = {1, x_stride, y_stride};
  for (int i = 0; i < 3; ++i) {
    block.data[i] = reinterpret_cast<char*>(const_cast<float*>(operands[i]));
    block.column_stride[i] = strides[i] * static_cast<int64_t>(sizeof(float));
  }
  loop(block);
}

// Loops of costly functions descend through the elements for some distances between the addresses
// of the operand and of the result, modulo a page.
TEST(CpuElementwiseTest, ResultsDoNotDependOnWhereTheyAreStored) {
  constexpr int64_t kCount = 83, kPageFloats = 1024;
  std::vector<float> memory(8 * kPageFloats, 0.0f);
  float* const x = memory.data() + kPageFloats;
  for (int64_t i = 0; i < kCount; ++i) x[i] = 0.125f * static_cast<float>(i - 40);
  const float alpha = 0.25f;
  const LoopFn relu6 = FindElementwiseLoop("Relu6", DType::kFloat);
  const LoopFn leaky_relu = FindElementwiseLoop("LeakyRelu", DType::kFloat);
  const LoopFn tanh_grad = FindElementwiseLoop("TanhGrad", DType::kFloat);
  for (const int64_t distance : {0, 1, 16, 100, 511, 512, 600, 1023}) {
    float* const z = x + 2 * kPageFloats + distance;
    const auto expect = [&](auto function) {
      for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(z[i], function(x[i])) << distance << " " << i;
      ASSERT_EQ(z[-1], -1) << distance;
      ASSERT_EQ(z[kCount], -1) << distance;
    };
    std::fill(z - 1, z + kCount + 1, -1.0f);
    RunRow(relu6, x, 1, x, 1, z, kCount);
    expect(functors::Relu6());
    RunRow(leaky_relu, x, 1, &alpha, 0, z, kCount);
    expect([&](float value) { return functors::LeakyRelu()(value, alpha); });
    RunRow(tanh_grad, &alpha, 0, x, 1, z, kCount);
    expect([&](float value) { return value * (1 - alpha * alpha); });
  }
}

// The loop of contiguous elements is written by hand.
TEST(CpuElementwiseTest, ComplexAbsIsTheLibrarysOfEachNumber) {
  constexpr float kSome[] = {0,       -0.0f, 1,     -0.75f, 3e-45f,   1e-30f,
                             3.3e20f, 3e38f, 0.37f, 1e10f,  INFINITY, NAN};
  std::vector<std::complex<float>> x;
  for (const float real : kSome) {
    for (const float imaginary : kSome) x.emplace_back(real, -imaginary);
  }
  std::vector<float> y(x.size());
  LoopBlock block{};
  block.rows = 1;
  block.columns = static_cast<int64_t>(x.size());
  block.data[0] = reinterpret_cast<char*>(y.data());
  block.data[1] = reinterpret_cast<char*>(x.data());
  block.column_stride[0] = sizeof(float);
  block.column_stride[1] = sizeof(std::complex<float>);
  FindElementwiseLoop("ComplexAbs", DType::kComplex64)(block);
  for (size_t i = 0; i < x.size(); ++i) {
    const float expected = std::abs(x[i]);
    EXPECT_TRUE(y[i] == expected || (std::isnan(y[i]) && std::isnan(expected))) << x[i];
  }
}

TEST(ElementwiseDeclarationTest, ResultsAreStoredAsOperandsAreUnlessTheFunctorSaysOtherwise) {
  const ElementwiseOp& add = std::get<0>(functors::kArithmeticOps);
  EXPECT_EQ(add.ResultOf(DType::kBfloat16), DType::kBfloat16);
  EXPECT_EQ(add.ResultOf(DType::kInt8), DType::kInt8);
  const ElementwiseOp& equal = std::get<0>(functors::kComparisonOps);
  EXPECT_EQ(equal.ResultOf(DType::kHalf), DType::kBool);
  EXPECT_EQ(equal.ResultOf(DType::kQint32), DType::kBool);
  const auto imaginary = Unary<functors::Imaginary, kComplex>("Imag");
  EXPECT_EQ(imaginary.ResultOf(DType::kComplex128), DType::kDouble);
}

}  // namespace
}  // namespace tessera
