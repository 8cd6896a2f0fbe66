// Resizing by the nearest pixel against loops over all elements.
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

template <typename T>
void ExpectNearest(int64_t channels, int64_t out_height, int64_t out_width) {
  const int64_t height = 6, width = 5;
  Tensor images = Tensor::Allocate(DTypeOf<T>, {2, height, width, channels}).value();
  for (int64_t i = 0; i < images.num_elements(); ++i) images.data<T>()[i] = static_cast<T>(i % 251);
  const Tensor size =
      Tensor::Vector<int32_t>({static_cast<int32_t>(out_height), static_cast<int32_t>(out_width)});
  const Tensor resized = RunOp("ResizeNearestNeighbor", {images, size}).value();
  ASSERT_EQ(resized.shape(), Shape({2, out_height, out_width, channels}));
  for (int64_t i = 0; i < resized.num_elements(); ++i) {
    const int64_t c = i % channels, x = i / channels % out_width;
    const int64_t y = i / channels / out_width % out_height,
                  n = i / channels / out_width / out_height;
    const int64_t from_y = y * height / out_height, from_x = x * width / out_width;
    ASSERT_EQ(resized.data<T>()[i],
              images.data<T>()[((n * height + from_y) * width + from_x) * channels + c])
        << channels << " channels of " << DTypeName(DTypeOf<T>) << " at " << y << ", " << x;
  }
}

TEST(ResizeNearestTest, PixelsOfAnyNumberOfBytes) {
  for (const int64_t channels : {1, 2, 3, 4, 5, 8, 9, 16, 33, 256, 700}) {
    for (const int64_t scale : {1, 2, 3}) {
      ExpectNearest<uint8_t>(channels, 6 * scale, 5 * scale);
      ExpectNearest<float>(channels, 6 * scale, 5 * scale);
      ExpectNearest<double>(channels, 6 / scale, 5);
    }
  }
}

// Several gradients of a pixel, and pixels without any; shared between threads.
TEST(ResizeNearestTest, EachPixelGetsTheGradientsOfThosePixelsThatItBecame) {
  ThreadPool pool({.num_threads = 2});
  for (const int64_t channels : {1, 3, 200}) {
    for (const auto& [height, width] : {std::pair{6, 5}, {23, 40}, {3, 2}}) {
      const int64_t original_height = 6, original_width = 5;
      Tensor gradients = Tensor::Allocate(DType::kDouble, {2, height, width, channels}).value();
      std::vector<double> want(2 * original_height * original_width * channels);
      for (int64_t i = 0; i < gradients.num_elements(); ++i) {
        gradients.data<double>()[i] = static_cast<double>(i % 251);
        const int64_t c = i % channels, x = i / channels % width;
        const int64_t y = i / channels / width % height, n = i / channels / width / height;
        const int64_t to_y = y * original_height / height, to_x = x * original_width / width;
        want[((n * original_height + to_y) * original_width + to_x) * channels + c] +=
            static_cast<double>(i % 251);
      }
      const Tensor size = Tensor::Vector<int32_t>({6, 5});
      const Tensor sums = RunOp("ResizeNearestNeighborGrad", {gradients, size}, {}, &pool).value();
      EXPECT_EQ(sums.flat<double>(), absl::MakeConstSpan(want))
          << channels << " channels of " << height << " by " << width;
    }
  }
}

}  // namespace
}  // namespace tessera
