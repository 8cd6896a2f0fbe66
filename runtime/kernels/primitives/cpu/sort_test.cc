// Tests of TopK, NthElement, InTopK, Bincount and the histograms that the recorded calls of ops do
// not cover.
#include "runtime/kernels/primitives/sort.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/primitives/bincount.h"
#include "runtime/kernels/primitives/histogram.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class SortTest : public ::testing::Test {
 protected:
  // Returns the indices of the first elements along the axis.
  Tensor Indices(const Tensor& x, const TopK::Options& options) {
    Shape shape = x.shape();
    shape.SetDim(options.axis, options.k);
    Tensor values = Tensor::Allocate(x.dtype(), shape).value();
    Tensor indices = Tensor::Allocate(DType::kInt64, shape).value();
    EXPECT_TRUE(
        PrimitiveImplementations<TopK>::Find(kCpu)(ctx_, options, x, &values, &indices).ok());
    return indices;
  }
  Tensor Bins(absl::Span<const int64_t> splits, const Tensor& values, const Tensor& weights,
              bool binary, const Shape& shape) {
    Tensor bins = Tensor::Allocate(weights.dtype(), shape).value();
    EXPECT_TRUE(
        PrimitiveImplementations<Bincount>::Find(kCpu)(ctx_, splits, values, weights, binary, &bins)
            .ok());
    return bins;
  }

  StepContext step_;
  KernelContext ctx_{step_, /*device=*/nullptr};
};

TEST_F(SortTest, NaNComesLastAndEqualElementsByIndex) {
  const Tensor x = Tensor::Of<float>({1, 6}, {kNaN, 2, kInf, kNaN, 2, -1});
  EXPECT_THAT(Indices(x, {.axis = 1, .k = 6}).flat<int64_t>(), ElementsAre(2, 1, 4, 5, 0, 3));
  EXPECT_THAT(Indices(x, {.axis = 1, .k = 6, .is_greatest = false}).flat<int64_t>(),
              ElementsAre(5, 1, 4, 2, 0, 3));
  EXPECT_THAT(Indices(x, {.axis = 1, .k = 2}).flat<int64_t>(), ElementsAre(2, 1));
}

TEST_F(SortTest, AnyAxisAndNoElementsAtAll) {
  const Tensor x = Tensor::Of<int32_t>({3, 2}, {1, 9, 3, 8, 2, 7});
  EXPECT_THAT(Indices(x, {.axis = 0, .k = 2}).flat<int64_t>(), ElementsAre(1, 0, 2, 1));
  EXPECT_EQ(Indices(x, {.axis = 0, .k = 0}).num_elements(), 0);
  EXPECT_EQ(Indices(Tensor::Of<int32_t>({0, 2}, {}), {.axis = 1, .k = 1}).num_elements(), 0);
}

TEST_F(SortTest, TheNthElementCountsNaNAsTheGreatest) {
  const Tensor x = Tensor::Of<float>({2, 3}, {kNaN, 2, 1, 5, 5, 5});
  Tensor y = Tensor::Allocate(DType::kFloat, {2}).value();
  const auto nth_element = PrimitiveImplementations<NthElement>::Find(kCpu);
  ASSERT_TRUE(nth_element(ctx_, 1, x, &y).ok());
  EXPECT_THAT(y.flat<float>(), ElementsAre(2, 5));
  ASSERT_TRUE(nth_element(ctx_, 2, x, &y).ok());
  EXPECT_THAT(y.flat<float>(), ElementsAre(testing::IsNan(), 5));
}

TEST_F(SortTest, NoRowWithAnInfinityHasItsTargetAmongTheFirst) {
  const Tensor x = Tensor::Of<float>({4, 2}, {1, 2, 2, 2, kInf, 0, 1, 2});
  const Tensor targets = Tensor::Vector<int32_t>({0, 1, 1, 2});
  Tensor is_in = Tensor::Allocate(DType::kBool, {4}).value();
  ASSERT_TRUE(PrimitiveImplementations<InTopK>::Find(kCpu)(ctx_, 1, x, targets, &is_in).ok());
  EXPECT_THAT(is_in.flat<bool>(), ElementsAre(false, true, false, false));
}

TEST_F(SortTest, RowsAreCountedByThemselvesAndLargeValuesNotAtAll) {
  const Tensor values = Tensor::Vector<int64_t>({1, 1, 0, 5, 1});
  const Tensor none = Tensor::Of<float>({0}, {});
  EXPECT_THAT(Bins({0, 2, 2, 5}, values, none, /*binary=*/false, {3, 2}).flat<float>(),
              ElementsAre(0, 2, 0, 0, 1, 1));
  EXPECT_THAT(Bins({0, 5}, values, none, /*binary=*/true, {2}).flat<float>(), ElementsAre(1, 1));
  const Tensor weights = Tensor::Vector<float>({0.5f, 1, 2, 4, 8});
  EXPECT_THAT(Bins({0, 5}, values, weights, /*binary=*/false, {2}).flat<float>(),
              ElementsAre(2, 9.5f));
}

TEST_F(SortTest, NothingCanBeCountedIntoNoBins) {
  const Tensor values = Tensor::Vector<int32_t>({0, 3});
  EXPECT_EQ(Bins({0, 2}, values, Tensor::Of<int32_t>({0}, {}), false, {0}).num_elements(), 0);
}

TEST_F(SortTest, ANegativeValueIsNotCounted) {
  Tensor bins = Tensor::Allocate(DType::kInt32, {2}).value();
  const absl::Status status = PrimitiveImplementations<Bincount>::Find(kCpu)(
      ctx_, {0, 2}, Tensor::Vector<int32_t>({0, -3}), Tensor::Of<int32_t>({0}, {}), false, &bins);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("cannot count -3"));
}

// Another algorithm counts values if there are many more of them than bins.
TEST_F(SortTest, ManyValuesAreCountedAndANegativeOneIsFoundAmongThem) {
  Tensor values = Tensor::Allocate(DType::kInt32, {1003}).value();
  for (int64_t i = 0; i < 1003; ++i) values.data<int32_t>()[i] = static_cast<int32_t>(i % 5);
  const Tensor none = Tensor::Of<int32_t>({0}, {});
  // Values 3 and 4 have no bin.
  EXPECT_THAT(Bins({0, 1003}, values, none, false, {3}).flat<int32_t>(),
              ElementsAre(201, 201, 201));
  EXPECT_THAT(Bins({0, 1003}, values, none, false, {5}).flat<int32_t>(),
              ElementsAre(201, 201, 201, 200, 200));
  values.data<int32_t>()[700] = -1;
  Tensor bins = Tensor::Allocate(DType::kInt32, {5}).value();
  EXPECT_THAT(
      PrimitiveImplementations<Bincount>::Find(kCpu)(ctx_, {0, 1003}, values, none, false, &bins)
          .message(),
      HasSubstr("cannot count -1"));
}

TEST_F(SortTest, AHistogramKeepsWhatLiesOutside) {
  const Tensor values = Tensor::Vector<float>({-kInf, -1, 0, 0.5f, 1, 3.9f, 4, kInf});
  Tensor counts = Tensor::Allocate(DType::kInt32, {4}).value();
  ASSERT_TRUE(PrimitiveImplementations<Histogram>::Find(kCpu)(ctx_, 0, 4, values, &counts).ok());
  EXPECT_THAT(counts.flat<int32_t>(), ElementsAre(4, 1, 0, 3));
  const Tensor none = Tensor::Vector<float>({1, kNaN});
  EXPECT_FALSE(PrimitiveImplementations<Histogram>::Find(kCpu)(ctx_, 0, 4, none, &counts).ok());
}

TEST_F(SortTest, ABucketIsTheNumberOfBoundariesNotAbove) {
  const Tensor values = Tensor::Vector<double>({-1, 0, 5, 10, kNaN});
  Tensor buckets = Tensor::Allocate(DType::kInt32, {5}).value();
  const auto bucketize = PrimitiveImplementations<Bucketize>::Find(kCpu);
  ASSERT_TRUE(bucketize(ctx_, {0.0f, 10.0f}, values, &buckets).ok());
  EXPECT_THAT(buckets.flat<int32_t>(), ElementsAre(0, 1, 1, 2, 2));
  ASSERT_TRUE(bucketize(ctx_, {}, values, &buckets).ok());
  EXPECT_THAT(buckets.flat<int32_t>(), ElementsAre(0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace tessera
