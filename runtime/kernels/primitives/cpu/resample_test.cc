// What the recorded calls of ops leave out of Resample: images of many channels.
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

// 3072 floats make a strip of columns: images of more channels than that are cut into single ones.
INSTANTIATE_TEST_SUITE_P(Channels, ResampleTest, ::testing::Values(1, 2, 3, 4, 700, 1600, 4000));

}  // namespace
}  // namespace tessera
