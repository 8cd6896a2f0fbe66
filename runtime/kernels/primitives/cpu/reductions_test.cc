// What the recorded calls of ops leave out of Reduce, SegmentReduce, ArgMax and Scan.
#include <algorithm>
#include <cmath>
#include <limits>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/primitives/arg_max.h"
#include "runtime/kernels/primitives/reduce.h"
#include "runtime/kernels/primitives/scan.h"
#include "runtime/kernels/primitives/segment_reduce.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class ReductionsTest : public ::testing::Test {
 protected:
  template <typename P, typename... Args>
  static auto Make(Args... args) {
    return PrimitiveImplementations<P>::Find(kCpu)(args...);
  }
  Tensor ArgMaxOf(ReduceKind kind, const Tensor& x, int axis, DType index_type) {
    Shape shape = x.shape();
    shape.RemoveDim(axis);
    Tensor y = Tensor::Allocate(index_type, shape).value();
    EXPECT_TRUE(PrimitiveImplementations<ArgMax>::Find(kCpu)(ctx_, kind, x, axis, &y).ok());
    return y;
  }
  Tensor ScanOf(const ScanOptions& options, const Tensor& x) {
    Tensor y = Tensor::Allocate(x.dtype(), x.shape()).value();
    EXPECT_TRUE(PrimitiveImplementations<Scan>::Find(kCpu)(ctx_, options, x, &y).ok());
    return y;
  }

  StepContext step_;
  KernelContext ctx_{step_, /*device=*/nullptr};
};

TEST_F(ReductionsTest, AReductionOverNoAxesTakesEachElementByItself) {
  const Tensor x = Tensor::Of<float>({3}, {-1, 2, kNaN});
  Tensor y = Tensor::Allocate(DType::kFloat, {3}).value();
  ASSERT_TRUE(
      Make<Reduce>(ReduceKind::kEuclideanNorm, DType::kFloat)->Run(ctx_, x, {false}, &y).ok());
  EXPECT_EQ(y.flat<float>()[0], 1);
  EXPECT_EQ(y.flat<float>()[1], 2);
  EXPECT_TRUE(std::isnan(y.flat<float>()[2]));
}

TEST_F(ReductionsTest, AScalarIsItsOwnReduction) {
  const Tensor x = Tensor::Scalar<int64_t>(7);
  Tensor y = Tensor::Allocate(DType::kInt64, {}).value();
  ASSERT_TRUE(Make<Reduce>(ReduceKind::kMin, DType::kInt64)->Run(ctx_, x, {}, &y).ok());
  EXPECT_EQ(y.scalar<int64_t>(), 7);
}

TEST_F(ReductionsTest, TheMeanOfNoIntegersIsZero) {
  const Tensor x = Tensor::Of<int32_t>({0}, {});
  Tensor y = Tensor::Scalar<int32_t>(5);
  ASSERT_TRUE(Make<Reduce>(ReduceKind::kMean, DType::kInt32)->Run(ctx_, x, {true}, &y).ok());
  EXPECT_EQ(y.scalar<int32_t>(), 0);
}

TEST_F(ReductionsTest, RowsOfAnyNumberOfColumnsAreAdded) {
  for (const int64_t rows : {1, 7, 8, 9, 41, 600}) {
    for (const int64_t columns : {1, 2, 3, 7, 8, 15, 16, 31, 64, 65, 100, 129, 200}) {
      Tensor x = Tensor::Allocate(DType::kFloat, {rows, columns}).value();
      Tensor n = Tensor::Allocate(DType::kInt32, {rows, columns}).value();
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        n.data<int32_t>()[i] = static_cast<int32_t>(i * 7919 % 1009 - 500);
        x.data<float>()[i] = static_cast<float>(n.data<int32_t>()[i]);
      }
      // A NaN in the last row of the first column, and an infinity in the first row of the last.
      x.data<float>()[columns - 1] = kInf;
      x.data<float>()[(rows - 1) * columns] = kNaN;
      Tensor max = Tensor::Allocate(DType::kFloat, {columns}).value();
      Tensor sum = Tensor::Allocate(DType::kInt32, {columns}).value();
      ASSERT_TRUE(
          Make<Reduce>(ReduceKind::kMax, DType::kFloat)->Run(ctx_, x, {true, false}, &max).ok());
      ASSERT_TRUE(
          Make<Reduce>(ReduceKind::kSum, DType::kInt32)->Run(ctx_, n, {true, false}, &sum).ok());
      for (int64_t c = 0; c < columns; ++c) {
        int32_t expected_sum = 0;
        float expected_max = -kInf;
        for (int64_t r = 0; r < rows; ++r) {
          expected_sum += n.data<int32_t>()[r * columns + c];
          expected_max = std::max(expected_max, x.data<float>()[r * columns + c]);
        }
        EXPECT_EQ(sum.data<int32_t>()[c], expected_sum) << rows << " x " << columns;
        if (c == 0) {
          EXPECT_TRUE(std::isnan(max.data<float>()[c])) << rows << " x " << columns;
        } else {
          EXPECT_EQ(max.data<float>()[c], expected_max) << rows << " x " << columns;
        }
      }
    }
  }
}

TEST_F(ReductionsTest, SegmentsWithoutRowsHoldWhatTheCallerWants) {
  const Tensor data = Tensor::Of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor ids = Tensor::Vector<int64_t>({-1, 1});
  Tensor out = Tensor::Allocate(DType::kFloat, {2, 2}).value();
  ASSERT_TRUE(Make<SegmentReduce>(ReduceKind::kMax, DType::kFloat, EmptySegment::kLowest)
                  ->Run(ctx_, data, ids, &out)
                  .ok());
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  EXPECT_THAT(out.flat<float>(), ElementsAre(kLowest, kLowest, 3, 4));
}

TEST_F(ReductionsTest, ASegmentNumberBeyondTheLastIsRefusedEvenForRowsOfNothing) {
  const Tensor data = Tensor::Of<float>({1, 0}, {});
  const Tensor ids = Tensor::Vector<int32_t>({2});
  Tensor out = Tensor::Allocate(DType::kFloat, {2, 0}).value();
  const absl::Status status =
      Make<SegmentReduce>(ReduceKind::kSum, DType::kFloat, EmptySegment::kZero)
          ->Run(ctx_, data, ids, &out);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("segment number 2"));
}

TEST_F(ReductionsTest, SegmentsOfNarrowFloatsAccumulateInFloat) {
  Tensor data = Tensor::Allocate(DType::kBfloat16, {1000, 1}).value();
  for (auto& v : data.flat<Eigen::bfloat16>()) v = Eigen::bfloat16(1.0f);
  Tensor ids = Tensor::Allocate(DType::kInt32, {1000}).value();
  for (auto& id : ids.flat<int32_t>()) id = 0;
  Tensor out = Tensor::Allocate(DType::kBfloat16, {1, 1}).value();
  ASSERT_TRUE(Make<SegmentReduce>(ReduceKind::kSum, DType::kBfloat16, EmptySegment::kZero)
                  ->Run(ctx_, data, ids, &out)
                  .ok());
  EXPECT_EQ(static_cast<float>(out.flat<Eigen::bfloat16>()[0]), 1000);
}

TEST_F(ReductionsTest, ArgMaxTakesTheFirstOfEqualElementsAndNoNaN) {
  const Tensor x = Tensor::Of<float>({3, 3}, {kNaN, 4, 4, kNaN, kNaN, kNaN, 1, -kInf, kNaN});
  EXPECT_THAT(ArgMaxOf(ReduceKind::kMax, x, 1, DType::kInt32).flat<int32_t>(),
              ElementsAre(1, 0, 0));
  EXPECT_THAT(ArgMaxOf(ReduceKind::kMin, x, 1, DType::kInt16).flat<int16_t>(),
              ElementsAre(1, 0, 1));
  EXPECT_THAT(ArgMaxOf(ReduceKind::kMax, x, 0, DType::kInt64).flat<int64_t>(),
              ElementsAre(2, 0, 0));
}

TEST_F(ReductionsTest, ScansGoBothWaysAlongAnyAxis) {
  const Tensor x = Tensor::Of<int32_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(ScanOf({.kind = ScanKind::kSum, .axis = 0}, x).flat<int32_t>(),
              ElementsAre(1, 2, 4, 6, 9, 12));
  EXPECT_THAT(ScanOf({.kind = ScanKind::kProd, .axis = 0, .exclusive = true, .reverse = true}, x)
                  .flat<int32_t>(),
              ElementsAre(15, 24, 5, 6, 1, 1));
  EXPECT_THAT(ScanOf({.kind = ScanKind::kSum, .axis = 1, .reverse = true}, x).flat<int32_t>(),
              ElementsAre(3, 2, 7, 4, 11, 6));
}

TEST_F(ReductionsTest, SumsAndProductsHandOnNaN) {
  const Tensor x = Tensor::Of<float>({3}, {1, kNaN, 2});
  for (const ScanKind kind : {ScanKind::kSum, ScanKind::kProd}) {
    const Tensor y = ScanOf({.kind = kind}, x);
    EXPECT_EQ(y.flat<float>()[0], 1);
    EXPECT_TRUE(std::isnan(y.flat<float>()[1]));
    EXPECT_TRUE(std::isnan(y.flat<float>()[2]));
  }
}

// The values are TensorFlow's.
TEST_F(ReductionsTest, ALogSumExpTakesNaNForTheTotalBeforeIt) {
  const Tensor x = Tensor::Of<float>({3, 2}, {1, kNaN, kNaN, 1, 2, 2});
  EXPECT_THAT(ScanOf({.kind = ScanKind::kLogSumExp}, x).flat<float>(),
              ElementsAre(1, -kInf, 1.6931472f, 1, 2.5514448f, 2.3132617f));
}

TEST_F(ReductionsTest, ALogSumExpOfLargeNumbersDoesNotOverflow) {
  const Tensor x = Tensor::Of<double>({3}, {-1.0 / 0.0, 1000, 1000});
  const Tensor y = ScanOf({.kind = ScanKind::kLogSumExp}, x);
  EXPECT_EQ(y.flat<double>()[0], -1.0 / 0.0);
  EXPECT_EQ(y.flat<double>()[1], 1000);
  EXPECT_DOUBLE_EQ(y.flat<double>()[2], 1000 + std::log(2.0));
}

TEST_F(ReductionsTest, AScanOfNothingIsNothing) {
  for (const int axis : {0, 1}) {
    EXPECT_EQ(ScanOf({.axis = axis}, Tensor::Of<float>({0, 3}, {})).num_elements(), 0);
  }
}

}  // namespace
}  // namespace tessera
