#include "runtime/kernels/primitives/cpu/head_product.h"

#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/random_floats.h"

namespace tessera {
namespace {

// With the loops of each instruction set that this processor has.
class HeadProductTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "needs AVX-512";
  }
  static const panel_loops::Loops& loops() {
    return GetParam() ? panel_loops::avx512::kLoops : panel_loops::avx2::kLoops;
  }
};

// Some rows times a matrix that is given in each way.
void ExpectProducts(const panel_loops::Loops& loops, int64_t rows, int64_t terms, int64_t columns) {
  SCOPED_TRACE(testing::Message() << rows << " x " << terms << " x " << columns);
  const int64_t row_step = terms + 2, step = columns + 3, column_step = terms + 1;
  const int64_t out_step = columns + 1;
  const auto a = RandomFloats(rows * row_step, 1), matrix = RandomFloats(terms * step, 2);
  std::vector<float> transposed(columns * column_step);
  for (int64_t k = 0; k < terms; ++k) {
    for (int64_t j = 0; j < columns; ++j) transposed[j * column_step + k] = matrix[k * step + j];
  }
  HeadMatrix head(loops, terms, columns);
  std::vector<float> room(head.size());
  const auto expect = [&](const char* how) {
    std::vector<float> out(rows * out_step, -77);
    head.Multiply(a.data(), row_step, rows, out.data(), out_step);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < terms; ++k)
          sum += double{a[i * row_step + k]} * matrix[k * step + j];
        ASSERT_NEAR(out[i * out_step + j], sum, 1e-4) << how << ", " << i << ", " << j;
      }
      ASSERT_EQ(out[i * out_step + columns], -77) << how << ", beyond row " << i;
    }
  };
  head.Pack(matrix.data(), step, room.data());
  expect("packed");
  head.PackTransposed(transposed.data(), column_step, room.data());
  expect("transposed");
  ASSERT_EQ(head.Take(matrix.data(), step), columns % loops.lanes == 0);
  if (columns % loops.lanes == 0) expect("taken");
}

TEST_P(HeadProductTest, OfAnySizes) {
  for (const int64_t rows : {1, 7, 30}) {
    for (const int64_t terms : {0, 1, 64, 127, 128, 129, 300})
      ExpectProducts(loops(), rows, terms, 64);
    for (const int64_t columns : {0, 1, 8, 15, 16, 17, 63, 65, 80, 96, 130, 160}) {
      ExpectProducts(loops(), rows, 40, columns);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HeadProductTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Avx512" : "Avx2"; });

}  // namespace
}  // namespace tessera
