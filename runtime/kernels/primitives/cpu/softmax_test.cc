// Tests of Softmax and the cross entropies that the recorded calls of ops do not cover.
#include "runtime/kernels/primitives/softmax.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cross_entropy.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsNan;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class SoftmaxTest : public ::testing::Test {
 protected:
  // Computes the softmax of the rows of a matrix.
  Tensor Run(SoftmaxKind kind, const Tensor& x) {
    Tensor y = Tensor::Allocate(x.dtype(), x.shape()).value();
    const auto softmax = PrimitiveImplementations<Softmax>::Find(kCpu);
    EXPECT_TRUE(softmax(ctx_, kind, x.dim(0), x.dim(1), x, &y).ok());
    return y;
  }

  StepContext step_;
  KernelContext ctx_{step_, /*device=*/nullptr};
};

TEST_F(SoftmaxTest, RowsOfEveryLengthSumToOne) {
  for (int64_t columns = 1; columns < 200; columns += columns < 40 ? 1 : 13) {
    Tensor x = Tensor::Allocate(DType::kFloat, {2, columns}).value();
    for (int64_t i = 0; i < 2 * columns; ++i) x.flat<float>()[i] = std::sin(1.0f * i) * 30;
    const Tensor y = Run(SoftmaxKind::kSoftmax, x), log = Run(SoftmaxKind::kLogSoftmax, x);
    for (int row = 0; row < 2; ++row) {
      double sum = 0, sum_of_logs = 0;
      for (int64_t i = row * columns; i < (row + 1) * columns; ++i) {
        sum += y.flat<float>()[i];
        sum_of_logs += std::exp(log.flat<float>()[i]);
      }
      EXPECT_NEAR(sum, 1, 1e-6) << columns;
      EXPECT_NEAR(sum_of_logs, 1, 1e-5) << columns;
    }
  }
}

TEST_F(SoftmaxTest, MayWorkInPlace) {
  Tensor x = Tensor::Of<double>({1, 3}, {1, 2, 3});
  for (const SoftmaxKind kind : {SoftmaxKind::kSoftmax, SoftmaxKind::kLogSoftmax}) {
    const Tensor apart = Run(kind, x);
    Tensor in_place = Tensor::Of<double>({1, 3}, {1, 2, 3});
    const auto softmax = PrimitiveImplementations<Softmax>::Find(kCpu);
    ASSERT_TRUE(softmax(ctx_, kind, 1, 3, in_place, &in_place).ok());
    EXPECT_EQ(in_place.flat<double>(), apart.flat<double>());
  }
}

TEST_F(SoftmaxTest, LargeAndInfiniteLogitsDoNotOverflow) {
  const Tensor x = Tensor::Of<float>({1, 3}, {1e38f, -kInf, -1e38f});
  EXPECT_THAT(Run(SoftmaxKind::kSoftmax, x).flat<float>(), testing::ElementsAre(1, 0, 0));
  EXPECT_THAT(Run(SoftmaxKind::kLogSoftmax, x).flat<float>(),
              testing::ElementsAre(0, -kInf, -2e38f));
}

TEST_F(SoftmaxTest, ARowWithNaNOrInfinityOrOfMinusInfinitiesIsNaN) {
  for (const Tensor& x :
       {Tensor::Of<float>({1, 3}, {1, kNaN, 3}), Tensor::Of<float>({1, 3}, {-kInf, -kInf, -kInf}),
        Tensor::Of<float>({1, 2}, {1, kInf})}) {
    EXPECT_THAT(Run(SoftmaxKind::kSoftmax, x).flat<float>(), Each(IsNan())) << x.ToString();
  }
}

TEST_F(SoftmaxTest, TheEmptyMatrixHasNoRows) {
  EXPECT_EQ(Run(SoftmaxKind::kSoftmax, Tensor::Of<float>({0, 3}, {})).num_elements(), 0);
  const Tensor narrow = Tensor::Allocate(DType::kHalf, {3, 0}).value();
  EXPECT_EQ(Run(SoftmaxKind::kLogSoftmax, narrow).num_elements(), 0);
}

TEST_F(SoftmaxTest, AClassWithoutAChanceMakesTheLossNaNWithoutAWeightToo) {
  const Tensor logits = Tensor::Of<float>({1, 2}, {-kInf, 0});
  const Tensor labels = Tensor::Of<float>({1, 2}, {0, 1});
  Tensor loss = Tensor::Allocate(DType::kFloat, {1}).value();
  Tensor gradient = Tensor::Allocate(DType::kFloat, {1, 2}).value();
  const auto cross_entropy = PrimitiveImplementations<SoftmaxCrossEntropy>::Find(kCpu);
  ASSERT_TRUE(cross_entropy(ctx_, logits, {2, 1}, labels, {2, 1}, &loss, &gradient).ok());
  EXPECT_TRUE(std::isnan(loss.flat<float>()[0]));
  EXPECT_THAT(gradient.flat<float>(), testing::ElementsAre(0, 0));
}

TEST_F(SoftmaxTest, OneRowOfLogitsAndOneLabelServeAll) {
  const Tensor logits = Tensor::Of<float>({1, 2}, {0, 0});
  const Tensor labels = Tensor::Of<float>({1, 1}, {0.5f});
  Tensor loss = Tensor::Allocate(DType::kFloat, {3}).value();
  Tensor gradient = Tensor::Allocate(DType::kFloat, {3, 2}).value();
  const auto cross_entropy = PrimitiveImplementations<SoftmaxCrossEntropy>::Find(kCpu);
  ASSERT_TRUE(cross_entropy(ctx_, logits, {0, 1}, labels, {0, 0}, &loss, &gradient).ok());
  EXPECT_THAT(loss.flat<float>(), Each(std::log(2.0f)));
  EXPECT_THAT(gradient.flat<float>(), Each(0));
}

TEST_F(SoftmaxTest, ALabelThatIsNoClassIsRefused) {
  const Tensor logits = Tensor::Of<float>({1, 2}, {0, 0});
  Tensor loss = Tensor::Allocate(DType::kFloat, {1}).value();
  Tensor gradient = Tensor::Allocate(DType::kFloat, {1, 2}).value();
  const auto cross_entropy = PrimitiveImplementations<SparseSoftmaxCrossEntropy>::Find(kCpu);
  for (const int64_t label : {-1, 2}) {
    const absl::Status status =
        cross_entropy(ctx_, logits, Tensor::Vector<int64_t>({label}), &loss, &gradient);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("is not one of the 2 classes"));
  }
}

}  // namespace
}  // namespace tessera
