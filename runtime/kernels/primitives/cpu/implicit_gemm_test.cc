#include "runtime/kernels/primitives/cpu/implicit_gemm.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/blocked_gemm.h"
#include "runtime/kernels/primitives/cpu/testing/kernel_product.h"
#include "runtime/kernels/primitives/cpu/testing/micro_kernels.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

struct Geometry {
  int64_t batch = 1, size = 12, filter = 3, stride = 1, dilation = 1, pad = 1;
  int64_t in_channels = 40, out_channels = 50;
  // The height and width differ, so that a mix-up is noticed.
  int64_t wider = 3;

  ConvolutionShape Shape() const {
    ConvolutionShape shape;
    shape.batch = batch;
    shape.in_channels = in_channels;
    shape.out_channels = out_channels;
    shape.input = {size, size + wider};
    shape.filter = {filter, filter};
    shape.strides = {stride, stride};
    shape.dilations = {dilation, dilation};
    shape.pad_before = {pad, pad};
    shape.pad_after = {pad, pad};
    for (const int64_t input : shape.input) {
      shape.output.push_back((input + 2 * pad - (filter - 1) * dilation - 1) / stride + 1);
    }
    return shape;
  }
};

class ImplicitGemmTest : public ::testing::TestWithParam<TestedMicroKernel> {
 protected:
  void SetUp() override {
    if (!GetParam().is_supported()) GTEST_SKIP() << "needs " << GetParam().instructions;
  }

  const gemm::MicroKernel& kernel() const { return GetParam().kernel(); }

  void ExpectExact(const Geometry& g, const PostOps& post_ops = {.bias = true}) {
    const ConvolutionShape s = g.Shape();
    SCOPED_TRACE(testing::Message()
                 << g.batch << " images of " << g.size << ", filter " << g.filter << ", stride "
                 << g.stride << ", dilation " << g.dilation << ", padding " << g.pad);
    const Tensor input = RandomTensor({s.batch, s.input[0], s.input[1], s.in_channels}, 1);
    const Tensor filter =
        RandomTensor({s.filter[0], s.filter[1], s.in_channels, s.out_channels}, 2);
    const Tensor bias = RandomTensor({s.out_channels}, 3);
    Tensor output = RandomTensor({s.batch, s.output[0], s.output[1], s.out_channels}, 4);
    const Tensor before = output.DeepCopy().value();
    KernelContext ctx(step_, nullptr);
    PackedWeights packed;
    const auto compute_none = [](KernelContext&, int64_t, int64_t) {
      return absl::InternalError("images were left over");
    };
    ASSERT_EQ(ConvolveByImplicitGemm(ctx, kernel(), s, post_ops, input.data<float>(), filter,
                                     post_ops.bias ? bias.data<float>() : nullptr, &packed,
                                     output.data<float>(), compute_none),
              absl::OkStatus());
    const std::vector<double> expected =
        ReferenceConvolution(s, post_ops, input, filter, bias, before);
    ASSERT_EQ(expected.size(), output.num_elements());
    const double scale = g.filter * std::sqrt(g.in_channels);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(output.data<float>()[i], expected[i], 4e-6 * scale) << "at " << i;
    }
  }

  StepContext step_;
};

TEST_P(ImplicitGemmTest, OfEachGeometry) {
  for (const int64_t filter : {1, 2, 3, 5}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t dilation : {1, 2}) {
        for (const int64_t pad : {0, 2}) {
          ExpectExact({.filter = filter, .stride = stride, .dilation = dilation, .pad = pad});
        }
      }
    }
  }
}

TEST_P(ImplicitGemmTest, OfSeveralImagesAndWholeBlocks) {
  ExpectExact({.batch = 3, .size = 7, .in_channels = 64, .out_channels = 64});
  ExpectExact({.batch = 3, .size = 9, .stride = 2, .in_channels = 32, .out_channels = 32});
}

TEST_P(ImplicitGemmTest, OfMoreImagesThanTheCacheHolds) {
  ExpectExact({.batch = 5, .size = 30, .in_channels = 96, .out_channels = 33});
}

TEST_P(ImplicitGemmTest, OfSinglePoints) {
  ExpectExact({.batch = 70, .size = 1, .filter = 1, .pad = 0, .wider = 0});
  // The only output reads nothing but padding.
  ExpectExact({.batch = 70, .size = 1, .filter = 1, .stride = 3, .pad = 1, .wider = 0});
}

TEST_P(ImplicitGemmTest, AddsAndActivates) {
  ExpectExact({}, {.bias = true, .add = true, .activation = Activation::kRelu6});
  ExpectExact({.filter = 1, .stride = 2, .pad = 0}, {.add = true, .activation = Activation::kTanh});
}

TEST_P(ImplicitGemmTest, OnThreads) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  step_.intra_op_pool = &pool;
  ExpectExact({.batch = 2, .size = 20, .out_channels = 64});
  ExpectExact({.size = 7, .in_channels = 160, .out_channels = 256});
  ExpectExact({.batch = 7, .size = 13, .out_channels = 64});
}

INSTANTIATE_TEST_SUITE_P(Kernels, ImplicitGemmTest, ::testing::ValuesIn(kTestedMicroKernels),
                         NameOfMicroKernel);

// This test also holds without AMX. The number of images decides which algorithm is fastest, and so
// how the filter is packed.
TEST(ConvolutionTest, OneFilterForAnyNumberOfImages) {
  const int64_t channels = 64;
  const Tensor filter = RandomTensor({3, 3, channels, channels}, 2);
  KernelConvolution convolution(filter, {.is_constant = true});
  for (const int64_t batch : {1, 32, 8, 1, 100, 2}) {
    SCOPED_TRACE(batch);
    const ConvolutionShape s = Geometry{.batch = batch,
                                        .size = 4,
                                        .in_channels = channels,
                                        .out_channels = channels,
                                        .wider = 0}
                                   .Shape();
    const Tensor input = RandomTensor({batch, 4, 4, channels}, 1);
    Tensor output = RandomTensor({batch, 4, 4, channels}, 4);
    ASSERT_TRUE(convolution.Run(s, PostOps(), input, {}, &output).ok());
    const std::vector<double> expected =
        ReferenceConvolution(s, PostOps(), input, filter, RandomTensor({channels}, 3), output);
    double largest = 0;
    for (const double x : expected) largest = std::max(largest, std::abs(x));
    for (size_t i = 0; i < expected.size(); ++i) {
      // The bound of winograd.h.
      ASSERT_NEAR(output.data<float>()[i], expected[i], 5e-6 * largest) << "at " << i;
    }
  }
}

// This test also holds without AMX. An infinity reaches the outputs that read it, and no others.
TEST(ConvolutionTest, AnInfinityInTheThirdImage) {
  const ConvolutionShape s =
      Geometry{.batch = 4, .size = 30, .in_channels = 64, .out_channels = 96}.Shape();
  Tensor input = RandomTensor({s.batch, s.input[0], s.input[1], s.in_channels}, 1);
  input.data<float>()[(2 * s.input[0] + 5) * s.input[1] * s.in_channels] =
      std::numeric_limits<float>::infinity();
  const Tensor filter = RandomTensor({3, 3, s.in_channels, s.out_channels}, 2);
  const Tensor bias = RandomTensor({s.out_channels}, 3);
  const Tensor before = RandomTensor({s.batch, s.output[0], s.output[1], s.out_channels}, 4);
  Tensor output = Tensor::Allocate(DType::kFloat, before.shape()).value();
  KernelConvolution convolution(filter, {.is_constant = true});
  // Winograd's convolution does not take a tanh.
  const PostOps post_ops{.bias = true, .add = true, .activation = Activation::kTanh};
  ASSERT_TRUE(
      convolution.Run(s, post_ops, input, {.bias = &bias, .addend = &before}, &output).ok());
  const std::vector<double> expected =
      ReferenceConvolution(s, post_ops, input, filter, bias, before);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(output.data<float>()[i], expected[i], 1e-4) << "at " << i;
  }
}

}  // namespace
}  // namespace tessera
