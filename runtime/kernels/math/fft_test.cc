#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// Either type is named by the node.
TEST(FftTest, RealAndComplexTypesHaveOnePrecision) {
  const Tensor length = Tensor::Vector<int32_t>({4});
  const Tensor real = Tensor::Zeros(DType::kFloat, {4}).value();
  const Tensor spectrum = Tensor::Zeros(DType::kComplex64, {3}).value();
  EXPECT_TRUE(RunOp("RFFT", {real, length}, {{"Tcomplex", DType::kComplex64}}).ok());
  EXPECT_FALSE(RunOp("RFFT", {real, length}, {{"Tcomplex", DType::kComplex128}}).ok());
  EXPECT_TRUE(RunOp("IRFFT", {spectrum, length}, {{"Treal", DType::kFloat}}).ok());
  EXPECT_FALSE(RunOp("IRFFT", {spectrum, length}, {{"Treal", DType::kDouble}}).ok());
}

TEST(FftTest, LengthsBeyondTheInputAreRefused) {
  const Tensor real = Tensor::Zeros(DType::kFloat, {2, 4}).value();
  const Tensor spectrum = Tensor::Zeros(DType::kComplex64, {2, 3}).value();
  for (const int32_t length : {4, 5}) {
    EXPECT_EQ(RunOp("RFFT", {real, Tensor::Vector<int32_t>({length})}).ok(), length == 4);
    // Three numbers are the spectrum of 4 or 5.
    EXPECT_TRUE(RunOp("IRFFT", {spectrum, Tensor::Vector<int32_t>({length})}).ok());
  }
  const auto huge = RunOp("IRFFT", {spectrum, Tensor::Vector<int32_t>({2147483647})});
  EXPECT_EQ(huge.status().code(), absl::StatusCode::kInvalidArgument);
}

using Wide = std::vector<std::complex<double>>;

// The transform of the lines of [rows, length] by its definition.
Wide Definition(const Wide& x, int64_t length, bool inverse) {
  Wide roots, y(x.size());
  for (int64_t k = 0; k < length; ++k) {
    const double angle = 2 * M_PI * static_cast<double>(k) / static_cast<double>(length);
    roots.push_back(std::polar(1.0, inverse ? angle : -angle));
  }
  for (size_t row = 0; row < x.size(); row += length) {
    for (int64_t k = 0; k < length; ++k) {
      for (int64_t j = 0; j < length; ++j) {
        y[row + k] += x[row + j] * roots[j * k % length];
      }
      if (inverse) y[row + k] /= static_cast<double>(length);
    }
  }
  return y;
}

template <typename C>
Tensor RandomTensor(const Shape& shape, int seed = 1) {
  Tensor tensor = Tensor::Zeros(DTypeOf<C>, shape).value();
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  using T = decltype(std::real(C{}));
  T* const parts = reinterpret_cast<T*>(tensor.mutable_raw());
  for (size_t i = 0; i < tensor.size_bytes() / sizeof(T); ++i) {
    parts[i] = static_cast<T>(normal(bits));
  }
  return tensor;
}

template <typename C>
Wide Widened(const Tensor& x) {
  return Wide(x.data<C>(), x.data<C>() + x.num_elements());
}

// The largest difference over the root of the mean square of what is wanted.
template <typename C>
double Difference(const Tensor& got, const Wide& wanted) {
  double largest = 0, squares = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::abs(std::complex<double>(got.data<C>()[i]) - wanted[i]));
    squares += std::norm(wanted[i]);
  }
  return largest / std::sqrt(squares / static_cast<double>(wanted.size()));
}

// Lengths of each radix and of several, with and without a prime factor that needs a convolution.
constexpr int64_t kLengths[] = {1,  2,  3,  4,  5,  6,  7,   8,   9,   11,  13,  16,  29,   30,  31,
                                32, 37, 64, 74, 77, 97, 100, 128, 210, 256, 400, 512, 1000, 1021};

TEST(FftTest, ComplexTransformsFollowTheirDefinition) {
  for (const int64_t length : kLengths) {
    for (const bool inverse : {false, true}) {
      SCOPED_TRACE(length);
      const char* const op = inverse ? "IFFT" : "FFT";
      // Three lines, and more than a vector has lanes.
      for (const int64_t lines : {3, 19}) {
        const Tensor x = RandomTensor<std::complex<float>>({lines, length});
        const Wide wanted = Definition(Widened<std::complex<float>>(x), length, inverse);
        EXPECT_LT(Difference<std::complex<float>>(RunOp(op, {x}).value(), wanted), 2e-6);
      }
      const Tensor x = RandomTensor<std::complex<double>>({9, length});
      const Wide wanted = Definition(Widened<std::complex<double>>(x), length, inverse);
      EXPECT_LT(Difference<std::complex<double>>(RunOp(op, {x}).value(), wanted), 2e-14);
    }
  }
}

TEST(FftTest, RealTransformsFollowTheirDefinition) {
  for (const int64_t length : kLengths) {
    SCOPED_TRACE(length);
    const int64_t half = length / 2 + 1, lines = 18;
    // More than `length` numbers: the rest is cut off.
    const Tensor x = RandomTensor<float>({lines, length + 2});
    Wide cut;
    for (int64_t i = 0; i < lines * length; ++i) {
      cut.push_back(x.data<float>()[i / length * (length + 2) + i % length]);
    }
    const Wide all = Definition(cut, length, false);
    Wide wanted;
    for (int64_t i = 0; i < lines * half; ++i) wanted.push_back(all[i / half * length + i % half]);
    const Tensor lengths = Tensor::Vector<int32_t>({static_cast<int32_t>(length)});
    const Tensor y = RunOp("RFFT", {x, lengths}).value();
    ASSERT_EQ(y.shape(), (Shape{lines, half}));
    EXPECT_LT(Difference<std::complex<float>>(y, wanted), 2e-6);
    const Tensor back = RunOp("IRFFT", {y, lengths}).value();
    EXPECT_LT(Difference<float>(back, cut), 2e-6);
  }
}

TEST(FftTest, ImaginaryPartsThatNoRealLineHasAreIgnored) {
  for (const int32_t length : {6, 7}) {
    Tensor spectrum = RandomTensor<std::complex<float>>({length / 2 + 1});
    const auto run = [&] {
      return RunOp("IRFFT", {spectrum, Tensor::Vector<int32_t>({length})}).value();
    };
    const Tensor before = run();
    spectrum.data<std::complex<float>>()[0] += std::complex<float>(0, 1);
    if (length % 2 == 0) spectrum.data<std::complex<float>>()[3] += std::complex<float>(0, 1);
    const Tensor after = run();
    EXPECT_EQ(std::memcmp(before.raw(), after.raw(), before.size_bytes()), 0);
  }
}

TEST(FftTest, OtherDimensionsAreTransformedToo) {
  const Tensor x = RandomTensor<float>({2, 12, 9, 20});
  const Tensor lengths = Tensor::Vector<int32_t>({10, 9, 18});
  const Tensor y = RunOp("RFFT3D", {x, lengths}).value();
  ASSERT_EQ(y.shape(), (Shape{2, 10, 9, 10}));
  const double turn = 2 * M_PI;
  for (const auto& [b, k, l, m] : {std::array{0, 3, 2, 5}, std::array{1, 9, 8, 9}}) {
    std::complex<double> sum = 0;
    for (int i = 0; i < 10 * 9 * 18; ++i) {
      const int p = i / 162, q = i / 18 % 9, r = i % 18;
      const double angle = turn * (p * k / 10.0 + q * l / 9.0 + r * m / 18.0);
      sum += std::polar<double>(1, -angle) *
             static_cast<double>(x.data<float>()[((b * 12 + p) * 9 + q) * 20 + r]);
    }
    const std::complex<double> got = y.data<std::complex<float>>()[((b * 10 + k) * 9 + l) * 10 + m];
    EXPECT_LT(std::abs(got - sum), 1e-4);
  }
  const Tensor back = RunOp("IRFFT3D", {y, lengths}).value();
  ASSERT_EQ(back.shape(), (Shape{2, 10, 9, 18}));
  EXPECT_NEAR(back.data<float>()[((1 * 10 + 7) * 9 + 4) * 18 + 11],
              x.data<float>()[((1 * 12 + 7) * 9 + 4) * 20 + 11], 2e-6);
}

TEST(FftTest, LineDoesNotDependOnItsNeighbours) {
  for (const int64_t length : {12, 37, 64, 200}) {
    const Tensor x = RandomTensor<std::complex<float>>({17, length});
    const Tensor all = RunOp("FFT", {x}).value();
    Tensor last = Tensor::Zeros(DType::kComplex64, {length}).value();
    std::memcpy(last.mutable_raw(), x.raw() + 16 * length * 8, length * 8);
    const Tensor alone = RunOp("FFT", {last}).value();
    EXPECT_EQ(std::memcmp(alone.raw(), all.raw() + 16 * length * 8, length * 8), 0);
  }
}

}  // namespace
}  // namespace tessera
