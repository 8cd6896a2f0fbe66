#include "runtime/kernels/primitives/cpu/winograd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

ConvolutionShape Same3x3(int64_t batch, int64_t height, int64_t width, int64_t in, int64_t out) {
  ConvolutionShape shape;
  shape.batch = batch;
  shape.in_channels = in;
  shape.out_channels = out;
  shape.input = shape.output = {height, width};
  shape.filter = {3, 3};
  shape.strides = shape.dilations = shape.pad_before = shape.pad_after = {1, 1};
  return shape;
}

// The fallback of filters that must have a transform.
absl::Status ComputeNone() { return absl::InternalError("the filter was left over"); }

void ExpectAsDirect(const ConvolutionShape& s, int output_tile, PostOps post_ops,
                    ThreadPool* pool) {
  const Tensor input = RandomTensor({s.batch, s.input[0], s.input[1], s.in_channels}, 1);
  const Tensor filter = RandomTensor({3, 3, s.in_channels, s.out_channels}, 2);
  const Tensor bias = RandomTensor({s.out_channels}, 3);
  Tensor output = RandomTensor({s.batch, s.output[0], s.output[1], s.out_channels}, 4);
  const Tensor before = output.DeepCopy().value();
  StepContext step;
  step.intra_op_pool = pool;
  KernelContext ctx(step, nullptr);
  PackedWeights packed;
  ASSERT_TRUE(ConvolveWinograd(ctx, s, output_tile, post_ops, input.data<float>(), filter,
                               post_ops.bias ? &bias : nullptr, &packed, output.data<float>(),
                               ComputeNone)
                  .ok());
  const std::vector<double> expected =
      ReferenceConvolution(s, post_ops, input, filter, bias, before);
  double largest = 0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (int64_t i = 0; i < output.num_elements(); ++i) {
    ASSERT_NEAR(output.flat<float>()[i], expected[i], 5e-6 * largest) << "at " << i;
  }
}

void ExpectAsDirect(const ConvolutionShape& s, PostOps post_ops, ThreadPool* pool) {
  ASSERT_TRUE(WinogradSupports(s, post_ops.activation));
  for (const int output_tile : {2, 4}) {
    SCOPED_TRACE(output_tile);
    ExpectAsDirect(s, output_tile, post_ops, pool);
  }
}

TEST(WinogradTest, GivesTheDirectSumForWholeAndPartialTiles) {
  ExpectAsDirect(Same3x3(1, 8, 8, 32, 32), PostOps(), nullptr);
  ExpectAsDirect(Same3x3(2, 7, 5, 32, 48), PostOps(), nullptr);
}

TEST(WinogradTest, AddsBiasAndOutputAndClamps) {
  for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kRelu6}) {
    ExpectAsDirect(Same3x3(1, 6, 9, 32, 32), {.bias = true, .add = true, .activation = activation},
                   nullptr);
  }
}

TEST(WinogradTest, WithoutPaddingAndOnThreads) {
  ConvolutionShape shape = Same3x3(3, 17, 18, 64, 32);
  shape.pad_before = shape.pad_after = {0, 0};
  shape.output = {15, 16};
  ThreadPool pool({.name = "test", .num_threads = 3});
  ExpectAsDirect(shape, {.bias = true}, &pool);
}

TEST(WinogradTest, DilatedFilters) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (const int64_t dilation : {2, 3, 12}) {
    ConvolutionShape shape = Same3x3(2, 17, 10, 32, 32);
    shape.dilations = shape.pad_before = shape.pad_after = {dilation, 2};
    ExpectAsDirect(shape, {.bias = true, .add = true}, &pool);
  }
}

TEST(WinogradTest, SeveralBlocksOfTiles) {
  // 1,024 tiles of 64 channels need more than one block, even for each of two threads, which get
  // tiles of their own.
  ThreadPool pool({.name = "test", .num_threads = 2});
  for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    ExpectAsDirect(Same3x3(1, 128, 128, 32, 32), {.bias = true}, threads);
  }
}

// The transforms spread such a value over its whole tile, but only the outputs that read it may
// hold it.
void ExpectInfinitiesStay(int64_t dilation, int64_t expected_others) {
  const float infinity = std::numeric_limits<float>::infinity();
  ConvolutionShape s = Same3x3(2, 9, 11, 32, 48);
  s.dilations = s.pad_before = s.pad_after = {dilation, dilation};
  const PostOps post_ops = {.bias = true, .add = true};
  const Tensor input = RandomTensor({2, 9, 11, 32}, 1), filter = RandomTensor({3, 3, 32, 48}, 2);
  const Tensor bias = RandomTensor({48}, 3), before = RandomTensor({2, 9, 11, 48}, 4);
  Tensor bad = input.DeepCopy().value(), output = before.DeepCopy().value();
  bad.flat<float>()[((0 * 9 + 1) * 11 + 2) * 32 + 5] = infinity;
  bad.flat<float>()[((0 * 9 + 8) * 11 + 0) * 32 + 31] = -infinity;
  bad.flat<float>()[((1 * 9 + 4) * 11 + 10) * 32] = std::nanf("");
  StepContext step;
  KernelContext ctx(step, nullptr);
  PackedWeights packed;
  ASSERT_TRUE(ConvolveWinograd(ctx, s, 4, post_ops, bad.data<float>(), filter, &bias, &packed,
                               output.data<float>(), ComputeNone)
                  .ok());
  const std::vector<double> expected = ReferenceConvolution(s, post_ops, bad, filter, bias, before);
  int64_t others = 0;
  for (int64_t i = 0; i < output.num_elements(); ++i) {
    const float actual = output.flat<float>()[i];
    if (std::isfinite(expected[i])) {
      ASSERT_NEAR(actual, expected[i], 1e-3) << "at " << i;
      continue;
    }
    ++others;
    ASSERT_TRUE(std::isnan(expected[i]) ? std::isnan(actual) : actual == expected[i])
        << "at " << i << ": " << actual << ", not " << expected[i];
  }
  EXPECT_EQ(others, expected_others * 48);
}

TEST(WinogradTest, InfinitiesAndNaNsStayWhereTheyBelong) {
  ExpectInfinitiesStay(/*dilation=*/1, 9 + 4 + 6);
  ExpectInfinitiesStay(/*dilation=*/2, 6 + 4 + 6);
}

TEST(WinogradTest, SupportsOnlyWhatItsTransformsCover) {
  EXPECT_TRUE(WinogradSupports(Same3x3(1, 56, 56, 64, 64), Activation::kRelu6));
  EXPECT_FALSE(WinogradSupports(Same3x3(1, 56, 56, 64, 64), Activation::kTanh));
  EXPECT_FALSE(WinogradSupports(Same3x3(1, 56, 56, 60, 64), Activation::kNone));
  ConvolutionShape strided = Same3x3(1, 56, 56, 64, 64);
  strided.strides = {2, 2};
  EXPECT_FALSE(WinogradSupports(strided, Activation::kNone));
  ConvolutionShape dilated = Same3x3(1, 56, 56, 64, 64);
  dilated.dilations = {56, 2};
  EXPECT_TRUE(WinogradSupports(dilated, Activation::kNone));
  dilated.dilations = {1, int64_t{1} << 60};
  EXPECT_FALSE(WinogradSupports(dilated, Activation::kNone)) << "the tiles cannot be counted";
}

}  // namespace
}  // namespace tessera
