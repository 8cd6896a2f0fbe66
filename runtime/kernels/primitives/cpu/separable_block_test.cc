#include "runtime/kernels/primitives/cpu/separable_block.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

struct Geometry {
  int64_t batch = 1, height = 9, width = 11, filter = 3, stride = 1, dilation = 1, pad = 1;
  int64_t in_channels = 24, channels = 70, out_channels = 40;
  bool expands = true, adds_input = false;
  Activation inner = Activation::kRelu6, last = Activation::kNone;

  SeparableBlockShape Block() const {
    SeparableBlockShape block{.in_channels = in_channels,
                              .out_channels = adds_input ? in_channels : out_channels,
                              .expands = expands,
                              .adds_input = adds_input};
    ConvolutionShape& d = block.depthwise;
    d.batch = batch;
    d.in_channels = d.out_channels = d.groups = expands ? channels : in_channels;
    d.input = {height, width};
    d.filter = {filter, filter};
    d.strides = {stride, stride};
    d.dilations = {dilation, dilation};
    d.pad_before = {pad, pad};
    d.pad_after = {pad, pad};
    for (const int64_t input : d.input) {
      d.output.push_back((input + 2 * pad - (filter - 1) * dilation - 1) / stride + 1);
    }
    return block;
  }
};

Tensor AsFloats(const std::vector<double>& values, const Shape& shape) {
  Tensor tensor = Tensor::Allocate(DType::kFloat, shape).value();
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

Tensor ExactPointwise(const ConvolutionShape& like, const SpatialDims& size, const Tensor& input,
                      const SeparableLayer& layer, const Tensor* addend) {
  ConvolutionShape s;
  s.batch = like.batch;
  s.in_channels = layer.filter->dim(2);
  s.out_channels = layer.filter->dim(3);
  s.input = s.output = size;
  s.filter = s.strides = s.dilations = {1, 1};
  s.pad_before = s.pad_after = {0, 0};
  const Shape shape = {s.batch, size[0], size[1], s.out_channels};
  const PostOps post_ops{.bias = true, .add = addend != nullptr, .activation = layer.activation};
  const Tensor before = addend ? *addend : RandomTensor(shape, 9);
  return AsFloats(ReferenceConvolution(s, post_ops, input, *layer.filter, *layer.bias, before),
                  shape);
}

// Computes the depthwise convolution as a dense one with diagonal matrices.
Tensor ExactDepthwise(ConvolutionShape s, const Tensor& input, const SeparableLayer& layer) {
  const int64_t channels = s.in_channels, positions = s.filter[0] * s.filter[1];
  Tensor dense =
      Tensor::Zeros(DType::kFloat, {s.filter[0], s.filter[1], channels, channels}).value();
  for (int64_t i = 0; i < positions * channels; ++i) {
    dense.data<float>()[i * channels + i % channels] = layer.filter->data<float>()[i];
  }
  const Shape shape = {s.batch, s.output[0], s.output[1], channels};
  s.groups = 1;
  const PostOps post_ops{.bias = true, .activation = layer.activation};
  return AsFloats(
      ReferenceConvolution(s, post_ops, input, dense, *layer.bias, RandomTensor(shape, 9)), shape);
}

class SeparableBlockTest : public ::testing::Test {
 protected:
  void ExpectExact(const Geometry& g) {
    SCOPED_TRACE(testing::Message()
                 << g.batch << " images of " << g.height << "x" << g.width << ", filter "
                 << g.filter << ", stride " << g.stride << ", dilation " << g.dilation
                 << ", padding " << g.pad << ", channels " << g.in_channels << ", " << g.channels
                 << ", " << g.out_channels << (g.expands ? ", expands" : "")
                 << (g.adds_input ? ", adds" : ""));
    const SeparableBlockShape block = g.Block();
    const ConvolutionShape& d = block.depthwise;
    const Tensor input = RandomTensor({g.batch, g.height, g.width, g.in_channels}, 1);
    const Tensor filters[] = {RandomTensor({1, 1, g.in_channels, d.in_channels}, 2),
                              RandomTensor({g.filter, g.filter, d.in_channels, 1}, 3),
                              RandomTensor({1, 1, d.in_channels, block.out_channels}, 4)};
    const Tensor biases[] = {RandomTensor({d.in_channels}, 5), RandomTensor({d.in_channels}, 6),
                             RandomTensor({block.out_channels}, 7)};
    PackedWeights packed[3];
    SeparableLayer layers[3];
    for (int i = 0; i < 3; ++i) layers[i] = {&filters[i], &biases[i], g.inner};
    layers[2].activation = g.last;
    Tensor output = RandomTensor({g.batch, d.output[0], d.output[1], block.out_channels}, 8);
    KernelContext ctx(step_, nullptr);
    ASSERT_EQ(ComputeSeparableBlock(ctx, block, {layers[0], layers[1], layers[2]},
                                    {&packed[0], &packed[1], &packed[2]}, input.data<float>(),
                                    output.data<float>()),
              absl::OkStatus());

    Tensor expected = g.expands ? ExactPointwise(d, d.input, input, layers[0], nullptr) : input;
    expected = ExactDepthwise(d, expected, layers[1]);
    expected = ExactPointwise(d, d.output, expected, layers[2], g.adds_input ? &input : nullptr);
    ASSERT_EQ(expected.shape().ToString(), output.shape().ToString());
    for (int64_t i = 0; i < output.num_elements(); ++i) {
      ASSERT_NEAR(output.data<float>()[i], expected.data<float>()[i], 3e-4) << "at " << i;
    }
  }

  StepContext step_;
};

TEST_F(SeparableBlockTest, OfEachWindow) {
  for (const bool expands : {true, false}) {
    for (const int64_t filter : {1, 2, 3, 5}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (const int64_t pad : {0, 1, 3}) {
          ExpectExact({.filter = filter, .stride = stride, .pad = pad, .expands = expands});
        }
      }
    }
    ExpectExact({.dilation = 2, .pad = 2, .expands = expands});
    ExpectExact({.stride = 2, .dilation = 3, .pad = 1, .expands = expands});
  }
}

TEST_F(SeparableBlockTest, OfEachNumberOfChannels) {
  for (const int64_t channels : {1, 16, 17, 47, 48, 49, 80, 96, 160}) {
    ExpectExact({.height = 5, .in_channels = 5, .channels = channels, .out_channels = 7});
    ExpectExact({.height = 5, .in_channels = channels, .channels = 9, .out_channels = channels});
    ExpectExact({.height = 5, .in_channels = channels, .out_channels = 3, .expands = false});
  }
}

TEST_F(SeparableBlockTest, AddsItsInput) {
  for (const Activation last : {Activation::kNone, Activation::kRelu, Activation::kRelu6}) {
    ExpectExact({.adds_input = true, .inner = Activation::kRelu, .last = last});
    ExpectExact({.expands = false, .adds_input = true, .inner = Activation::kNone, .last = last});
  }
}

TEST_F(SeparableBlockTest, OfImagesOfManyBands) {
  ExpectExact({.batch = 2, .height = 40, .width = 60});
  ExpectExact({.batch = 3, .height = 41, .width = 13, .stride = 2});
  ExpectExact({.height = 1, .width = 1});
}

TEST_F(SeparableBlockTest, OnThreadsThatShareRows) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  step_.intra_op_pool = &pool;
  ExpectExact({.height = 60, .width = 30, .adds_input = true});
  ExpectExact({.batch = 5, .height = 20, .width = 20, .stride = 2});
  ExpectExact({.batch = 4, .height = 20, .width = 20, .expands = false});
}

TEST_F(SeparableBlockTest, OnThreadsThatSharePanels) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  step_.intra_op_pool = &pool;
  for (const Activation last : {Activation::kNone, Activation::kRelu6}) {
    const Geometry seven{.height = 7,
                         .width = 7,
                         .in_channels = 80,
                         .channels = 600,
                         .out_channels = 90,
                         .last = last};
    ExpectExact(seven);
    Geometry adds = seven;
    adds.adds_input = true;
    ExpectExact(adds);
  }
}

// The zeros that pad panels must not turn into NaN.
TEST_F(SeparableBlockTest, InfinitiesAndNaNsGoWhereTheyShould) {
  const Geometry g{.height = 8, .width = 8, .in_channels = 3, .channels = 5, .out_channels = 2};
  const SeparableBlockShape block = g.Block();
  Tensor input = RandomTensor({1, 8, 8, 3}, 1);
  input.data<float>()[(3 * 8 + 4) * 3] = std::numeric_limits<float>::quiet_NaN();
  const Tensor expand = RandomTensor({1, 1, 3, 5}, 2), depthwise = RandomTensor({3, 3, 5, 1}, 3);
  const Tensor project = RandomTensor({1, 1, 5, 2}, 4), bias = RandomTensor({5}, 5);
  const Tensor last_bias = RandomTensor({2}, 6);
  PackedWeights packed[3];
  Tensor output = RandomTensor({1, 8, 8, 2}, 7);
  KernelContext ctx(step_, nullptr);
  const Activation clamp = Activation::kRelu6;
  ASSERT_TRUE(ComputeSeparableBlock(ctx, block,
                                    {.expand = {&expand, &bias, clamp},
                                     .depthwise = {&depthwise, &bias, clamp},
                                     .project = {&project, &last_bias, clamp}},
                                    {&packed[0], &packed[1], &packed[2]}, input.data<float>(),
                                    output.data<float>())
                  .ok());
  for (int64_t y = 0; y < 8; ++y) {
    for (int64_t x = 0; x < 8; ++x) {
      const bool sees_it = std::abs(y - 3) <= 1 && std::abs(x - 4) <= 1;
      EXPECT_EQ(std::isnan(output.data<float>()[(y * 8 + x) * 2]), sees_it) << y << ", " << x;
    }
  }
}

}  // namespace
}  // namespace tessera
