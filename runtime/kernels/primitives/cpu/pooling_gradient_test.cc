// Compares gradients of max pools with channels last, which are computed for all channels at once,
// with those with channels first.
#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/pooling.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pointwise;

// Reorders values from [batch, height, width, channels] to [batch, channels, height, width].
std::vector<float> ChannelsFirst(const std::vector<float>& values, int64_t batch, int64_t points,
                                 int64_t channels) {
  std::vector<float> moved(values.size());
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t p = 0; p < points; ++p) {
      for (int64_t c = 0; c < channels; ++c) {
        moved[(n * channels + c) * points + p] = values[(n * points + p) * channels + c];
      }
    }
  }
  return moved;
}

class MaxPoolGradientTest : public ::testing::TestWithParam<int> {
 protected:
  MaxPoolGradientTest() {
    if (GetParam() > 1) step_.intra_op_pool = &pool_;
  }

  std::vector<float> Gradient(const PoolShape& shape, const std::vector<float>& input,
                              const std::vector<float>& gradient,
                              EqualMaxima equal = EqualMaxima::kFirst) {
    Tensor output = Tensor::Vector<float>(std::vector<float>(input.size(), -1));
    EXPECT_TRUE(PrimitiveImplementations<MaxPoolGradient>::Find(kCpu)(
                    ctx_, shape, equal, Tensor::Vector<float>(input),
                    Tensor::Vector<float>(gradient), &output)
                    .ok());
    return {output.flat<float>().begin(), output.flat<float>().end()};
  }

 private:
  ThreadPool pool_{{.name = "test", .num_threads = 2}};
  StepContext step_;
  KernelContext ctx_{step_, nullptr};
};
INSTANTIATE_TEST_SUITE_P(Threads, MaxPoolGradientTest, ::testing::Values(1, 2));

TEST_P(MaxPoolGradientTest, BothLayoutsAgreeOnOverlappingWindowsWithPadding) {
  PoolShape shape{.batch = 3, .channels = 5};
  const auto set = [&](int d, int64_t input, int64_t window, int64_t stride, int64_t output) {
    shape.input[d] = input;
    shape.window[d] = window;
    shape.stride[d] = stride;
    shape.output[d] = output;
    shape.pad[d] = 1;
  };
  set(1, 7, 3, 2, 4);
  set(2, 5, 3, 1, 5);
  std::vector<float> input(3 * 7 * 5 * 5), gradient(3 * 4 * 5 * 5);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i * 7919 % 13);
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i % 17) + 1;
  input[4] = input[200] = std::nanf("");
  const std::vector<float> last = Gradient(shape, input, gradient);
  shape.channels_first = true;
  const std::vector<float> first =
      Gradient(shape, ChannelsFirst(input, 3, 35, 5), ChannelsFirst(gradient, 3, 20, 5));
  EXPECT_THAT(ChannelsFirst(last, 3, 35, 5), Pointwise(::testing::Eq(), first));
}

// The numbers of channels are below, equal to and above the number of a vector's lanes.
TEST_P(MaxPoolGradientTest, BothLayoutsAgreeOnTilesOf2x2) {
  for (const int64_t channels : {1, 3, 6, 8, 11, 16}) {
    PoolShape shape{.batch = 3, .channels = channels};
    for (const int d : {1, 2}) {
      shape.input[d] = 2 * d + 5;  // one row and one column are left over
      shape.window[d] = shape.stride[d] = 2;
      shape.output[d] = d + 2;
    }
    std::vector<float> input(3 * 7 * 9 * channels), gradient(3 * 3 * 4 * channels);
    for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i * 7919 % 5);
    for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i % 17) + 1;
    for (size_t i = 0; i < input.size(); i += 7) input[i] = std::nanf("");
    const std::vector<float> last = Gradient(shape, input, gradient);
    shape.channels_first = true;
    const std::vector<float> first = Gradient(shape, ChannelsFirst(input, 3, 63, channels),
                                              ChannelsFirst(gradient, 3, 12, channels));
    EXPECT_THAT(ChannelsFirst(last, 3, 63, channels), Pointwise(::testing::Eq(), first))
        << channels << " channels";
  }
}

TEST_P(MaxPoolGradientTest, TheFirstOfEqualMaximaAndAFirstNaNGetTheGradient) {
  PoolShape shape{.batch = 1, .channels = 2};
  shape.input[2] = shape.window[2] = shape.stride[2] = 3;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Gradient(shape, {1, nan, 4, 9, 4, 9}, {5, 6}), ElementsAre(0, 6, 5, 0, 0, 0));
}

TEST_P(MaxPoolGradientTest, AllElementsNearTheMaximumGetTheGradientIfEqualOnesCount) {
  PoolShape shape{.batch = 1, .channels = 1};
  shape.input[2] = shape.window[2] = shape.stride[2] = 5;
  EXPECT_THAT(Gradient(shape, {0.5f, 0.499992f, 0.49998f, 0.499995f, 0.5f}, {3}, EqualMaxima::kAll),
              ElementsAre(3, 3, 0, 3, 3));
  EXPECT_THAT(Gradient(shape, {0.5f, 0.499992f, 0.49998f, 0.499995f, 0.5f}, {3}),
              ElementsAre(3, 0, 0, 0, 0));
}

// TensorFlow does the same, because infinity minus infinity is not near to 0.
TEST_P(MaxPoolGradientTest, AnInfiniteMaximumGetsNoGradientIfEqualOnesCount) {
  PoolShape shape{.batch = 1, .channels = 1};
  shape.input[2] = 6;
  shape.window[2] = shape.stride[2] = 3;
  shape.output[2] = 2;
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Gradient(shape, {1, infinity, infinity, nan, 2, 2}, {3, 4}, EqualMaxima::kAll),
              Each(0));
}

TEST_P(MaxPoolGradientTest, NoImagesHaveNoGradient) {
  PoolShape shape{.batch = 0, .channels = 2};
  EXPECT_TRUE(Gradient(shape, {}, {}).empty());
}

}  // namespace
}  // namespace tessera
