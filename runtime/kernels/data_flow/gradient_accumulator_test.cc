#include "runtime/kernels/data_flow/gradient_accumulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace tessera {
namespace {

using ::testing::ElementsAre;

GradientAccumulator::Options Mean(PartialShape shape) {
  return {.name = "a",
          .dtype = DType::kFloat,
          .shape = std::move(shape),
          .is_mean = true,
          .allocator = HeapAllocator()};
}

TEST(DenseAccumulatorTest, TakeWaitsForGradients) {
  auto accumulator = MakeRefCounted<DenseAccumulator>(Mean({2}));
  Tensor mean;
  std::optional<absl::Status> status;
  accumulator->Take(2, nullptr, &mean, [&](absl::Status ended) { status = std::move(ended); });
  const Tensor first = Tensor::Vector<float>({1, 2});
  ASSERT_TRUE(accumulator->Apply(0, first).ok());
  EXPECT_FALSE(status.has_value());
  ASSERT_TRUE(accumulator->Apply(0, Tensor::Vector<float>({3, 6})).ok());
  ASSERT_TRUE(status.has_value());
  EXPECT_THAT(mean.flat<float>(), ElementsAre(2, 4));
  EXPECT_THAT(first.flat<float>(), ElementsAre(1, 2)) << "the sum is not made in a gradient";
  EXPECT_EQ(accumulator->NumAccumulated(), 0);
}

TEST(DenseAccumulatorTest, GradientOfAnEarlierStepIsDropped) {
  auto accumulator = MakeRefCounted<DenseAccumulator>(Mean({1}));
  const Tensor one = Tensor::Vector<float>({1});
  Tensor mean;
  ASSERT_TRUE(accumulator->Apply(0, one).ok());
  accumulator->Take(1, nullptr, &mean, [](absl::Status) {});
  ASSERT_TRUE(accumulator->Apply(0, one).ok());
  EXPECT_EQ(accumulator->NumAccumulated(), 0);
  ASSERT_TRUE(accumulator->Apply(1, one).ok());
  EXPECT_EQ(accumulator->NumAccumulated(), 1);
}

TEST(DenseAccumulatorTest, CancelledTakeLeavesTheGradients) {
  auto accumulator = MakeRefCounted<DenseAccumulator>(Mean({1}));
  CancellationManager cancellation;
  Tensor mean;
  absl::Status status;
  ASSERT_TRUE(accumulator->Apply(0, Tensor::Vector<float>({1})).ok());
  accumulator->Take(2, &cancellation, &mean, [&](absl::Status ended) { status = ended; });
  cancellation.Cancel();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(accumulator->NumAccumulated(), 1);
}

TEST(SparseAccumulatorTest, RowThatDoesNotFitChangesNothing) {
  auto accumulator = MakeRefCounted<SparseAccumulator>(Mean({3, 1}));
  const Tensor shape = Tensor::Vector<int64_t>({3, 1});
  const Tensor row = Tensor::Of<float>({1, 1}, {1});
  EXPECT_EQ(accumulator->Apply(0, {Tensor::Vector<int64_t>({3}), row, shape}, true).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(accumulator->Apply(0, {Tensor::Vector<int64_t>({-1}), row, shape}, false).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(accumulator->NumAccumulated(), 0);
  EXPECT_TRUE(accumulator->Apply(0, {Tensor::Vector<int64_t>({2}), row, shape}, true).ok());
}

TEST(SparseAccumulatorTest, GradientsWithoutRowsCount) {
  auto accumulator = MakeRefCounted<SparseAccumulator>(Mean({3, 2}));
  const SparseGradient none = {Tensor::Vector<int64_t>({}), Tensor::Of<float>({0, 2}, {}),
                               Tensor::Vector<int64_t>({})};
  SparseGradient mean;
  ASSERT_TRUE(accumulator->Apply(0, none, false).ok());
  ASSERT_TRUE(accumulator->Apply(0, none, false).ok());
  EXPECT_EQ(accumulator->NumAccumulated(), 2);
  accumulator->Take(2, nullptr, &mean, [](absl::Status status) { EXPECT_TRUE(status.ok()); });
  EXPECT_EQ(mean.values.shape(), (Shape{0, 2}));
  EXPECT_THAT(mean.shape.flat<int64_t>(), ElementsAre(3, 2));

  ASSERT_TRUE(accumulator->Apply(1, none, false).ok());
  ASSERT_TRUE(accumulator
                  ->Apply(1,
                          {Tensor::Vector<int64_t>({1}), Tensor::Of<float>({1, 2}, {4, 6}),
                           Tensor::Vector<int64_t>({})},
                          false)
                  .ok());
  accumulator->Take(2, nullptr, &mean, [](absl::Status status) { EXPECT_TRUE(status.ok()); });
  EXPECT_THAT(mean.indices.flat<int64_t>(), ElementsAre(1));
  EXPECT_THAT(mean.values.flat<float>(), ElementsAre(4, 6)) << "the mean of the rows that came";
}

TEST(SparseAccumulatorTest, GradientsMayHaveMoreDimensionsThanTheAccumulatorSays) {
  auto accumulator = MakeRefCounted<SparseAccumulator>(Mean({3}));
  const Tensor index = Tensor::Vector<int64_t>({1}), row = Tensor::Of<float>({1, 2}, {4, 6});
  const Tensor two = Tensor::Vector<int64_t>({3, 2}), other = Tensor::Vector<int64_t>({4, 2});
  EXPECT_EQ(accumulator->Apply(0, {index, row, other}, true).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(accumulator->Apply(0, {index, row, Tensor::Vector<int64_t>({})}, true).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(accumulator->Apply(0, {index, row, two}, true).ok());
  EXPECT_EQ(accumulator->Apply(0, {index, Tensor::Vector<float>({1}), two}, false).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(accumulator->NumAccumulated(), 1);
}

TEST(SparseAccumulatorTest, AccumulatorOfScalarsTakesAnyNumberOfRows) {
  auto accumulator = MakeRefCounted<SparseAccumulator>(Mean(PartialShape(Shape())));
  const Tensor row = Tensor::Vector<float>({4}), shape = Tensor::Vector<int64_t>({3});
  SparseGradient mean;
  ASSERT_TRUE(accumulator->Apply(0, {Tensor::Vector<int64_t>({2}), row, shape}, true).ok());
  accumulator->Take(1, nullptr, &mean, [](absl::Status status) { EXPECT_TRUE(status.ok()); });
  EXPECT_THAT(mean.indices.flat<int64_t>(), ElementsAre(2));
  EXPECT_THAT(mean.shape.flat<int64_t>(), ElementsAre(-1));
}

}  // namespace
}  // namespace tessera
