// Tests of Reduce, SegmentReduce, ArgMax and Scan that the recorded calls of ops do not cover.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/primitives/arg_max.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/reduce.h"
#include "runtime/kernels/primitives/scan.h"
#include "runtime/kernels/primitives/segment_reduce.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
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

  // Converts a tensor of floats to another real dtype.
  static Tensor Narrowed(const Tensor& x, DType dtype) {
    Tensor narrow = Tensor::Allocate(dtype, x.shape()).value();
    const absl::Status status = VisitRealType(dtype, [&]<typename T>() {
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        narrow.data<T>()[i] = static_cast<T>(x.data<float>()[i]);
      }
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok());
    return narrow;
  }
  static float At(const Tensor& x, int64_t i) {
    float value = 0;
    const absl::Status status = VisitRealType(x.dtype(), [&]<typename T>() {
      value = static_cast<float>(x.data<T>()[i]);
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok());
    return value;
  }

  struct Extremes {
    DType dtype;
    std::unique_ptr<Reduce> max, min;
  };
  using Reducers = std::vector<Extremes>;
  static Reducers AllReducers() {
    Reducers all;
    for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16}) {
      all.push_back(
          {dtype, Make<Reduce>(ReduceKind::kMax, dtype), Make<Reduce>(ReduceKind::kMin, dtype)});
    }
    return all;
  }
  // Returns the reduction of a vector of floats, computed in another dtype.
  float Reduced(const Reduce& reduce, const Tensor& x, DType dtype) {
    Tensor y = Tensor::Allocate(dtype, {}).value();
    EXPECT_TRUE(reduce.Run(ctx_, Narrowed(x, dtype), {true}, &y).ok());
    return At(y, 0);
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

TEST_F(ReductionsTest, ANaNAnywhereIsTheExtremeOfARow) {
  const Reducers all = AllReducers();
  for (const int64_t count : {1, 2, 63, 64, 65, 96, 127, 128, 4095, 4096, 4200, 9000}) {
    for (const int64_t at : {int64_t{0}, count / 2, count - 1}) {
      Tensor x = Tensor::Allocate(DType::kFloat, {count}).value();
      for (int64_t i = 0; i < count; ++i) x.data<float>()[i] = static_cast<float>(i % 977);
      x.data<float>()[at] = kNaN;
      for (const auto& [dtype, max, min] : all) {
        EXPECT_TRUE(std::isnan(Reduced(*max, x, dtype))) << DTypeName(dtype) << count << " " << at;
        EXPECT_TRUE(std::isnan(Reduced(*min, x, dtype))) << DTypeName(dtype) << count << " " << at;
      }
    }
  }
}

TEST_F(ReductionsTest, InfinitiesOfBothSignsAreExtremes) {
  const Reducers all = AllReducers();
  for (const int64_t count : {2, 64, 200, 5000}) {
    Tensor x = Tensor::Allocate(DType::kFloat, {count}).value();
    for (int64_t i = 0; i < count; ++i) x.data<float>()[i] = static_cast<float>(i % 31);
    x.data<float>()[0] = kInf;
    x.data<float>()[count - 1] = -kInf;
    for (const auto& [dtype, max, min] : all) {
      EXPECT_EQ(Reduced(*max, x, dtype), kInf) << DTypeName(dtype) << " " << count;
      EXPECT_EQ(Reduced(*min, x, dtype), -kInf) << DTypeName(dtype) << " " << count;
    }
  }
}

TEST_F(ReductionsTest, OneTruthOfARowDecides) {
  const auto all = Make<Reduce>(ReduceKind::kAll, DType::kBool);
  const auto any = Make<Reduce>(ReduceKind::kAny, DType::kBool);
  Tensor y = Tensor::Allocate(DType::kBool, {}).value();
  for (const int64_t count : {1, 31, 63, 64, 127, 128, 129, 255, 1000, 4097}) {
    for (const int64_t at : {int64_t{0}, count / 2, count - 1}) {
      Tensor x = Tensor::Allocate(DType::kBool, {count}).value();
      std::fill_n(x.data<bool>(), count, false);
      ASSERT_TRUE(any->Run(ctx_, x, {true}, &y).ok());
      EXPECT_FALSE(y.scalar<bool>()) << count;
      x.data<bool>()[at] = true;
      ASSERT_TRUE(any->Run(ctx_, x, {true}, &y).ok());
      EXPECT_TRUE(y.scalar<bool>()) << count << " " << at;
      std::fill_n(x.data<bool>(), count, true);
      ASSERT_TRUE(all->Run(ctx_, x, {true}, &y).ok());
      EXPECT_TRUE(y.scalar<bool>()) << count;
      x.data<bool>()[at] = false;
      ASSERT_TRUE(all->Run(ctx_, x, {true}, &y).ok());
      EXPECT_FALSE(y.scalar<bool>()) << count << " " << at;
    }
  }
}

TEST_F(ReductionsTest, NarrowNumbersOfRowsAndColumnsAreAdded) {
  for (const int64_t rows : {1, 9, 300}) {
    for (const int64_t columns : {1, 3, 8, 70, 130, 1100}) {
      Tensor x = Tensor::Allocate(DType::kFloat, {rows, columns}).value();
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        x.data<float>()[i] = static_cast<float>(i * 7919 % 5 - 2);  // their sums are exact
      }
      for (const bool by_rows : {false, true}) {
        const int64_t outputs = by_rows ? rows : columns;
        std::vector<float> sums(outputs);
        for (int64_t i = 0; i < x.num_elements(); ++i) {
          sums[by_rows ? i / columns : i % columns] += x.data<float>()[i];
        }
        const std::vector<int32_t> whole(sums.begin(), sums.end());
        for (const DType dtype : {DType::kHalf, DType::kBfloat16, DType::kInt8, DType::kInt16}) {
          const Tensor narrow = Narrowed(x, dtype);
          Tensor y = Tensor::Allocate(dtype, {outputs}).value();
          ASSERT_TRUE(Make<Reduce>(ReduceKind::kSum, dtype)
                          ->Run(ctx_, narrow, {!by_rows, by_rows}, &y)
                          .ok());
          for (int64_t o = 0; o < outputs; ++o) {
            const float expected = dtype == DType::kInt8 ? static_cast<int8_t>(whole[o])
                                   : dtype == DType::kBfloat16
                                       ? static_cast<float>(Eigen::bfloat16(sums[o]))
                                       : sums[o];
            ASSERT_EQ(At(y, o), expected) << DTypeName(dtype) << " " << rows << " x " << columns;
          }
        }
      }
    }
  }
}

TEST_F(ReductionsTest, RunsOfEqualSegmentNumbersOfAnyLengthAreAdded) {
  // Each length of runs from 1 to 40 rows occurs twice, so that a number returns after others.
  std::vector<int32_t> numbers;
  for (int twice = 0; twice < 2; ++twice) {
    for (int32_t run = 1; run <= 40; ++run) numbers.insert(numbers.end(), run, run - 1);
  }
  const auto rows = static_cast<int64_t>(numbers.size());
  Tensor data = Tensor::Allocate(DType::kInt32, {rows, 3}).value();
  for (int64_t i = 0; i < 3 * rows; ++i) data.data<int32_t>()[i] = static_cast<int32_t>(i);
  std::vector<int32_t> expected(3 * 40);
  for (int64_t i = 0; i < 3 * rows; ++i) {
    expected[3 * numbers[i / 3] + i % 3] += static_cast<int32_t>(i);
  }
  Tensor out = Tensor::Allocate(DType::kInt32, {40, 3}).value();
  ASSERT_TRUE(
      Make<SegmentReduce>(ReduceKind::kSum, DType::kInt32, EmptySegment::kZero, SegmentOrder::kAny)
          ->Run(ctx_, data, Tensor::Vector<int32_t>(numbers), &out)
          .ok());
  EXPECT_THAT(out.flat<int32_t>(), ElementsAreArray(expected));
}

TEST_F(ReductionsTest, SegmentsWithoutRowsHoldWhatTheCallerWants) {
  const Tensor data = Tensor::Of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor ids = Tensor::Vector<int64_t>({-1, 1});
  Tensor out = Tensor::Allocate(DType::kFloat, {2, 2}).value();
  ASSERT_TRUE(Make<SegmentReduce>(ReduceKind::kMax, DType::kFloat, EmptySegment::kLowest,
                                  SegmentOrder::kAny)
                  ->Run(ctx_, data, ids, &out)
                  .ok());
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  EXPECT_THAT(out.flat<float>(), ElementsAre(kLowest, kLowest, 3, 4));
}

TEST_F(ReductionsTest, ExtremesOfInfinitiesAreTheFiniteNumbersThatTheyBeginWith) {
  const Tensor ids = Tensor::Vector<int32_t>({0, 0, 1});
  const auto reduce = [&](ReduceKind kind, EmptySegment empty, const Tensor& data) {
    Tensor out = Tensor::Allocate(data.dtype(), {2, 2}).value();
    EXPECT_TRUE(Make<SegmentReduce>(kind, data.dtype(), empty, SegmentOrder::kAny)
                    ->Run(ctx_, data, ids, &out)
                    .ok());
    return out;
  };
  const Tensor low = Tensor::Of<float>({3, 2}, {-kInf, -kInf, -kInf, 1, -kInf, kInf});
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_THAT(reduce(ReduceKind::kMax, EmptySegment::kLowest, low).flat<float>(),
              ElementsAre(-kMost, 1, -kMost, kInf));
  EXPECT_THAT(reduce(ReduceKind::kMax, EmptySegment::kZero, low).flat<float>(),
              ElementsAre(-kInf, 1, -kInf, kInf));
  const auto infinity = std::numeric_limits<Eigen::half>::infinity(), most = Eigen::half(65504);
  const Tensor high = Tensor::Of<Eigen::half>(
      {3, 2}, {infinity, infinity, infinity, Eigen::half(2), infinity, -infinity});
  EXPECT_THAT(reduce(ReduceKind::kMin, EmptySegment::kHighest, high).flat<Eigen::half>(),
              ElementsAre(most, Eigen::half(2), most, -infinity));
}

TEST_F(ReductionsTest, ASegmentNumberBeyondTheLastIsRefusedUnlessItsRowIsEmpty) {
  const auto sum =
      Make<SegmentReduce>(ReduceKind::kSum, DType::kFloat, EmptySegment::kZero, SegmentOrder::kAny);
  const Tensor ids = Tensor::Vector<int32_t>({2});
  Tensor out = Tensor::Allocate(DType::kFloat, {2, 1}).value();
  const absl::Status status = sum->Run(ctx_, Tensor::Of<float>({1, 1}, {5}), ids, &out);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("segment number 2"));
  Tensor empty = Tensor::Allocate(DType::kFloat, {2, 0}).value();
  EXPECT_TRUE(sum->Run(ctx_, Tensor::Of<float>({1, 0}, {}), ids, &empty).ok());
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
