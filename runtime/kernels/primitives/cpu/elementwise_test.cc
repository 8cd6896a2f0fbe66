#include "runtime/kernels/primitives/cpu/elementwise.h"

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
