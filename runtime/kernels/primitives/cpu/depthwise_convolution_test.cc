#include "runtime/kernels/primitives/cpu/depthwise_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

struct Geometry {
  int64_t batch = 1, height = 0, width = 0, channels = 16, group = 1;
  SpatialDims filter = {3, 3}, strides = {1, 1}, before = {1, 1}, after = {1, 1};
};

ConvolutionShape Depthwise(const Geometry& g) {
  ConvolutionShape shape;
  shape.batch = g.batch;
  shape.in_channels = shape.out_channels = g.channels;
  shape.groups = g.channels / g.group;
  shape.input = {g.height, g.width};
  shape.filter = g.filter;
  shape.strides = g.strides;
  shape.dilations = {1, 1};
  shape.pad_before = g.before;
  shape.pad_after = g.after;
  for (int d : {0, 1}) {
    const int64_t padded = shape.input[d] + g.before[d] + g.after[d];
    shape.output.push_back((padded - g.filter[d]) / g.strides[d] + 1);
  }
  return shape;
}

// The parameter selects AVX-512.
class DepthwiseConvolutionTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !Avx512IsSupported()) GTEST_SKIP() << "needs AVX-512";
  }

  struct Operands {
    explicit Operands(const ConvolutionShape& s)
        : input(RandomTensor({s.batch, s.input[0], s.input[1], s.in_channels}, 1)),
          filter(RandomTensor({s.filter[0], s.filter[1], s.in_channels / s.groups, s.out_channels},
                              2)),
          bias(RandomTensor({s.out_channels}, 3)),
          before(RandomTensor({s.batch, s.output[0], s.output[1], s.out_channels}, 4)) {}

    Tensor input, filter, bias, before;
  };

  Tensor Run(const ConvolutionShape& shape, const PostOps& post_ops, const Operands& of) {
    Tensor output = of.before.DeepCopy().value();
    KernelContext ctx(step_, nullptr);
    EXPECT_EQ(
        ConvolveDepthwise(ctx, shape, post_ops, of.input.data<float>(), of.filter.data<float>(),
                          post_ops.bias ? of.bias.data<float>() : nullptr, output.data<float>(),
                          GetParam() ? avx512::ComputeDepthwiseRow : avx2::ComputeDepthwiseRow),
        absl::OkStatus());
    return output;
  }

  void ExpectExact(const Geometry& geometry, const PostOps& post_ops = {}) {
    const ConvolutionShape shape = Depthwise(geometry);
    SCOPED_TRACE(testing::Message()
                 << shape.batch << " x " << shape.input[0] << " x " << shape.input[1] << " x "
                 << shape.in_channels << ", filter " << shape.filter[0] << " x " << shape.filter[1]
                 << ", strides " << shape.strides[0] << " " << shape.strides[1]);
    ASSERT_TRUE(DepthwiseSupports(shape));
    const Operands of(shape);
    const Tensor output = Run(shape, post_ops, of);
    const std::vector<double> expected =
        ReferenceConvolution(shape, post_ops, of.input, of.filter, of.bias, of.before);
    double largest = 0;
    for (const double x : expected) largest = std::max(largest, std::abs(x));
    for (int64_t i = 0; i < output.num_elements(); ++i) {
      ASSERT_NEAR(output.data<float>()[i], expected[i], 2e-6 * largest) << "at " << i;
    }
  }

  StepContext step_;
};

TEST_P(DepthwiseConvolutionTest, ImagesOfAnySize) {
  for (const int64_t filter : {3, 5}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t size : {1, 2, 3, 5, 7, 8, 9, 14, 17, 30}) {
        const int64_t pad = filter / 2;
        ExpectExact({.height = size,
                     .width = size,
                     .filter = {filter, filter},
                     .strides = {stride, stride},
                     .before = {pad, pad},
                     .after = {pad, pad}});
      }
    }
  }
}

TEST_P(DepthwiseConvolutionTest, PaddingOfAnyKind) {
  ExpectExact({.height = 9, .width = 11, .before = {0, 0}, .after = {0, 0}});
  ExpectExact({.height = 8, .width = 8, .strides = {2, 2}, .before = {0, 0}, .after = {1, 1}});
  ExpectExact({.height = 4, .width = 3, .before = {3, 4}, .after = {5, 6}});  // rows of padding
  ExpectExact({.height = 1, .width = 1, .before = {0, 1}, .after = {2, 20}});
}

// Blocks of several outputs may have no more points outside the row than the filter has columns.
TEST_P(DepthwiseConvolutionTest, RowsThatAreMostlyPadding) {
  for (const int64_t filter : {3, 5}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t pad : {3, 4, 6, 9, 13}) {
        for (const int64_t width : {1, 2, 6, 20}) {
          const Geometry before{.height = 2,
                                .width = width,
                                .channels = 19,
                                .filter = {3, filter},
                                .strides = {1, stride},
                                .before = {1, pad},
                                .after = {1, filter}};
          ExpectExact(before);
          Geometry after = before;
          std::swap(after.before, after.after);
          ExpectExact(after, {.bias = true, .add = true});
        }
      }
    }
  }
}

TEST_P(DepthwiseConvolutionTest, FiltersAndStridesThatDifferByDirection) {
  ExpectExact({.height = 12, .width = 9, .filter = {1, 3}, .before = {0, 1}, .after = {0, 1}});
  ExpectExact({.height = 12, .width = 9, .filter = {7, 5}, .strides = {3, 2}});
  ExpectExact({.height = 12, .width = 9, .filter = {2, 3}, .strides = {1, 2}});
}

TEST_P(DepthwiseConvolutionTest, AnyNumberOfChannels) {
  for (const int64_t channels : {17, 23, 24, 25, 31, 32, 40, 47}) {
    for (const int64_t stride : {1, 2}) {
      ExpectExact(
          {.batch = 2, .height = 6, .width = 10, .channels = channels, .strides = {stride, stride}},
          {.bias = true, .add = true, .activation = Activation::kRelu6});
    }
  }
}

TEST_P(DepthwiseConvolutionTest, GroupsOfFourChannels) {
  for (const int64_t channels : {16, 20, 24, 28, 64}) {
    for (const int64_t stride : {1, 2}) {
      ExpectExact({.batch = 2,
                   .height = 6,
                   .width = 21,
                   .channels = channels,
                   .group = 4,
                   .strides = {stride, stride}},
                  {.bias = true, .add = true, .activation = Activation::kRelu6});
    }
  }
  ExpectExact({.height = 4, .width = 3, .group = 4, .before = {3, 4}, .after = {5, 6}});
}

TEST_P(DepthwiseConvolutionTest, ANaNStaysInItsGroup) {
  const ConvolutionShape shape = Depthwise({.height = 3, .width = 3, .channels = 20, .group = 4});
  Operands of(shape);
  of.input.data<float>()[9] = std::numeric_limits<float>::quiet_NaN();
  const Tensor output = Run(shape, {}, of);
  for (int64_t c = 0; c < 20; ++c) {
    EXPECT_EQ(std::isnan(output.data<float>()[c]), c >= 8 && c < 12) << "channel " << c;
  }
}

TEST_P(DepthwiseConvolutionTest, EndsInEachActivation) {
  for (const Activation activation :
       {Activation::kRelu, Activation::kElu, Activation::kLeakyRelu, Activation::kTanh,
        Activation::kSigmoid, Activation::kSwish, Activation::kGeluErf, Activation::kGeluTanh}) {
    ExpectExact({.height = 6, .width = 10, .channels = 20},
                {.bias = true, .activation = activation, .alpha = 0.3f});
  }
}

TEST_P(DepthwiseConvolutionTest, ImagesBeyondTheCacheAndThreads) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  step_.intra_op_pool = &pool;
  ExpectExact({.batch = 2, .height = 65, .width = 57, .channels = 80, .strides = {2, 2}},
              {.bias = true});
}

TEST_P(DepthwiseConvolutionTest, AnImageHasTheSameBitsInAnyBatchAndByAnyThreads) {
  const ConvolutionShape two = Depthwise({.batch = 2, .height = 33, .width = 19, .channels = 24});
  ConvolutionShape one = two;
  one.batch = 1;
  const Operands of(two);
  const PostOps post_ops{.bias = true, .activation = Activation::kSwish};
  const Tensor alone = Run(one, post_ops, of);
  ThreadPool pool({.name = "test", .num_threads = 3});
  step_.intra_op_pool = &pool;
  const Tensor both = Run(two, post_ops, of);
  const int64_t image = both.num_elements() / 2;
  EXPECT_EQ(std::memcmp(alone.data<float>(), both.data<float>(), image * sizeof(float)), 0);
}

TEST_P(DepthwiseConvolutionTest, NaNsAndInfinitiesStayInTheirChannelAndWindow) {
  const ConvolutionShape shape = Depthwise({.height = 6, .width = 12, .channels = 20});
  Operands of(shape);
  of.input.data<float>()[(2 * 12 + 4) * 20 + 3] = std::numeric_limits<float>::quiet_NaN();
  // Padding is not multiplied by an infinite filter.
  of.filter.data<float>()[19] = std::numeric_limits<float>::infinity();
  const Tensor output = Run(shape, {}, of);
  for (int64_t i = 0; i < output.num_elements(); ++i) {
    const int64_t channel = i % 20, column = i / 20 % 12, row = i / 240;
    const bool is_near = std::abs(row - 2) <= 1 && std::abs(column - 4) <= 1;
    EXPECT_EQ(std::isnan(output.data<float>()[i]), channel == 3 && is_near) << "at " << i;
    EXPECT_EQ(std::isinf(output.data<float>()[i]), channel == 19 && row > 0 && column > 0)
        << "at " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DepthwiseConvolutionTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Avx512" : "Avx2"; });

}  // namespace
}  // namespace tessera
