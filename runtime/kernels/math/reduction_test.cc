#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

Tensor Iota(DType dtype, const Shape& shape) {
  Tensor t = Tensor::Allocate(dtype, shape).value();
  if (dtype == DType::kFloat) std::iota(t.flat<float>().begin(), t.flat<float>().end(), 1.f);
  if (dtype == DType::kInt32) std::iota(t.flat<int32_t>().begin(), t.flat<int32_t>().end(), 1);
  return t;
}

// The sum over `axes` by its definition.
std::vector<int32_t> SumByDefinition(const Tensor& x, const std::vector<bool>& reduced) {
  Shape kept;
  for (int d = 0; d < x.rank(); ++d) kept.AddDim(reduced[d] ? 1 : x.dim(d));
  std::vector<int32_t> sums(kept.num_elements());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    int64_t rest = i, out = 0, stride = 1;
    for (int d = x.rank() - 1; d >= 0; --d) {
      const int64_t index = rest % x.dim(d);
      rest /= x.dim(d);
      if (!reduced[d]) out += index * stride;
      stride *= kept.dim(d);
    }
    sums[out] += x.flat<int32_t>()[i];
  }
  return sums;
}

TEST(ReductionTest, SumsOverEverySetOfAxes) {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 5}, Shape{2, 3, 4}, Shape{2, 1, 3, 70},
                             Shape{3, 2, 2, 2, 3}, Shape{1500, 3}, Shape{2, 1100}}) {
    const Tensor x = Iota(DType::kInt32, shape);
    for (int mask = 0; mask < 1 << shape.rank(); ++mask) {
      std::vector<bool> reduced;
      std::vector<int32_t> axes;
      for (int d = 0; d < shape.rank(); ++d) {
        reduced.push_back((mask >> d & 1) != 0);
        if (reduced.back()) axes.push_back(d);
      }
      const Tensor sums =
          RunOp("Sum", {x, Tensor::Vector<int32_t>(axes)}, {{"keep_dims", true}}).value();
      EXPECT_EQ(std::vector<int32_t>(sums.flat<int32_t>().begin(), sums.flat<int32_t>().end()),
                SumByDefinition(x, reduced))
          << shape.ToString() << " mask " << mask;
    }
  }
}

TEST(ReductionTest, LongSumsStayPreciseOnAnyNumberOfThreads) {
  ThreadPool pool({.num_threads = 3});
  std::mt19937 random(1);
  for (const Shape& shape : {Shape{3000001, 1}, Shape{300001, 7}}) {
    Tensor x = Tensor::Allocate(DType::kFloat, shape).value();
    std::vector<double> exact(shape.dim(1));
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      x.flat<float>()[i] = std::uniform_real_distribution<float>(0, 1)(random);
      exact[i % exact.size()] += x.flat<float>()[i];
    }
    const Tensor axis = Tensor::Scalar<int32_t>(0);
    const Tensor parallel = RunOp("Sum", {x, axis}, {}, &pool).value();
    const Tensor single = RunOp("Sum", {x, axis}).value();
    for (size_t c = 0; c < exact.size(); ++c) {
      EXPECT_NEAR(single.flat<float>()[c] / exact[c], 1, 1e-6);
      EXPECT_EQ(single.flat<float>()[c], parallel.flat<float>()[c]);
    }
  }
}

// Otherwise the deviation of a constant row from its mean is not 0.
TEST(ReductionTest, TheMeanOfAFewEqualNumbersIsExactForPowersOfTwo) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> any(-1000, 1000);
  const Tensor axis = Tensor::Scalar<int32_t>(1);
  for (int64_t length = 1; length <= 64; length *= 2) {
    for (int i = 0; i < 100; ++i) {
      const float value = any(random);
      Tensor row = Tensor::Allocate(DType::kFloat, {1, length}).value();
      std::fill_n(row.data<float>(), length, value);
      EXPECT_EQ(RunOp("Mean", {row, axis}).value().flat<float>()[0], value) << length;
    }
  }
}

TEST(ReductionTest, NarrowFloatsAccumulateInFloat) {
  Tensor x = Tensor::Allocate(DType::kBfloat16, {2000, 2}).value();
  for (auto& v : x.flat<Eigen::bfloat16>()) v = Eigen::bfloat16(1.f);
  const Tensor sum = RunOp("Sum", {x, Tensor::Scalar<int32_t>(0)}).value();
  EXPECT_EQ(static_cast<float>(sum.flat<Eigen::bfloat16>()[1]), 2000);
  const Tensor mean = RunOp("Mean", {x, Tensor::Vector<int32_t>({0, 1})}).value();
  EXPECT_EQ(static_cast<float>(mean.scalar<Eigen::bfloat16>()), 1);
}

TEST(ReductionTest, OfNothingTheNeutralElementIsLeft) {
  const Tensor x = Iota(DType::kFloat, {0, 2});
  const Tensor axis = Tensor::Scalar<int32_t>(0);
  EXPECT_EQ(RunOp("Sum", {x, axis})->flat<float>()[1], 0);
  EXPECT_EQ(RunOp("Prod", {x, axis})->flat<float>()[1], 1);
  EXPECT_EQ(RunOp("Max", {x, axis})->flat<float>()[1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(RunOp("Mean", {x, axis})->flat<float>()[1]));
  EXPECT_TRUE(RunOp("All", {Tensor::Vector<bool>({}), axis})->scalar<bool>());
  EXPECT_FALSE(RunOp("Any", {Tensor::Vector<bool>({}), axis})->scalar<bool>());
  EXPECT_EQ(RunOp("Sum", {x, Tensor::Scalar<int32_t>(1)})->shape(), Shape({0}));
}

TEST(ReductionTest, ExtremesHandOnNaN) {
  for (int64_t n : {3, 500}) {
    Tensor x = Iota(DType::kFloat, {n});
    x.flat<float>()[1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(RunOp("Max", {x, Tensor::Scalar<int32_t>(0)})->scalar<float>())) << n;
    EXPECT_TRUE(std::isnan(RunOp("Min", {x, Tensor::Scalar<int32_t>(0)})->scalar<float>())) << n;
  }
}

TEST(ReductionTest, NegativeAxesCountFromTheEnd) {
  const Tensor x = Iota(DType::kFloat, {2, 3});
  const Tensor sum = RunOp("Sum", {x, Tensor::Scalar<int64_t>(-1)}).value();
  EXPECT_EQ(sum.shape(), Shape({2}));
  EXPECT_EQ(sum.flat<float>()[1], 15);
}

TEST(ReductionTest, BadAxesAreRefused) {
  const Tensor x = Iota(DType::kFloat, {2, 3});
  for (const Tensor& axes : {Tensor::Scalar<int32_t>(2), Tensor::Scalar<int32_t>(-3),
                             Tensor::Vector<int32_t>({0, -2})}) {
    EXPECT_EQ(RunOp("Sum", {x, axes}).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tessera
