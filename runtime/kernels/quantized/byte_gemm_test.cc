#include "runtime/kernels/primitives/byte_gemm.h"

#include <cmath>
#include <cstring>
#include <random>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

template <typename T>
std::vector<T> RandomBytes(int64_t count, int seed) {
  std::mt19937 random(seed);
  std::vector<T> bytes(count);
  for (T& byte : bytes) byte = static_cast<T>(random());
  return bytes;
}

// The product of `rows` x depth by depth x columns, by the definition, of bytes with their zero
// points.
template <typename A, typename B>
std::vector<int32_t> Expected(const std::vector<A>& a, const std::vector<B>& b, int64_t rows,
                              int64_t depth, int64_t columns, int64_t zero_a, int64_t zero_b) {
  std::vector<int32_t> sums(rows * columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      int64_t sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        sum += (a[i * depth + k] - zero_a) * (b[k * columns + j] - zero_b);
      }
      sums[i * columns + j] = static_cast<int32_t>(sum);
    }
  }
  return sums;
}

template <typename B>
void ExpectProduct(int64_t rows, int64_t depth, int64_t columns) {
  const auto a = RandomBytes<uint8_t>(rows * depth, 1);
  const auto b = RandomBytes<B>(depth * columns, 2);
  std::vector<int8_t> room(ByteMatrix::PackedSize(depth, columns));
  const ByteMatrix packed = ByteMatrix::Pack(b.data(), depth, columns, columns, 1, room.data());
  std::vector<uint8_t> padded(rows * packed.row_size());
  for (int64_t i = 0; i < rows; ++i) {
    CopyUnsigned(a.data() + i * depth, depth, 1, padded.data() + i * packed.row_size());
  }
  const auto expected =
      Expected(a, b, rows, depth, columns, 0, -static_cast<int32_t>(kSignedShift<B>));
  for (const auto loops : {ByteMatrix::Loops::kForCpu, ByteMatrix::Loops::kAvx2}) {
    std::vector<int32_t> sums(rows * columns);
    packed.Multiply(padded.data(), rows, sums.data(), columns, loops);
    EXPECT_EQ(sums, expected) << rows << " x " << depth << " x " << columns;
  }
}

TEST(ByteMatrixTest, MultipliesMatricesOfAllSizes) {
  for (const int64_t rows : {1, 5, 6, 13}) {
    for (const int64_t depth : {0, 1, 3, 4, 37}) {
      for (const int64_t columns : {1, 16, 17, 63, 64, 65, 130}) {
        ExpectProduct<int8_t>(rows, depth, columns);
        ExpectProduct<uint8_t>(rows, depth, columns);
      }
    }
  }
}

template <typename T>
Tensor Quantized(DType dtype, const Shape& shape, const std::vector<T>& values) {
  Tensor tensor = Tensor::Zeros(dtype, shape).value();
  std::memcpy(tensor.mutable_raw(), values.data(), values.size() * sizeof(T));
  return tensor;
}

std::vector<int32_t> Sums(const Tensor& tensor) {
  const auto* const begin = reinterpret_cast<const int32_t*>(tensor.raw());
  return std::vector<int32_t>(begin, begin + tensor.num_elements());
}

Tensor Number(float x) { return Tensor::Scalar<float>(x); }

// The number of T that stands for 0 where the lowest one stands for `min` and the highest for
// `max`.
template <typename T>
int64_t ZeroOf(double min, double max) {
  return std::numeric_limits<T>::lowest() - std::lround(min * 255 / (max - min));
}

template <typename A, typename B>
void ExpectMatMul(DType a_dtype, DType b_dtype, bool transpose_a, bool transpose_b) {
  const int64_t m = 7, k = 19, n = 67;
  const auto a = RandomBytes<A>(m * k, 3);
  const auto b = RandomBytes<B>(k * n, 4);
  auto given_a = a;
  auto given_b = b;
  for (int64_t i = 0; transpose_a && i < m * k; ++i) given_a[i % k * m + i / k] = a[i];
  for (int64_t i = 0; transpose_b && i < k * n; ++i) given_b[i % n * k + i / n] = b[i];
  const std::vector<Tensor> inputs = {
      Quantized(a_dtype, transpose_a ? Shape{k, m} : Shape{m, k}, given_a),
      Quantized(b_dtype, transpose_b ? Shape{n, k} : Shape{k, n}, given_b),
      Number(-1.5),
      Number(3.6),
      Number(0.255),
      Number(0.51)};
  KernelRunner runner =
      KernelRunner::Create(
          "QuantizedMatMul", inputs,
          {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}, {"Toutput", DType::kQint32}})
          .value();
  EXPECT_EQ(Sums(runner.Run(inputs).value()[0]),
            Expected(a, b, m, k, n, ZeroOf<A>(-1.5, 3.6), ZeroOf<B>(0.255, 0.51)));
}

TEST(QuantizedMatMulTest, SubtractsZeroPointsThatNoByteHas) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      ExpectMatMul<uint8_t, uint8_t>(DType::kQuint8, DType::kQuint8, transpose_a, transpose_b);
      ExpectMatMul<uint8_t, int8_t>(DType::kQuint8, DType::kQint8, transpose_a, transpose_b);
      ExpectMatMul<int8_t, uint8_t>(DType::kQint8, DType::kQuint8, transpose_a, transpose_b);
      ExpectMatMul<int8_t, int8_t>(DType::kQint8, DType::kQint8, transpose_a, transpose_b);
    }
  }
}

// A convolution by the definition: what lies outside of an image stands for 0.
template <typename B>
void ExpectConvolution(DType b_dtype, int64_t stride, float min, float max) {
  const int64_t rows = 9, columns = 11, in = 5, out = 19;
  const auto images = RandomBytes<uint8_t>(2 * rows * columns * in, 5);
  const auto filter = RandomBytes<B>(3 * 3 * in * out, 6);
  const std::vector<Tensor> inputs = {Quantized(DType::kQuint8, {2, rows, columns, in}, images),
                                      Quantized(b_dtype, {3, 3, in, out}, filter),
                                      Number(min),
                                      Number(max),
                                      Number(-1),
                                      Number(1.55)};
  KernelRunner runner =
      KernelRunner::Create("QuantizedConv2D", inputs,
                           {{"strides", std::vector<int64_t>{1, stride, stride, 1}},
                            {"padding", "SAME"},
                            {"out_type", DType::kQint32}})
          .value();
  const Tensor y = runner.Run(inputs).value()[0];
  const int64_t zero_image = ZeroOf<uint8_t>(min, max), zero_filter = ZeroOf<B>(-1, 1.55);
  const auto padding = [&](int64_t size, int64_t outputs) {
    return std::max<int64_t>(0, (outputs - 1) * stride + 3 - size) / 2;
  };
  std::vector<int32_t> expected;
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    const int64_t o = i % out, column = i / out % y.dim(2), row = i / out / y.dim(2) % y.dim(1);
    const int64_t image = i / out / y.dim(2) / y.dim(1);
    int64_t sum = 0;
    for (int64_t at = 0; at < 9 * in; ++at) {
      const int64_t c = at % in;
      const int64_t v = row * stride - padding(rows, y.dim(1)) + at / in / 3;
      const int64_t u = column * stride - padding(columns, y.dim(2)) + at / in % 3;
      if (v < 0 || v >= rows || u < 0 || u >= columns) continue;
      sum += (images[((image * rows + v) * columns + u) * in + c] - zero_image) *
             (filter[at * out + o] - zero_filter);
    }
    expected.push_back(static_cast<int32_t>(sum));
  }
  EXPECT_EQ(Sums(y), expected);
}

TEST(QuantizedConvolutionTest, PadsWithWhatStandsForZero) {
  for (const int64_t stride : {1, 2}) {
    ExpectConvolution<uint8_t>(DType::kQuint8, stride, -0.5f, 2.05f);
    ExpectConvolution<int8_t>(DType::kQint8, stride, -0.5f, 2.05f);
    // No byte stands for 0.
    ExpectConvolution<uint8_t>(DType::kQuint8, stride, 2.55f, 5.1f);
  }
}

// A fused convolution, whose bytes have no zero points, by the definition.
template <typename A>
void ExpectFusedConvolution(DType a_dtype) {
  const int64_t rows = 7, columns = 8, in = 3, out = 21;
  const auto images = RandomBytes<A>(2 * rows * columns * in, 7);
  const auto filter = RandomBytes<int8_t>(3 * 3 * in * out, 8);
  const std::vector<Tensor> inputs = {Quantized(a_dtype, {2, rows, columns, in}, images),
                                      Quantized(DType::kQint8, {3, 3, in, out}, filter),
                                      Quantized(DType::kQint32, {out}, std::vector<int32_t>(out)),
                                      Number(-1),
                                      Number(1),
                                      Number(-1),
                                      Number(1)};
  KernelRunner runner = KernelRunner::Create("QuantizedConv2DWithBias", inputs,
                                             {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
                                              {"dilations", std::vector<int64_t>{1, 2, 2, 1}},
                                              {"padding", "SAME"},
                                              {"Tbias", DType::kQint32},
                                              {"out_type", DType::kQint32}})
                            .value();
  std::vector<int32_t> expected;
  for (int64_t i = 0; i < 2 * rows * columns * out; ++i) {
    const int64_t o = i % out, column = i / out % columns, row = i / out / columns % rows;
    int32_t sum = 0;
    for (int64_t at = 0; at < 9 * in; ++at) {
      const int64_t v = row - 2 + at / in / 3 * 2, u = column - 2 + at / in % 3 * 2;
      if (v < 0 || v >= rows || u < 0 || u >= columns) continue;
      sum += images[((i / out / columns / rows * rows + v) * columns + u) * in + at % in] *
             filter[at * out + o];
    }
    expected.push_back(sum);
  }
  EXPECT_EQ(Sums(runner.Run(inputs).value()[0]), expected);
}

TEST(FusedConvolutionTest, MultipliesSignedAndUnsignedImages) {
  ExpectFusedConvolution<uint8_t>(DType::kQuint8);
  ExpectFusedConvolution<int8_t>(DType::kQint8);
}

TEST(QuantizedConvolutionTest, TakesNoImagesAndNoChannels) {
  for (const Shape& shape : {Shape{0, 4, 4, 2}, Shape{1, 4, 4, 0}}) {
    const int64_t in = shape.dim(3);
    const std::vector<Tensor> inputs = {
        Quantized<uint8_t>(DType::kQuint8, shape, {}),
        Quantized<uint8_t>(DType::kQuint8, {3, 3, in, 4}, std::vector<uint8_t>(9 * in * 4, 7)),
        Number(0),
        Number(1),
        Number(0),
        Number(1)};
    auto runner = KernelRunner::Create("QuantizedConv2D", inputs,
                                       {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
                                        {"padding", "SAME"},
                                        {"out_type", DType::kQint32}});
    ASSERT_TRUE(runner.ok());
    const auto y = runner->Run(inputs);
    if (!y.ok()) continue;  // refused with a status
    for (const int32_t sum : Sums((*y)[0])) EXPECT_EQ(sum, 0);
  }
}

}  // namespace
}  // namespace tessera
