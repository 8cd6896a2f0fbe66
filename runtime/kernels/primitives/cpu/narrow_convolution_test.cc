// Convolutions of half and bfloat16.
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/testing/kernel_product.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

ConvolutionShape Shape2D(int64_t groups, int64_t stride, int64_t dilation) {
  ConvolutionShape shape;
  shape.batch = 2;
  shape.in_channels = 24;
  shape.out_channels = 48;
  shape.groups = groups;
  shape.input = {9, 11};
  shape.filter = {3, 3};
  shape.strides = {stride, stride};
  shape.dilations = {dilation, dilation};
  shape.pad_before = shape.pad_after = {1, 1};
  for (int64_t in : shape.input) shape.output.push_back((in + 2 - 2 * dilation - 1) / stride + 1);
  return shape;
}

Tensor Narrow(const Tensor& wide, DType dtype) {
  Tensor narrow = Tensor::Allocate(dtype, wide.shape()).value();
  NarrowFromFloat(wide, &narrow);
  return narrow;
}

Tensor Widen(const Tensor& narrow) { return WidenToFloat(narrow, HeapAllocator()).value(); }

// Operands of random numbers, and the result of the convolution with an activation in double.
struct Operands {
  Operands(const ConvolutionShape& shape, DType dtype)
      : input(Narrow(
            RandomTensor({shape.batch, shape.input[0], shape.input[1], shape.in_channels}, 1),
            dtype)),
        filter(Narrow(RandomTensor({3, 3, shape.in_channels / shape.groups, shape.out_channels}, 2),
                      dtype)),
        bias(Narrow(RandomTensor({shape.out_channels}, 3), dtype)),
        addend(Narrow(
            RandomTensor({shape.batch, shape.output[0], shape.output[1], shape.out_channels}, 4),
            dtype)),
        want(ReferenceConvolution(shape, post_ops, Widen(input), Widen(filter), Widen(bias),
                                  Widen(addend))) {}

  const PostOps post_ops{.bias = true, .add = true, .activation = Activation::kRelu};
  Tensor input, filter, bias, addend;
  std::vector<double> want;
};

class NarrowConvolutionTest : public ::testing::TestWithParam<DType> {
 protected:
  // Sums are exact enough that only the last rounding shows.
  static void ExpectRoundedOnce(const Tensor& output, const std::vector<double>& want) {
    const double ulp = GetParam() == DType::kHalf ? 1.0 / 1024 : 1.0 / 128;
    const Tensor got = Widen(output);
    for (int64_t i = 0; i < got.num_elements(); ++i) {
      ASSERT_NEAR(got.data<float>()[i], want[i], ulp * std::abs(want[i]) + 1e-4) << "at " << i;
    }
  }
};

TEST_P(NarrowConvolutionTest, SumsAreRoundedOnce) {
  for (const ConvolutionShape& shape : {Shape2D(1, 1, 1), Shape2D(1, 2, 1), Shape2D(3, 1, 2),
                                        Shape2D(24, 1, 1), Shape2D(24, 2, 2)}) {
    const Operands of(shape, GetParam());
    KernelConvolution convolution(of.filter, {});
    Tensor output = Tensor::Allocate(GetParam(), of.addend.shape()).value();

    ASSERT_TRUE(
        convolution
            .Run(shape, of.post_ops, of.input, {.bias = &of.bias, .addend = &of.addend}, &output)
            .ok());

    ExpectRoundedOnce(output, of.want);
  }
}

// A constant filter is converted when the kernel is prepared, and then packed as one of float is.
TEST_P(NarrowConvolutionTest, ConstantFiltersGiveTheSameSums) {
  for (const ConvolutionShape& shape : {Shape2D(1, 1, 1), Shape2D(3, 1, 2), Shape2D(24, 2, 2)}) {
    const Operands of(shape, GetParam());
    KernelConvolution convolution(of.filter, {.is_constant = true});
    ASSERT_TRUE(convolution.primitive().Prepare({}, /*out_dims=*/shape.groups == 1 ? 1 : 2).ok());
    for (int run = 0; run < 2; ++run) {
      Tensor output = Tensor::Allocate(GetParam(), of.addend.shape()).value();

      ASSERT_TRUE(
          convolution
              .Run(shape, of.post_ops, of.input, {.bias = &of.bias, .addend = &of.addend}, &output)
              .ok());

      ExpectRoundedOnce(output, of.want);
    }
  }
}

TEST_P(NarrowConvolutionTest, SumsBeyondTheTypeAreInfinite) {
  ConvolutionShape shape;
  shape.batch = shape.in_channels = shape.out_channels = 1;
  shape.input = shape.output = shape.filter = shape.strides = shape.dilations = {1, 1};
  shape.pad_before = shape.pad_after = {0, 0};
  const float large = GetParam() == DType::kHalf ? 6e4f : 3e38f;
  const Tensor input = Narrow(Tensor::Of<float>({1, 1, 1, 1}, {large}), GetParam());
  const Tensor filter = Narrow(Tensor::Of<float>({1, 1, 1, 1}, {-4.f}), GetParam());
  Tensor output = Narrow(Tensor::Of<float>({1, 1, 1, 1}, {0}), GetParam());

  ASSERT_TRUE(KernelConvolution(filter, {}).Run(shape, {}, input, {}, &output).ok());

  EXPECT_EQ(Widen(output).data<float>()[0], -std::numeric_limits<float>::infinity());
}

TEST_P(NarrowConvolutionTest, NoImagesGiveNoImages) {
  ConvolutionShape shape = Shape2D(1, 1, 1);
  shape.batch = 0;
  const Tensor input = Tensor::Zeros(GetParam(), {0, 9, 11, 24}).value();
  const Tensor filter = Tensor::Zeros(GetParam(), {3, 3, 24, 48}).value();
  Tensor output = Tensor::Zeros(GetParam(), {0, 9, 11, 48}).value();

  EXPECT_TRUE(KernelConvolution(filter, {}).Run(shape, {}, input, {}, &output).ok());
}

INSTANTIATE_TEST_SUITE_P(Types, NarrowConvolutionTest,
                         ::testing::Values(DType::kHalf, DType::kBfloat16));

}  // namespace
}  // namespace tessera
