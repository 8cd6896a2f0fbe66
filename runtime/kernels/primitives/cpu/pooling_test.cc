// Compares pools with loops over all windows.
#include "runtime/kernels/primitives/pooling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// Calls visit(index of the element) for each input element in the window of an output element.
template <typename Visit>
void ForElements(const PoolShape& s, int64_t image, const int64_t (&at)[3], int64_t channel,
                 const Visit& visit) {
  int64_t begin[3], end[3];
  for (int d = 0; d < 3; ++d) {
    begin[d] = std::max<int64_t>(at[d] * s.stride[d] - s.pad[d], 0);
    end[d] = std::min(at[d] * s.stride[d] - s.pad[d] + s.window[d], s.input[d]);
  }
  for (int64_t z = begin[0]; z < end[0]; ++z) {
    for (int64_t y = begin[1]; y < end[1]; ++y) {
      for (int64_t x = begin[2]; x < end[2]; ++x) {
        const int64_t point = (z * s.input[1] + y) * s.input[2] + x;
        visit(s.channels_first ? (image * s.channels + channel) * s.input_points() + point
                               : (image * s.input_points() + point) * s.channels + channel);
      }
    }
  }
}

// Calls visit(index of the element, image, position, channel) for each output element.
template <typename Visit>
void ForOutputs(const PoolShape& s, const Visit& visit) {
  for (int64_t image = 0; image < s.batch; ++image) {
    for (int64_t point = 0; point < s.output_points(); ++point) {
      const int64_t at[3] = {point / (s.output[1] * s.output[2]), point / s.output[2] % s.output[1],
                             point % s.output[2]};
      for (int64_t c = 0; c < s.channels; ++c) {
        visit(s.channels_first ? (image * s.channels + c) * s.output_points() + point
                               : (image * s.output_points() + point) * s.channels + c,
              image, at, c);
      }
    }
  }
}

struct Windows {
  int64_t input[3], window[3], stride[3], pad[3];
};

PoolShape ShapeOf(const Windows& w, int64_t channels) {
  PoolShape s{.batch = 2, .channels = channels};
  for (int d = 0; d < 3; ++d) {
    s.input[d] = w.input[d];
    s.window[d] = w.window[d];
    s.stride[d] = w.stride[d];
    s.pad[d] = w.pad[d];
    s.output[d] = (w.input[d] + 2 * w.pad[d] - w.window[d]) / w.stride[d] + 1;
  }
  return s;
}

class PoolingTest : public ::testing::TestWithParam<Windows> {
 protected:
  template <typename T>
  Tensor Input(const PoolShape& s) const {
    Tensor x = Tensor::Allocate(DTypeOf<T>, {s.batch * s.input_points() * s.channels}).value();
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      x.data<T>()[i] = static_cast<T>(static_cast<float>(i * 7919 % 113 - 56));
    }
    return x;
  }
  static int64_t NumOutputs(const PoolShape& s) { return s.batch * s.output_points() * s.channels; }

  template <typename T>
  void ExpectMaxima(const PoolShape& s) {
    Tensor x = Input<T>(s);
    for (int64_t i = 0; i < x.num_elements(); i += 5) x.data<T>()[i] = static_cast<T>(NAN);
    for (int64_t i = 0; i < x.num_elements(); i += 3) x.data<T>()[i] = static_cast<T>(-INFINITY);
    Tensor y = Tensor::Allocate(x.dtype(), {NumOutputs(s)}).value();
    const auto pool = PrimitiveImplementations<MaxPool>::Find(kCpu);
    // A window of infinities alone gives the lowest number; NaNs are passed over.
    ASSERT_TRUE(pool(ctx_, s, MaxPoolRule::kIgnoreNan, x, &y).ok());
    ForOutputs(s, [&](int64_t i, int64_t image, const int64_t(&at)[3], int64_t c) {
      T expected = std::numeric_limits<T>::lowest();
      ForElements(s, image, at, c, [&](int64_t element) {
        const T value = x.data<T>()[element];
        if (expected < value) expected = value;
      });
      ASSERT_EQ(y.data<T>()[i], expected) << s.channels << " channels, element " << i;
    });
    // A window of infinities alone gives -inf; NaNs win.
    ASSERT_TRUE(pool(ctx_, s, MaxPoolRule::kPropagateNan, x, &y).ok());
    ForOutputs(s, [&](int64_t i, int64_t image, const int64_t(&at)[3], int64_t c) {
      double expected = -INFINITY;
      ForElements(s, image, at, c, [&](int64_t element) {
        const double value = static_cast<double>(x.data<T>()[element]);
        if (expected < value || std::isnan(value)) expected = value;
      });
      const double greatest = static_cast<double>(y.data<T>()[i]);
      ASSERT_TRUE(greatest == expected || (std::isnan(greatest) && std::isnan(expected)))
          << s.channels << " channels, element " << i << ": " << greatest << ", not " << expected;
    });
  }

  template <typename T>
  void ExpectMeans(const PoolShape& s, double tolerance) {
    Tensor x = Input<T>(s);
    x.data<T>()[0] = static_cast<T>(INFINITY);
    Tensor y = Tensor::Allocate(x.dtype(), {NumOutputs(s)}).value();
    ASSERT_TRUE(PrimitiveImplementations<AveragePool>::Find(kCpu)(ctx_, s, x, &y).ok());
    ForOutputs(s, [&](int64_t i, int64_t image, const int64_t(&at)[3], int64_t c) {
      double sum = 0;
      int count = 0;
      ForElements(s, image, at, c, [&](int64_t element) {
        sum += static_cast<double>(x.data<T>()[element]);
        ++count;
      });
      const double mean = static_cast<double>(y.data<T>()[i]);
      if (std::isinf(sum)) {
        ASSERT_EQ(mean, sum) << i;
      } else {
        ASSERT_NEAR(mean, sum / count, tolerance * 56) << s.channels << " channels, element " << i;
      }
    });
  }

  ThreadPool pool_{{.name = "test", .num_threads = 2}};
  StepContext step_{.intra_op_pool = &pool_};
  KernelContext ctx_{step_, nullptr};
};

constexpr Windows kWindows[] = {
    {{1, 9, 12}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}},  // overlap
    {{1, 6, 7}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {{1, 7, 9}, {1, 3, 3}, {1, 1, 1}, {0, 0, 0}},
    {{1, 4, 5}, {1, 3, 3}, {1, 1, 1}, {0, 1, 0}},
    {{1, 3, 3}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}},
    {{1, 9, 8}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}},  // tile the image
    {{5, 6, 7}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}},
    {{4, 5, 6}, {3, 2, 3}, {1, 2, 3}, {1, 0, 1}},
    {{1, 1, 30}, {1, 1, 4}, {1, 1, 3}, {0, 0, 2}},
    {{1, 3, 2}, {1, 3, 5}, {1, 1, 1}, {0, 0, 2}},  // wider than the image
};
INSTANTIATE_TEST_SUITE_P(Windows, PoolingTest, ::testing::ValuesIn(kWindows));

TEST_P(PoolingTest, AllLayoutsAndNumbersOfChannels) {
  for (const int64_t channels : {1, 3, 4, 8, 17, 64, 100}) {
    PoolShape s = ShapeOf(GetParam(), channels);
    for (const bool first : {false, true}) {
      s.channels_first = first;
      ExpectMaxima<float>(s);
      ExpectMaxima<double>(s);
      ExpectMeans<float>(s, 1e-6);
      ExpectMeans<double>(s, 1e-14);
      ExpectMeans<Eigen::half>(s, 1e-3);
    }
  }
}

TEST_P(PoolingTest, ArgmaxIsTheFirstMaximum) {
  for (const int64_t channels : {1, 5, 32}) {
    const PoolShape s = ShapeOf(GetParam(), channels);
    Tensor x = Input<float>(s);
    for (int64_t i = 0; i < x.num_elements(); i += 7) x.data<float>()[i] = 56;
    Tensor y = Tensor::Allocate(DType::kFloat, {NumOutputs(s)}).value();
    Tensor argmax = Tensor::Allocate(DType::kInt64, {NumOutputs(s)}).value();
    ASSERT_TRUE(PrimitiveImplementations<MaxPoolWithArgmax>::Find(kCpu)(
                    ctx_, s, ArgmaxScope::kImage, x, &y, &argmax)
                    .ok());
    ForOutputs(s, [&](int64_t i, int64_t image, const int64_t(&at)[3], int64_t c) {
      int64_t best = -1;
      ForElements(s, image, at, c, [&](int64_t element) {
        if (best < 0 || x.data<float>()[best] < x.data<float>()[element]) best = element;
      });
      ASSERT_EQ(y.data<float>()[i], x.data<float>()[best]) << i;
      ASSERT_EQ(argmax.data<int64_t>()[i], best - image * s.input_points() * channels) << i;
    });
  }
}

}  // namespace
}  // namespace tessera
