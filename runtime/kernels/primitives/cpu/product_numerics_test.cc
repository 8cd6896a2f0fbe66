// Tests of what the two modes of Numerics promise for products and convolutions.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/testing/kernel_product.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

// Returns the largest error, relative to the largest expected output.
double Error(const Tensor& output, const std::vector<double>& expected) {
  double largest = 0, error = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    error = std::max(error, std::abs(output.data<float>()[i] - expected[i]));
  }
  return error / largest;
}

// Multiplies on `threads`. `is_constant` tells whether the weights may be packed.
Tensor Product(const Tensor& a, const Tensor& b, bool is_constant, Numerics numerics,
               ThreadPool* threads = nullptr) {
  const int64_t m = a.dim(0), k = a.dim(1), n = b.dim(1);
  Tensor output = Tensor::Allocate(DType::kFloat, {m, n}).value();
  KernelProduct product(b, {.is_constant = is_constant, .numerics = numerics, .threads = threads});
  EXPECT_TRUE(product.Run({.m = m, .n = n, .k = k}, PostOps(), a, {}, &output).ok());
  return output;
}

Tensor Convolved(const ConvolutionShape& s, const Tensor& input, const Tensor& filter,
                 bool is_constant, Numerics numerics, ThreadPool* threads = nullptr) {
  Tensor output =
      Tensor::Allocate(DType::kFloat, {s.batch, s.output[0], s.output[1], s.out_channels}).value();
  KernelConvolution convolution(
      filter, {.is_constant = is_constant, .numerics = numerics, .threads = threads});
  EXPECT_TRUE(convolution.Run(s, PostOps(), input, {}, &output).ok());
  return output;
}

ConvolutionShape Square(int64_t batch, int64_t size, int64_t filter, int64_t in, int64_t out,
                        int64_t stride = 1, int64_t groups = 1) {
  const int64_t pad = filter / 2, output = (size - 1) / stride + 1;
  return {.batch = batch,
          .in_channels = in,
          .out_channels = out,
          .groups = groups,
          .input = {size, size},
          .filter = {filter, filter},
          .output = {output, output},
          .strides = {stride, stride},
          .dilations = {1, 1},
          .pad_before = {pad, pad},
          .pad_after = {(output - 1) * stride + filter - size - pad,
                        (output - 1) * stride + filter - size - pad}};
}

// The matrix products have enough rows for Strassen's algorithm.
TEST(ProductNumericsTest, ErrorsOfMatrixProducts) {
  const Tensor a = RandomTensor({256, 768}, 1), b = RandomTensor({768, 1024}, 2);
  const std::vector<double> expected =
      ReferenceMatMul(256, 1024, 768, false, PostOps(), a, b, RandomTensor({1024}, 3),
                      RandomTensor({256, 1024}, 4));
  const double plain = Error(Product(a, b, false, Numerics::kFast), expected);
  EXPECT_LT(Error(Product(a, b, true, Numerics::kFast), expected), 5e-6);
  for (const bool is_constant : {true, false}) {
    const double strict = Error(Product(a, b, is_constant, Numerics::kStrict), expected);
    EXPECT_LT(strict, 3 * plain) << is_constant;
  }
}

// The first of these is computed by Winograd's F(4x4), the last one by Strassen's algorithm.
TEST(ProductNumericsTest, ErrorsOfConvolutions) {
  for (const ConvolutionShape& s : {Square(1, 28, 3, 128, 128), Square(4, 14, 3, 256, 64),
                                    Square(2, 28, 3, 64, 96, 2), Square(2, 14, 1, 512, 512)}) {
    const Tensor input = RandomTensor({s.batch, s.input[0], s.input[1], s.in_channels}, 1);
    const Tensor filter =
        RandomTensor({s.filter[0], s.filter[1], s.in_channels, s.out_channels}, 2);
    const std::vector<double> expected =
        ReferenceConvolution(s, PostOps(), input, filter, RandomTensor({s.out_channels}, 3),
                             RandomTensor({s.batch, s.output[0], s.output[1], s.out_channels}, 4));
    const double plain = Error(Convolved(s, input, filter, false, Numerics::kFast), expected);
    EXPECT_LT(Error(Convolved(s, input, filter, true, Numerics::kFast), expected), 5e-6);
    EXPECT_LT(Error(Convolved(s, input, filter, true, Numerics::kStrict), expected), 3 * plain);
  }
}

TEST(ProductNumericsTest, StrictRowsOfProductsDependOnNoOtherRowAndNoThread) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (const auto& [k, n] : std::vector<std::pair<int64_t, int64_t>>{
           {768, 1024}, {3000, 40}, {16, 16}, {7, 5}, {64, 1}, {1, 300}}) {
    const Tensor a = RandomTensor({530, k}, 1), b = RandomTensor({k, n}, 2);
    for (const bool is_constant : {true, false}) {
      SCOPED_TRACE(testing::Message() << k << " x " << n << ", constant: " << is_constant);
      const Tensor all = Product(a, b, is_constant, Numerics::kStrict);
      for (const int64_t rows : {1, 2, 4, 17, 300, 530}) {
        for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
          const Tensor some = Tensor::View(DType::kFloat, {rows, k}, a.buffer());
          const Tensor output = Product(some, b, is_constant, Numerics::kStrict, threads);
          ASSERT_EQ(std::memcmp(output.raw(), all.raw(), output.size_bytes()), 0) << rows;
        }
      }
    }
  }
}

TEST(ProductNumericsTest, AStrictRowIsNotTouchedByAnInfinityBesideIt) {
  Tensor a = RandomTensor({40, 768}, 1);
  const Tensor b = RandomTensor({768, 1024}, 2);
  const Tensor before = Product(a, b, true, Numerics::kStrict);
  a.data<float>()[39 * 768] = std::numeric_limits<float>::infinity();
  const Tensor after = Product(a, b, true, Numerics::kStrict);
  EXPECT_EQ(std::memcmp(before.raw(), after.raw(), 39 * 1024 * sizeof(float)), 0);
}

TEST(ProductNumericsTest, StrictImagesDependOnNoOtherImageAndNoThread) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (const ConvolutionShape& s :
       {Square(9, 28, 3, 64, 64), Square(9, 14, 1, 256, 512), Square(9, 14, 3, 32, 40, 2),
        Square(9, 30, 3, 3, 5), Square(9, 9, 3, 64, 128, 1, 4), Square(9, 20, 3, 32, 32, 1, 32),
        Square(9, 1, 1, 512, 100), Square(9, 56, 7, 3, 64, 2)}) {
    const Tensor input = RandomTensor({s.batch, s.input[0], s.input[1], s.in_channels}, 1);
    const Tensor filter =
        RandomTensor({s.filter[0], s.filter[1], s.in_channels / s.groups, s.out_channels}, 2);
    for (const bool is_constant : {true, false}) {
      SCOPED_TRACE(testing::Message() << s.input[0] << ", " << s.filter[0] << ", " << s.in_channels
                                      << " to " << s.out_channels << ", constant: " << is_constant);
      const Tensor all = Convolved(s, input, filter, is_constant, Numerics::kStrict);
      for (const int64_t batch : {1, 2, 9}) {
        for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
          ConvolutionShape some = s;
          some.batch = batch;
          const Tensor images = Tensor::View(
              DType::kFloat, {batch, s.input[0], s.input[1], s.in_channels}, input.buffer());
          const Tensor output =
              Convolved(some, images, filter, is_constant, Numerics::kStrict, threads);
          EXPECT_EQ(std::memcmp(output.raw(), all.raw(), output.size_bytes()), 0) << batch;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera
