#include <complex>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

template <typename T, typename C>
std::vector<C> EigenvaluesOf(std::vector<T> matrix, DType out) {
  const std::vector<Tensor> inputs = {Tensor::Of<T>({2, 2}, matrix)};
  auto runner = KernelRunner::Create("Eig", inputs, {{"compute_v", true}, {"Tout", out}}).value();
  const std::vector<Tensor> outputs = runner.Run(inputs).value();
  const auto values = outputs[0].flat<C>();
  return {values.begin(), values.end()};
}

// TensorFlow sorts those of complex matrices alone.
TEST(EigTest, EigenvaluesHaveTensorFlowsOrder) {
  using Complex = std::complex<float>;
  EXPECT_EQ((EigenvaluesOf<float, Complex>({5, 0, 0, 1}, DType::kComplex64)),
            (std::vector<Complex>{5, 1}));
  EXPECT_EQ((EigenvaluesOf<float, Complex>({1, 0, 0, 5}, DType::kComplex64)),
            (std::vector<Complex>{1, 5}));
  EXPECT_EQ((EigenvaluesOf<double, std::complex<double>>({5, 0, 0, 1}, DType::kComplex128)),
            (std::vector<std::complex<double>>{5, 1}));
  EXPECT_EQ((EigenvaluesOf<Complex, Complex>({5, 0, 0, 1}, DType::kComplex64)),
            (std::vector<Complex>{1, 5}));
}

}  // namespace
}  // namespace tessera
