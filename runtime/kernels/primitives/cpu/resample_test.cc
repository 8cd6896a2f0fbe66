// Tests of Resample that the recorded calls of ops do not cover: images of many channels, and
// results that equal TensorFlow's bits.
#include "runtime/kernels/primitives/resample.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// Two taps an output, spread over `inputs`.
ResampleTaps Bilinear(int32_t inputs, int32_t outputs) {
  ResampleTaps taps{.span = 2};
  for (int32_t i = 0; i < outputs; ++i) {
    const float at = static_cast<float>(i * (inputs - 1)) / static_cast<float>(outputs);
    const auto first = static_cast<int32_t>(at);
    taps.index.insert(taps.index.end(), {first, std::min(first + 1, inputs - 1)});
    const float weight = at - static_cast<float>(first);
    taps.weight.insert(taps.weight.end(), {1 - weight, weight});
  }
  return taps;
}

class ResampleTest : public ::testing::TestWithParam<int64_t> {
 protected:
  Tensor Resampled(const Tensor& images, const ResampleTaps& rows, const ResampleTaps& columns) {
    Tensor out =
        Tensor::Allocate(DType::kFloat, {images.dim(0), rows.size(), columns.size(), images.dim(3)})
            .value();
    EXPECT_TRUE(
        PrimitiveImplementations<Resample>::Find(kCpu)(ctx_, rows, columns, images, &out).ok());
    return out;
  }

  StepContext step_;
  KernelContext ctx_{step_, /*device=*/nullptr};
};

TEST_P(ResampleTest, EachChannelIsAnImageOfItsOwn) {
  const int64_t channels = GetParam(), batch = 2, height = 4, width = 5;
  const ResampleTaps rows = Bilinear(height, 7), columns = Bilinear(width, 11);
  Tensor images = Tensor::Allocate(DType::kFloat, {batch, height, width, channels}).value();
  for (int64_t i = 0; i < images.num_elements(); ++i) {
    images.data<float>()[i] = static_cast<float>(i * 7919 % 1009);
  }
  const Tensor all = Resampled(images, rows, columns);
  for (int64_t c = 0; c < channels; ++c) {
    Tensor one = Tensor::Allocate(DType::kFloat, {batch, height, width, 1}).value();
    for (int64_t i = 0; i < one.num_elements(); ++i) {
      one.data<float>()[i] = images.data<float>()[i * channels + c];
    }
    const Tensor alone = Resampled(one, rows, columns);
    for (int64_t i = 0; i < alone.num_elements(); ++i) {
      ASSERT_EQ(all.data<float>()[i * channels + c], alone.data<float>()[i]) << c << " " << i;
    }
  }
}

// Interpolates as TensorFlow does, with a product that is rounded before it is added.
float Between(float first, float second, float weight) {
  volatile const float change = (second - first) * weight;
  return first + change;
}

// Images of each size are resampled to each size, so that some vectors find their bytes in a window
// and others do not.
TEST_P(ResampleTest, BytesAreInterpolatedAsTensorFlowDoes) {
  const int64_t channels = std::min<int64_t>(GetParam(), 70);
  for (const int32_t width : {1, 2, 5, 6, 17, 40, 200}) {
    for (const int32_t out_width : {1, 2, 5, 16, 41, 150}) {
      const ResampleTaps rows = Bilinear(3, 4), columns = Bilinear(width, out_width);
      Tensor images = Tensor::Allocate(DType::kUint8, {2, 3, width, channels}).value();
      for (int64_t i = 0; i < images.num_elements(); ++i) {
        images.data<uint8_t>()[i] = static_cast<uint8_t>(i * 7919 % 251);
      }
      const Tensor out = Resampled(images, rows, columns);
      const float* found = out.data<float>();
      for (int64_t row = 0; row < 2 * rows.size(); ++row) {
        const int64_t y = row % rows.size();
        for (int64_t i = 0; i < out_width * channels; ++i) {
          const int64_t x = i / channels;
          float blended[2];
          for (int t = 0; t < 2; ++t) {
            const uint8_t* const from =
                images.data<uint8_t>() +
                (row / rows.size() * 3 + rows.index[2 * y + t]) * width * channels + i % channels;
            blended[t] =
                Between(from[columns.index[2 * x] * channels],
                        from[columns.index[2 * x + 1] * channels], columns.weight[2 * x + 1]);
          }
          ASSERT_EQ(*found++, Between(blended[0], blended[1], rows.weight[2 * y + 1]))
              << width << " to " << out_width << " columns, row " << row << ", float " << i;
        }
      }
    }
  }
}

// A strip has at most 3072 floats, so that images of more channels are cut into single columns.
INSTANTIATE_TEST_SUITE_P(Channels, ResampleTest, ::testing::Values(1, 2, 3, 4, 700, 1600, 4000));

}  // namespace
}  // namespace tessera
