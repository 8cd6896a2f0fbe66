// Convolutions that end in an activation, by whatever algorithm the planner chooses for them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/cpu/testing/kernel_product.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

struct Geometry {
  int64_t batch = 1, size = 0, filter = 3, stride = 1, in = 0, out = 0, groups = 1;
};

ConvolutionShape Same(const Geometry& g) {
  const int64_t output = (g.size + g.stride - 1) / g.stride;
  const int64_t pad = std::max<int64_t>(0, (output - 1) * g.stride + g.filter - g.size);
  ConvolutionShape shape;
  shape.batch = g.batch;
  shape.in_channels = g.in;
  shape.out_channels = g.out;
  shape.groups = g.groups;
  shape.input = {g.size, g.size};
  shape.filter = {g.filter, g.filter};
  shape.output = {output, output};
  shape.strides = {g.stride, g.stride};
  shape.dilations = {1, 1};
  shape.pad_before = {pad / 2, pad / 2};
  shape.pad_after = {pad - pad / 2, pad - pad / 2};
  return shape;
}

// The output of the convolutions that are marked exceeds the part of the cache that a chunk may
// take.
const Geometry kGeometries[] = {
    {.size = 57, .in = 96, .out = 96, .groups = 96},  // several chunks
    {.size = 15, .filter = 5, .stride = 2, .in = 40, .out = 40, .groups = 40},
    {.batch = 2, .size = 56, .filter = 1, .in = 16, .out = 96},  // several chunks
    {.size = 7, .filter = 1, .in = 200, .out = 320},             // blocked GEMM
    {.size = 1, .filter = 1, .in = 48, .out = 20},
    {.size = 33, .stride = 2, .in = 3, .out = 32},
    {.size = 28, .in = 32, .out = 64},  // Winograd
};

class ConvolutionActivationTest : public ::testing::TestWithParam<Activation> {
 protected:
  static Tensor Input(const ConvolutionShape& s) {
    return RandomTensor({s.batch, s.input[0], s.input[1], s.in_channels}, 1);
  }
  static Tensor Filter(const ConvolutionShape& s) {
    return RandomTensor({s.filter[0], s.filter[1], s.in_channels / s.groups, s.out_channels}, 2);
  }
};

TEST_P(ConvolutionActivationTest, IsThatOfTheSum) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (const Geometry& geometry : kGeometries) {
    SCOPED_TRACE(&geometry - kGeometries);
    const ConvolutionShape shape = Same(geometry);
    const Tensor input = Input(shape), filter = Filter(shape);
    const Tensor bias = RandomTensor({shape.out_channels}, 3);
    const Tensor before =
        RandomTensor({shape.batch, shape.output[0], shape.output[1], shape.out_channels}, 4);
    for (const bool add : {false, true}) {
      const PostOps post_ops{.bias = true, .add = add, .activation = GetParam(), .alpha = 0.25f};
      const std::vector<double> expected =
          ReferenceConvolution(shape, post_ops, input, filter, bias, before);
      double largest = 0;
      for (const double x : expected) largest = std::max(largest, std::abs(x));
      for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
        KernelConvolution convolution(filter, {.is_constant = true, .threads = threads});
        Tensor output = Tensor::Allocate(DType::kFloat, before.shape()).value();

        ASSERT_TRUE(
            convolution.Run(shape, post_ops, input, {.bias = &bias, .addend = &before}, &output)
                .ok());

        for (int64_t i = 0; i < output.num_elements(); ++i) {
          ASSERT_NEAR(output.data<float>()[i], expected[i], 1e-5 * largest) << "at " << i;
        }
      }
    }
  }
}

// Whichever algorithm computes it.
TEST_P(ConvolutionActivationTest, NaNReachesWhatItIsPartOf) {
  for (const Geometry& geometry : kGeometries) {
    const ConvolutionShape shape = Same(geometry);
    Tensor input = Input(shape);
    std::fill_n(input.data<float>(), shape.in_channels, std::numeric_limits<float>::quiet_NaN());
    const Tensor filter = Filter(shape);
    Tensor output = Tensor::Allocate(DType::kFloat, {shape.batch, shape.output[0], shape.output[1],
                                                     shape.out_channels})
                        .value();
    for (const bool is_constant : {false, true}) {
      KernelConvolution convolution(filter, {.is_constant = is_constant});
      ASSERT_TRUE(convolution.Run(shape, {.activation = GetParam()}, input, {}, &output).ok());
      for (int64_t i = 0; i < shape.out_channels; ++i) {
        EXPECT_TRUE(std::isnan(output.data<float>()[i]))
            << "channel " << i << " of size " << geometry.size << ", constant " << is_constant;
      }
    }
  }
}

TEST_P(ConvolutionActivationTest, NaNStaysNaNAndReachesNoOtherChannel) {
  const ConvolutionShape shape = Same(kGeometries[0]);
  Tensor input = Input(shape);
  const Tensor filter = Filter(shape);
  input.data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  Tensor output = Tensor::Allocate(DType::kFloat, {shape.batch, shape.output[0], shape.output[1],
                                                   shape.out_channels})
                      .value();
  KernelConvolution convolution(filter, {.is_constant = true});

  ASSERT_TRUE(convolution.Run(shape, {.activation = GetParam()}, input, {}, &output).ok());

  for (int64_t i = 0; i < output.num_elements(); ++i) {
    const int64_t point = i / shape.out_channels, channel = i % shape.out_channels;
    const int64_t row = point / shape.output[1], column = point % shape.output[1];
    EXPECT_EQ(std::isnan(output.data<float>()[i]), channel == 5 && row < 2 && column < 2)
        << "at " << i;
  }
}

// The first and last rows, or columns, of the output have no other terms than these two.
TEST(ConvolutionOfPaddingTest, IsTheBiasAndTheAddend) {
  for (const bool channels_first : {false, true}) {
    for (const int dim : {0, 1}) {
      ConvolutionShape shape;
      shape.batch = 2;
      shape.in_channels = 3;
      shape.out_channels = 4;
      shape.input = {5, 6};
      shape.filter = {1, 1};
      shape.strides = {1, 1};
      shape.dilations = {1, 1};
      shape.output = {5, 6};
      shape.pad_before = shape.pad_after = {0, 0};
      shape.pad_before[dim] = 2;
      shape.pad_after[dim] = 1;
      shape.output[dim] += 3;
      shape.channels_first = channels_first;
      const auto images = [&](const SpatialDims& size, int64_t channels) {
        return channels_first ? Shape{shape.batch, channels, size[0], size[1]}
                              : Shape{shape.batch, size[0], size[1], channels};
      };
      const Tensor filter = RandomTensor({1, 1, shape.in_channels, shape.out_channels}, 2);
      const Tensor bias = RandomTensor({shape.out_channels}, 3);
      const Tensor before = RandomTensor(images(shape.output, shape.out_channels), 4);
      KernelConvolution convolution(filter, {.is_constant = true});
      Tensor output = Tensor::Allocate(DType::kFloat, before.shape()).value();

      ASSERT_TRUE(convolution
                      .Run(shape, {.bias = true, .add = true},
                           RandomTensor(images(shape.input, shape.in_channels), 1),
                           {.bias = &bias, .addend = &before}, &output)
                      .ok());

      const int64_t plane = shape.output[0] * shape.output[1];
      for (int64_t i = 0; i < output.num_elements(); ++i) {
        const int64_t point = channels_first ? i % plane : i / shape.out_channels % plane;
        const int64_t channel =
            channels_first ? i / plane % shape.out_channels : i % shape.out_channels;
        const int64_t place[] = {point / shape.output[1], point % shape.output[1]};
        if (place[dim] >= 2 && place[dim] < 2 + shape.input[dim]) continue;
        EXPECT_FLOAT_EQ(output.data<float>()[i],
                        before.data<float>()[i] + bias.data<float>()[channel])
            << "at " << i << ", padded dimension " << dim << ", channels first " << channels_first;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConvolutionActivationTest,
                         ::testing::Values(Activation::kRelu, Activation::kRelu6,
                                           Activation::kLeakyRelu, Activation::kSigmoid,
                                           Activation::kSwish, Activation::kGeluErf));

}  // namespace
}  // namespace tessera
