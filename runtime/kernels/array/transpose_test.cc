// Transposes and blocks of pixels against loops over all elements.
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

template <typename T>
Tensor Numbered(const Shape& shape) {
  Tensor x = Tensor::Allocate(DTypeOf<T>, shape).value();
  for (int64_t i = 0; i < x.num_elements(); ++i) x.data<T>()[i] = static_cast<T>(i * 31 % 251);
  return x;
}

template <typename T>
void ExpectTransposed(int64_t rows, int64_t columns, ThreadPool* pool = nullptr) {
  const Tensor x = Numbered<T>({2, rows, columns});
  const Tensor permutation = Tensor::Vector<int32_t>({0, 2, 1});
  const Tensor y = RunOp("Transpose", {x, permutation}, {}, pool).value();
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        ASSERT_EQ(y.data<T>()[(n * columns + c) * rows + r],
                  x.data<T>()[(n * rows + r) * columns + c])
            << rows << " x " << columns << ", " << DTypeName(DTypeOf<T>);
      }
    }
  }
}

TEST(TransposeTest, MatricesOfAnySizeAndWidth) {
  for (const int64_t rows : {1, 4, 8, 15, 16, 17, 33, 64}) {
    for (const int64_t columns : {1, 3, 8, 16, 24, 31, 40}) {
      ExpectTransposed<uint8_t>(rows, columns);
      ExpectTransposed<int16_t>(rows, columns);
      ExpectTransposed<float>(rows, columns);
      ExpectTransposed<double>(rows, columns);
    }
  }
}

// Few rows that are long, and many columns in several blocks: what threads share.
TEST(TransposeTest, LongAndWideMatrices) {
  ThreadPool pool({.num_threads = 2});
  const int64_t sizes[][2] = {{5000, 20}, {2049, 17}, {4096, 16}, {17, 300}, {64, 130}, {33, 2500}};
  for (const auto& [rows, columns] : sizes) {
    ExpectTransposed<uint8_t>(rows, columns, &pool);
    ExpectTransposed<int16_t>(rows, columns, &pool);
    ExpectTransposed<float>(rows, columns, &pool);
    ExpectTransposed<double>(rows, columns, &pool);
  }
}

template <typename T>
void ExpectPlanes(int64_t pixels, int64_t channels) {
  const Tensor x = Numbered<T>({2, pixels, channels});
  const Tensor permutation = Tensor::Vector<int32_t>({0, 2, 1});
  const Tensor planes = RunOp("Transpose", {x, permutation}).value();
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t c = i % channels, pixel = i / channels % pixels, n = i / channels / pixels;
    ASSERT_EQ(planes.data<T>()[(n * channels + c) * pixels + pixel], x.data<T>()[i])
        << pixels << " pixels of " << channels << ", " << DTypeName(DTypeOf<T>);
  }
  const Tensor back = RunOp("Transpose", {planes, permutation}).value();
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    ASSERT_EQ(back.data<T>()[i], x.data<T>()[i])
        << pixels << " pixels of " << channels << ", " << DTypeName(DTypeOf<T>);
  }
}

// More pixels than threads take at a time, and numbers of them that fill no vectors.
TEST(TransposeTest, PixelsOfFewChannelsBecomePlanesAndPixelsAgain) {
  for (const int64_t channels : {2, 3, 4, 5}) {
    for (const int64_t pixels : {7, 8, 16, 31, 100, 20001}) {
      ExpectPlanes<uint8_t>(pixels, channels);
      ExpectPlanes<int16_t>(pixels, channels);
      ExpectPlanes<float>(pixels, channels);
      ExpectPlanes<double>(pixels, channels);
    }
  }
}

TEST(TransposeTest, OnePlaneMayBeAllChannels) {
  const Tensor grey = Numbered<uint8_t>({100, 1});
  const Tensor tiled = RunOp("Tile", {grey, Tensor::Vector<int32_t>({1, 3})}).value();
  for (int64_t i = 0; i < 300; ++i) {
    ASSERT_EQ(tiled.data<uint8_t>()[i], grey.data<uint8_t>()[i / 3]);
  }
}

// Elements of a column that are repeated along rows are no transpose.
TEST(TransposeTest, RowsAreFilledWithOneElementEach) {
  for (const int64_t rows : {5, 100}) {
    for (const int64_t columns : {4, 37, 300}) {
      const Tensor column = Numbered<int64_t>({rows, 1});
      const Tensor times = Tensor::Vector<int64_t>({1, columns});
      const Tensor tiled = RunOp("Tile", {column, times}).value();
      ASSERT_EQ(tiled.shape(), Shape({rows, columns}));
      for (int64_t i = 0; i < rows * columns; ++i) {
        ASSERT_EQ(tiled.data<int64_t>()[i], column.data<int64_t>()[i / columns]);
      }
    }
  }
}

// Rows of a few bytes and of many, around which one dimension is short.
TEST(TransposeTest, BlocksOfPixelsBecomeChannels) {
  for (const int64_t channels : {1, 3, 8, 40, 700}) {
    for (const int64_t width : {2, 6, 18}) {
      const int64_t height = 4;
      const Tensor x = Numbered<float>({2, height, width, channels});
      const Tensor y = RunOp("SpaceToDepth", {x}, {{"block_size", 2}}).value();
      ASSERT_EQ(y.shape(), Shape({2, height / 2, width / 2, 4 * channels}));
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        const int64_t c = i % channels, column = i / channels % width;
        const int64_t row = i / channels / width % height, n = i / channels / width / height;
        const int64_t block = (n * height / 2 + row / 2) * width / 2 + column / 2;
        const int64_t inside = (row % 2 * 2 + column % 2) * channels + c;
        ASSERT_EQ(y.data<float>()[block * 4 * channels + inside], x.data<float>()[i])
            << channels << " channels, width " << width;
      }
      const Tensor back = RunOp("DepthToSpace", {y}, {{"block_size", 2}}).value();
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        ASSERT_EQ(back.data<float>()[i], x.data<float>()[i]);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
