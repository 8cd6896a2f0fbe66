#include "runtime/kernels/cpu/winograd.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

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

Tensor Random(const Shape& shape, int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor tensor = Tensor::Allocate(DType::kFloat, shape).value();
  for (float& x : tensor.flat<float>()) x = normal(random);
  return tensor;
}

// The sum of taps at one output, in double.
double Direct(const ConvolutionShape& s, const Tensor& input, const Tensor& filter, int64_t image,
              int64_t row, int64_t column, int64_t channel) {
  double sum = 0;
  for (int64_t tap = 0; tap < 9; ++tap) {
    const int64_t y = row - s.pad_before[0] + tap / 3, x = column - s.pad_before[1] + tap % 3;
    if (y < 0 || y >= s.input[0] || x < 0 || x >= s.input[1]) continue;
    for (int64_t c = 0; c < s.in_channels; ++c) {
      sum +=
          double{input.flat<float>()[((image * s.input[0] + y) * s.input[1] + x) * s.in_channels +
                                     c]} *
          filter.flat<float>()[(tap * s.in_channels + c) * s.out_channels + channel];
    }
  }
  return sum;
}

void ExpectAsDirect(const ConvolutionShape& s, PostOps post_ops, ThreadPool* pool) {
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "Winograd needs AVX-512";
  const Tensor input = Random({s.batch, s.input[0], s.input[1], s.in_channels}, 1);
  const Tensor filter = Random({3, 3, s.in_channels, s.out_channels}, 2);
  const Tensor bias = Random({s.out_channels}, 3);
  Tensor output = Random({s.batch, s.output[0], s.output[1], s.out_channels}, 4);
  const Tensor before = output.DeepCopy().value();
  StepContext step;
  step.intra_op_pool = pool;
  KernelContext ctx(step, nullptr);
  PackedWeights packed;
  ASSERT_TRUE(ConvolveWinograd(ctx, s, post_ops, input.data<float>(), filter,
                               post_ops.bias ? &bias : nullptr, &packed, output.data<float>())
                  .ok());
  const double scale = std::sqrt(9.0 * s.in_channels);
  for (int64_t i = 0; i < output.num_elements(); ++i) {
    const int64_t channel = i % s.out_channels, point = i / s.out_channels;
    const int64_t column = point % s.output[1], row = point / s.output[1] % s.output[0];
    double expected =
        Direct(s, input, filter, point / (s.output[0] * s.output[1]), row, column, channel);
    if (post_ops.bias) expected += bias.flat<float>()[channel];
    if (post_ops.add) expected += before.flat<float>()[i];
    expected = Apply(post_ops.activation, 0, expected);
    ASSERT_NEAR(output.flat<float>()[i], expected, 3e-5 * scale) << "at " << i;
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

TEST(WinogradTest, SeveralBlocksOfTiles) {
  // 1,024 tiles of 64 channels are more than one block.
  ExpectAsDirect(Same3x3(1, 128, 128, 32, 32), {.bias = true}, nullptr);
}

TEST(WinogradTest, PaysOnlyWhereItApplies) {
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "Winograd needs AVX-512";
  EXPECT_TRUE(WinogradPays(Same3x3(1, 56, 56, 64, 64), PostOps()));
  EXPECT_FALSE(WinogradPays(Same3x3(1, 7, 7, 512, 512), PostOps()))
      << "reading filters takes longer";
  EXPECT_TRUE(WinogradPays(Same3x3(32, 7, 7, 512, 512), PostOps()));
  EXPECT_FALSE(WinogradPays(Same3x3(1, 56, 56, 64, 64), {.activation = Activation::kTanh}));
  ConvolutionShape strided = Same3x3(1, 56, 56, 64, 64);
  strided.strides = {2, 2};
  EXPECT_FALSE(WinogradPays(strided, PostOps()));
  EXPECT_FALSE(WinogradPays(Same3x3(1, 56, 56, 60, 64), PostOps()));
}

}  // namespace
}  // namespace tessera
