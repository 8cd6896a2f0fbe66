// Transposes and blocks of pixels against loops over all elements.
#include <vector>

#include "gtest/gtest.h"
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
void ExpectTransposed(int64_t rows, int64_t columns) {
  const Tensor x = Numbered<T>({2, rows, columns});
  const Tensor y = RunOp("Transpose", {x, Tensor::Vector<int32_t>({0, 2, 1})}).value();
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
