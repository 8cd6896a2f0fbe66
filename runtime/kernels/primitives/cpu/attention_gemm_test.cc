#include "runtime/kernels/primitives/cpu/attention_gemm.h"

#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/testing/random_floats.h"

namespace tessera {
namespace {

// The parameter selects AVX-512.
class AttentionGemmTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "needs AVX-512";
  }
  static const simd::Loops& loops() {
    return GetParam() ? simd::avx512::kLoops : simd::avx2::kLoops;
  }
};

// Multiplies some rows by a matrix that is set in each of the ways.
void ExpectProducts(const simd::Loops& loops, int64_t rows, int64_t depth, int64_t columns) {
  SCOPED_TRACE(testing::Message() << rows << " x " << depth << " x " << columns);
  const int64_t row_stride = depth + 2, step = columns + 3, column_stride = depth + 1;
  const int64_t out_stride = columns + 1;
  const auto a = RandomFloats(rows * row_stride, 1), matrix = RandomFloats(depth * step, 2);
  std::vector<float> transposed(columns * column_stride);
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t j = 0; j < columns; ++j) transposed[j * column_stride + k] = matrix[k * step + j];
  }
  HeadMatrix head(loops, depth, columns);
  std::vector<float> workspace(head.size());
  const auto expect = [&](const char* how) {
    std::vector<float> out(rows * out_stride, -77);
    head.Multiply(a.data(), row_stride, rows, out.data(), out_stride);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += double{a[i * row_stride + k]} * matrix[k * step + j];
        ASSERT_NEAR(out[i * out_stride + j], sum, 1e-4) << how << ", " << i << ", " << j;
      }
      ASSERT_EQ(out[i * out_stride + columns], -77) << how << ", beyond row " << i;
    }
  };
  head.Pack(matrix.data(), step, workspace.data());
  expect("packed");
  head.PackTransposed(transposed.data(), column_stride, workspace.data());
  expect("transposed");
  ASSERT_EQ(head.UseInPlace(matrix.data(), step), columns % loops.lanes == 0);
  if (columns % loops.lanes == 0) expect("taken");
}

TEST_P(AttentionGemmTest, OfAnySizes) {
  for (const int64_t rows : {1, 7, 30}) {
    for (const int64_t depth : {0, 1, 64, 127, 128, 129, 300})
      ExpectProducts(loops(), rows, depth, 64);
    for (const int64_t columns : {0, 1, 8, 15, 16, 17, 63, 65, 80, 96, 130, 160}) {
      ExpectProducts(loops(), rows, 40, columns);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionGemmTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Avx512" : "Avx2"; });

}  // namespace
}  // namespace tessera
