#include <cstdint>
#include <vector>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// Returns x as it is stored, so that no operation is merged with the one that made it.
template <typename T>
T Rounded(T x) {
  const volatile auto stored = static_cast<double>(x);
  return static_cast<T>(stored);
}

template <typename T>
void ExpectRoundedSteps(const Tensor& y, T start, T step, int64_t count) {
  int64_t different = 0;
  for (int64_t i = 0; i < count; ++i) {
    const T product = Rounded<T>(static_cast<T>(i) * step);
    different += y.data<T>()[i] != Rounded<T>(start + product);
  }
  EXPECT_EQ(different, 0);
}

template <typename T>
class RangeTest : public ::testing::Test {};
using Types = ::testing::Types<Eigen::half, Eigen::bfloat16, float, double>;
TYPED_TEST_SUITE(RangeTest, Types);

TYPED_TEST(RangeTest, ProductAndSumAreRoundedToTheType) {
  const auto start = static_cast<TypeParam>(-1.1), limit = static_cast<TypeParam>(30.);
  const auto step = static_cast<TypeParam>(0.17);
  const Tensor y =
      RunOp("Range", {Tensor::Scalar(start), Tensor::Scalar(limit), Tensor::Scalar(step)}).value();
  ASSERT_GT(y.num_elements(), 150);
  ExpectRoundedSteps(y, start, step, y.num_elements());
}

TYPED_TEST(RangeTest, StepsBetweenTwoNumbersAreRoundedToTheType) {
  const auto start = static_cast<TypeParam>(-1.1), stop = static_cast<TypeParam>(30.);
  const Tensor y =
      RunOp("LinSpace", {Tensor::Scalar(start), Tensor::Scalar(stop), Tensor::Scalar<int32_t>(180)})
          .value();
  const TypeParam distance = Rounded<TypeParam>(stop - start);
  const auto step = Rounded<TypeParam>(distance / static_cast<TypeParam>(179));
  ExpectRoundedSteps(y, start, step, 179);
  EXPECT_EQ(y.data<TypeParam>()[179], stop);
}

// In double, 0.3f is more than three times 0.1f.
TEST(RangeCountTest, StepsAreCountedInTheirType) {
  const auto size = [](auto start, auto limit, auto delta) {
    return RunOp("Range", {Tensor::Scalar(start), Tensor::Scalar(limit), Tensor::Scalar(delta)})
        ->num_elements();
  };
  EXPECT_EQ(size(0.f, 0.3f, 0.1f), 3);
  EXPECT_EQ(size(0.0, double{0.3f}, double{0.1f}), 4);
  EXPECT_EQ(size(Eigen::half(0), Eigen::half(0.5f), Eigen::half(0.1f)), 5) << "0.1 is less in half";
  const std::vector<Tensor> range = {Tensor::Scalar(0.f), Tensor::Scalar(0.3f),
                                     Tensor::Scalar(0.1f)};
  EXPECT_EQ(KernelRunner::Create("RaggedRange", range)->Run(range).value()[1].num_elements(), 3);
}

}  // namespace
}  // namespace tessera
