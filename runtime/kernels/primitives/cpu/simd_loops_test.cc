#include "runtime/kernels/primitives/cpu/simd_loops.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/testing/random_floats.h"

namespace tessera::simd {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

float Bound(double x, const Bounds& bounds) {
  return static_cast<float>(x < bounds.low ? bounds.low : x > bounds.high ? bounds.high : x);
}

// The parameter selects AVX-512.
class SimdLoopsTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "needs AVX-512";
  }
  const Loops& loops() const { return GetParam() ? avx512::kLoops : avx2::kLoops; }
};

// Only `columns` columns of a panel may be written; guards around them must not change.
void ExpectProduct(const Loops& loops, int64_t vectors, int64_t rows, int64_t depth,
                   int64_t columns, bool adds, const Bounds& bounds) {
  SCOPED_TRACE(testing::Message() << vectors << " vectors, " << rows << " rows, " << depth
                                  << " depth, " << columns << " columns");
  const int64_t panel = vectors * loops.lanes, a_stride = depth + 3, out_stride = columns + 1;
  const int64_t weights_stride = panel + depth % 2;
  const auto a = RandomFloats(rows * a_stride, 1),
             weights = RandomFloats(depth * weights_stride, 2);
  const auto bias = RandomFloats(panel, 3), addend = RandomFloats(rows * panel, 4);
  std::vector<float> out(rows * out_stride, -77);
  loops.multiply(vectors, {.rows = rows,
                           .depth = depth,
                           .columns = columns,
                           .a = a.data(),
                           .a_stride = a_stride,
                           .weights = weights.data(),
                           .weights_stride = weights_stride,
                           .bias = adds ? bias.data() : nullptr,
                           .addend = adds ? addend.data() : nullptr,
                           .addend_stride = panel,
                           .bounds = bounds,
                           .out = out.data(),
                           .out_stride = out_stride,
                           .prefetch = {weights.data(), rows % 3 * 100, rows % 4, 120}});
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      double sum = adds ? bias[j] + addend[i * panel + j] : 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += double{a[i * a_stride + k]} * weights[k * weights_stride + j];
      ASSERT_NEAR(out[i * out_stride + j], Bound(sum, bounds), 1e-5) << i << ", " << j;
    }
    ASSERT_EQ(out[i * out_stride + columns], -77) << "beyond row " << i;
  }
}

TEST_P(SimdLoopsTest, ProductsOfEachNumberOfRowsAndColumns) {
  for (int64_t vectors = 1; vectors <= kMaxVectors; ++vectors) {
    for (int64_t rows = 0; rows <= 20; ++rows) {
      const int64_t columns = vectors * loops().lanes - rows % loops().lanes;
      ExpectProduct(loops(), vectors, rows, 5, columns, rows % 2 == 0, {-kInfinity, kInfinity});
    }
    ExpectProduct(loops(), vectors, 100, 33, 1, true, {0, 1});
    ExpectProduct(loops(), vectors, 7, 0, loops().lanes, true, {-1, 1});
  }
}

TEST_P(SimdLoopsTest, TransposesEachNumberOfRowsAndColumns) {
  const int64_t lanes = loops().lanes;
  for (int64_t rows = 0; rows <= 2 * lanes + 1; ++rows) {
    const int64_t stored = (rows + lanes - 1) / lanes * lanes;
    for (const int64_t columns : {1, 3, 4, 7, 8, 15, 16, 17, 64}) {
      const int64_t from_stride = columns + 2, to_stride = stored + 3;
      const auto from = RandomFloats(stored * from_stride, 1);
      std::vector<float> to(columns * to_stride, -77);
      loops().transpose({.rows = rows,
                         .columns = columns,
                         .from = from.data(),
                         .from_stride = from_stride,
                         .to = to.data(),
                         .to_stride = to_stride,
                         .prefetches = columns % 2 == 1});
      for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = 0; i < to_stride; ++i) {
          const float expected = i >= stored ? -77 : i < rows ? from[i * from_stride + j] : 0;
          ASSERT_EQ(to[j * to_stride + i], expected) << i << ", " << j;
        }
      }
    }
  }
}

void ExpectDepthwise(const Loops& loops, int64_t height, int64_t width, int64_t stride,
                     int64_t dilation, int64_t outputs) {
  SCOPED_TRACE(testing::Message() << height << "x" << width << ", stride " << stride
                                  << ", dilation " << dilation << ", " << outputs << " outputs");
  constexpr int64_t kVectors = 2;
  const int64_t panel = kVectors * loops.lanes;
  const int64_t points = (outputs - 1) * stride + (width - 1) * dilation + 1;
  const auto input = RandomFloats(height * points * panel, 1);
  const auto weights = RandomFloats(height * width * panel, 2), bias = RandomFloats(panel, 3);
  std::vector<const float*> rows;
  for (int64_t y = 0; y < height; ++y) rows.push_back(&input[y * points * panel]);
  std::vector<float> out(outputs * 3 * panel);
  const Bounds bounds{0, 2};
  loops.depthwise(kVectors, {.outputs = outputs,
                             .rows = rows.data(),
                             .height = height,
                             .width = width,
                             .stride = stride,
                             .dilation = dilation,
                             .weights = weights.data(),
                             .bias = bias.data(),
                             .bounds = bounds,
                             .out = out.data(),
                             .out_stride = 3 * panel});
  for (int64_t i = 0; i < outputs; ++i) {
    for (int64_t c = 0; c < panel; ++c) {
      double sum = bias[c];
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) {
          sum += double{rows[y][(i * stride + x * dilation) * panel + c]} *
                 weights[(y * width + x) * panel + c];
        }
      }
      ASSERT_NEAR(out[i * 3 * panel + c], Bound(sum, bounds), 1e-5) << i << ", " << c;
    }
  }
}

TEST_P(SimdLoopsTest, DepthwiseConvolutionsOfEachGeometry) {
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t dilation : {1, 2}) {
      for (int64_t outputs = 1; outputs <= 9; ++outputs) {
        ExpectDepthwise(loops(), 3, 3, stride, dilation, outputs);
        ExpectDepthwise(loops(), 1, 2, stride, dilation, outputs);
      }
      ExpectDepthwise(loops(), 5, 5, stride, dilation, 6);
      ExpectDepthwise(loops(), 1, 1, stride, dilation, 6);
    }
  }
}

TEST_P(SimdLoopsTest, ANaNPassesTheBounds) {
  const int64_t lanes = loops().lanes;
  const std::vector<float> a = {1, kNaN}, weights(lanes, 2.0f), bias(lanes, 0.0f);
  std::vector<float> out(2 * lanes);
  loops().multiply(1, {.rows = 2,
                       .depth = 1,
                       .columns = lanes,
                       .a = a.data(),
                       .a_stride = 1,
                       .weights = weights.data(),
                       .bounds = {0, 6},
                       .out = out.data(),
                       .out_stride = lanes});
  EXPECT_EQ(out[0], 2);
  EXPECT_TRUE(std::isnan(out[lanes]));

  const std::vector<float> points(lanes, kNaN);
  const float* const row = points.data();
  loops().depthwise(1, {.outputs = 1,
                        .rows = &row,
                        .height = 1,
                        .width = 1,
                        .weights = weights.data(),
                        .bias = bias.data(),
                        .bounds = {0, 6},
                        .out = out.data(),
                        .out_stride = lanes});
  EXPECT_TRUE(std::isnan(out[0]));
}

INSTANTIATE_TEST_SUITE_P(All, SimdLoopsTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Avx512" : "Avx2"; });

}  // namespace
}  // namespace tessera::simd
