#include "runtime/kernels/primitives/cpu/convolution_chunks.h"

#include <numeric>

#include "gtest/gtest.h"

namespace tessera {
namespace {

ConvolutionShape Shape2D(int64_t batch, int64_t height, int64_t width, int64_t positions,
                         int64_t stride, int64_t dilation, int64_t pad) {
  ConvolutionShape shape;
  shape.batch = batch;
  shape.in_channels = 3;
  shape.out_channels = 5;
  shape.input = {height, width};
  shape.filter = {positions, positions};
  shape.strides = {stride, stride};
  shape.dilations = {dilation, dilation};
  shape.pad_before = shape.pad_after = {pad, pad};
  const int64_t reach = (positions - 1) * dilation + 1;
  shape.output = {(height + 2 * pad - reach) / stride + 1, (width + 2 * pad - reach) / stride + 1};
  return shape;
}

// A series of `length` points, as an image of one row.
ConvolutionShape Series(int64_t batch, int64_t length, int64_t positions, int64_t stride,
                        int64_t dilation, int64_t pad) {
  ConvolutionShape shape = Shape2D(batch, 1, length, positions, stride, dilation, pad);
  shape.output[0] = shape.filter[0] = shape.strides[0] = shape.dilations[0] = 1;
  shape.pad_before[0] = shape.pad_after[0] = 0;
  return shape;
}

struct Image {
  std::vector<float> input, filter;
};

Image Numbers(const ConvolutionShape& s) {
  Image image;
  image.input.resize(s.batch * s.input[0] * s.input[1] * s.in_channels);
  image.filter.resize(s.filter[0] * s.filter[1] * s.in_channels * s.out_channels);
  std::iota(image.input.begin(), image.input.end(), 1);
  std::iota(image.filter.begin(), image.filter.end(), 7);
  return image;
}

void Convolve(const ConvolutionShape& s, const float* input, const float* filter, float* output) {
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t y = 0; y < s.output[0]; ++y) {
      for (int64_t x = 0; x < s.output[1]; ++x) {
        for (int64_t o = 0; o < s.out_channels; ++o) {
          float sum = 0;
          for (int64_t ky = 0; ky < s.filter[0]; ++ky) {
            for (int64_t kx = 0; kx < s.filter[1]; ++kx) {
              const int64_t iy = y * s.strides[0] - s.pad_before[0] + ky * s.dilations[0];
              const int64_t ix = x * s.strides[1] - s.pad_before[1] + kx * s.dilations[1];
              if (iy < 0 || iy >= s.input[0] || ix < 0 || ix >= s.input[1]) continue;
              for (int64_t c = 0; c < s.in_channels; ++c) {
                sum += input[((n * s.input[0] + iy) * s.input[1] + ix) * s.in_channels + c] *
                       filter[((ky * s.filter[1] + kx) * s.in_channels + c) * s.out_channels + o];
              }
            }
          }
          output[((n * s.output[0] + y) * s.output[1] + x) * s.out_channels + o] = sum;
        }
      }
    }
  }
}

// Checks oneDNN's rule for sizes.
void ExpectConsistent(const ConvolutionShape& s) {
  for (int d = 0; d < 2; ++d) {
    const int64_t reach = (s.filter[d] - 1) * s.dilations[d] + 1;
    EXPECT_EQ((s.input[d] + s.pad_before[d] + s.pad_after[d] - reach) / s.strides[d] + 1,
              s.output[d]);
  }
}

TEST(ConvolutionSplitTest, PiecesTogetherAreTheWhole) {
  const ConvolutionShape shapes[] = {Shape2D(1, 9, 6, 3, 1, 1, 1),   Shape2D(1, 10, 7, 3, 2, 1, 1),
                                     Shape2D(1, 12, 12, 3, 1, 2, 2), Shape2D(1, 5, 5, 1, 1, 1, 0),
                                     Shape2D(2, 5, 5, 1, 1, 1, 0),   Shape2D(5, 4, 4, 3, 1, 1, 1),
                                     Shape2D(2, 11, 5, 5, 2, 1, 2),  Series(1, 30, 3, 1, 1, 1),
                                     Series(1, 31, 3, 2, 1, 1),      Series(2, 30, 2, 1, 4, 2)};
  for (const ConvolutionShape& s : shapes) {
    const Image image = Numbers(s);
    std::vector<float> expected(s.batch * s.output[0] * s.output[1] * s.out_channels);
    Convolve(s, image.input.data(), image.filter.data(), expected.data());
    for (int count : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(count);
      std::vector<float> actual(expected.size(), -1);
      for (const ConvolutionChunk& chunk : SplitConvolution(s, count)) {
        ExpectConsistent(chunk.shape);
        Convolve(chunk.shape, image.input.data() + chunk.input_offset, image.filter.data(),
                 actual.data() + chunk.output_offset);
      }
      EXPECT_EQ(actual, expected);
    }
  }
}

// Computes the input gradient: the sum over all outputs that read an element, times the filter.
void Scatter(const ConvolutionShape& s, const float* output, const float* filter, float* input) {
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t y = 0; y < s.output[0]; ++y) {
      for (int64_t ky = 0; ky < s.filter[0]; ++ky) {
        const int64_t iy = y * s.strides[0] - s.pad_before[0] + ky * s.dilations[0];
        if (iy < 0 || iy >= s.input[0]) continue;
        for (int64_t c = 0; c < s.in_channels; ++c) {
          input[(n * s.input[0] + iy) * s.input[1] * s.in_channels + c] +=
              output[(n * s.output[0] + y) * s.output[1] * s.out_channels] *
              filter[ky * s.in_channels + c];
        }
      }
    }
  }
}

TEST(ConvolutionSplitTest, PiecesByInputTogetherAreTheWhole) {
  // One column and one output channel suffice, because only rows are split.
  const ConvolutionShape shapes[] = {Shape2D(1, 9, 6, 3, 1, 1, 1),   Shape2D(1, 10, 7, 3, 2, 1, 1),
                                     Shape2D(1, 12, 12, 3, 1, 2, 2), Shape2D(1, 8, 8, 2, 2, 1, 0),
                                     Shape2D(1, 9, 9, 1, 3, 1, 0),   Shape2D(5, 4, 4, 3, 1, 1, 1),
                                     Shape2D(2, 11, 5, 5, 2, 1, 2)};
  for (const ConvolutionShape& s : shapes) {
    std::vector<float> output(s.batch * s.output[0] * s.output[1] * s.out_channels);
    std::iota(output.begin(), output.end(), 1);
    std::vector<float> filter(s.filter[0] * s.in_channels);
    std::iota(filter.begin(), filter.end(), 7);
    std::vector<float> expected(s.batch * s.input[0] * s.input[1] * s.in_channels);
    Scatter(s, output.data(), filter.data(), expected.data());
    for (int count : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(count);
      std::vector<float> actual(expected.size());
      for (const ConvolutionChunk& chunk : SplitConvolutionByInput(s, count)) {
        ExpectConsistent(chunk.shape);
        Scatter(chunk.shape, output.data() + chunk.output_offset, filter.data(),
                actual.data() + chunk.input_offset);
      }
      EXPECT_EQ(actual, expected);
    }
  }
  EXPECT_EQ(SplitConvolutionByInput(shapes[0], 3).size(), 3u);
  // Some rows are read by no output.
  EXPECT_EQ(SplitConvolutionByInput(shapes[4], 9).size(), 1u);
}

TEST(ConvolutionSplitTest, CutsASeriesAlongItsPoints) {
  EXPECT_EQ(SplitConvolution(Series(1, 30, 3, 1, 1, 1), 4).size(), 4u);
  EXPECT_EQ(SplitConvolutionByInput(Series(1, 30, 3, 1, 1, 1), 4).size(), 4u);
}

TEST(ConvolutionSplitTest, CutsOneImageIntoRowsAndManyIntoImages) {
  EXPECT_EQ(SplitConvolution(Shape2D(1, 8, 8, 3, 1, 1, 1), 4).size(), 4u);
  const auto images = SplitConvolution(Shape2D(8, 8, 8, 3, 1, 1, 1), 4);
  ASSERT_EQ(images.size(), 4u);
  EXPECT_EQ(images[1].shape.batch, 2);
  // The points of a 1x1 convolution need no whole rows: 25 points of two images give three chunks.
  EXPECT_EQ(SplitConvolution(Shape2D(2, 5, 5, 1, 1, 1, 0), 3)[0].shape.input[0], 16);
}

TEST(ConvolutionSplitTest, PiecesAreAsLongAsEachOther) {
  // With chunks of five rows the last one would have three.
  for (const ConvolutionChunk& chunk : SplitConvolution(Shape2D(1, 28, 28, 3, 1, 1, 1), 6)) {
    EXPECT_NEAR(chunk.shape.output[0], 28 / 6, 1);
  }
  for (const ConvolutionChunk& chunk : SplitConvolution(Shape2D(28, 8, 8, 3, 1, 1, 1), 6)) {
    EXPECT_NEAR(chunk.shape.batch, 28 / 6, 1);
  }
}

TEST(ConvolutionSplitTest, RowsOfPaddingAloneAreNotCutOff) {
  ConvolutionShape shape = Shape2D(1, 2, 8, 1, 1, 1, 0);
  shape.pad_before = {4, 0};
  shape.output = {6, 8};
  EXPECT_EQ(SplitConvolution(shape, 3).size(), 1u);
}

}  // namespace
}  // namespace tessera
