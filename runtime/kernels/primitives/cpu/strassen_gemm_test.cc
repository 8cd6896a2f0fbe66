#include "runtime/kernels/primitives/cpu/strassen_gemm.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/blocked_gemm.h"
#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/strassen.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

constexpr double kUlps = 8;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class StrassenGemmTest : public ::testing::Test {
 protected:
  // Multiplies a() by b() into output().
  void Multiply(const PostOps& post_ops = PostOps()) {
    ASSERT_TRUE(StrassenSupports(n(), k()));
    KernelContext ctx(step_, nullptr);
    PackedWeights packed;
    ASSERT_EQ(StrassenMatMul(ctx,
                             {.m = m(),
                              .n = n(),
                              .k = k(),
                              .post_ops = post_ops,
                              .a = a_.data<float>(),
                              .b = b_,
                              .bias = post_ops.bias ? bias_.data<float>() : nullptr,
                              .packed = &packed,
                              .output = output_.data<float>()},
                             [](KernelContext&, int64_t, int64_t) {
                               return absl::InternalError("rows were left over");
                             }),
              absl::OkStatus());
  }

  void Make(int64_t m, int64_t n, int64_t k) {
    a_ = RandomTensor({m, k}, 1);
    b_ = RandomTensor({k, n}, 2);
    bias_ = RandomTensor({n}, 3);
    output_ = RandomTensor({m, n}, 4);
    before_ = output_.DeepCopy().value();
  }

  std::vector<double> Exact(const PostOps& post_ops = PostOps()) const {
    return ReferenceMatMul(m(), n(), k(), false, post_ops, a_, b_, bias_, before_);
  }

  // Expects each sum within `ulps` units in the last place of the norm of its row times that of its
  // column.
  void ExpectNear(const std::vector<double>& expected, double ulps) const {
    std::vector<double> rows(m()), columns(n());
    for (int64_t t = 0; t < k(); ++t) {
      for (int64_t i = 0; i < m(); ++i) rows[i] += a(i, t) * a(i, t);
      for (int64_t j = 0; j < n(); ++j) columns[j] += b(t, j) * b(t, j);
    }
    for (int64_t i = 0; i < m(); ++i) {
      for (int64_t j = 0; j < n(); ++j) {
        const double x = expected[i * n() + j];
        if (std::isfinite(x)) {
          ASSERT_NEAR(output(i, j), x, ulps * 0x1p-23 * std::sqrt(rows[i] * columns[j]))
              << "at " << i << ", " << j;
        } else if (std::isnan(x)) {
          ASSERT_TRUE(std::isnan(output(i, j))) << "at " << i << ", " << j;
        } else {
          ASSERT_EQ(output(i, j), static_cast<float>(x)) << "at " << i << ", " << j;
        }
      }
    }
  }

  void ExpectExact(int64_t m, int64_t n, int64_t k, const PostOps& post_ops) {
    SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n);
    Make(m, n, k);
    Multiply(post_ops);
    ExpectNear(Exact(post_ops), kUlps);
  }

  int64_t m() const { return a_.dim(0); }
  int64_t n() const { return b_.dim(1); }
  int64_t k() const { return b_.dim(0); }
  float& a(int64_t i, int64_t t) const { return const_cast<float&>(a_.data<float>()[i * k() + t]); }
  float& b(int64_t t, int64_t j) const { return const_cast<float&>(b_.data<float>()[t * n() + j]); }
  float output(int64_t i, int64_t j) const { return output_.data<float>()[i * n() + j]; }

  const int64_t block_rows_ = strassen::BlockStepForCpu().max_rows;
  StepContext step_;
  Tensor a_, b_, bias_, output_, before_;
};

TEST_F(StrassenGemmTest, GivesTheProductOfAnySize) {
  for (const int64_t m : {256, 257, 279, 281, 307, 308}) ExpectExact(m, 128, 256, PostOps());
  for (const int64_t n : {128, 161, 175, 176, 177, 192, 500}) ExpectExact(400, n, 256, PostOps());
  for (const int64_t k : {256, 288, 512, 768, 800, 1024, 1600}) {
    ExpectExact(400, 128, k, PostOps());
  }
  ExpectExact(2000, 128, 768, PostOps());
}

TEST_F(StrassenGemmTest, MultipliesALastPanelWithoutAPartner) {
  for (const int64_t n : {33, 65, 96, 129, 160, 352}) ExpectExact(397, n, 512, PostOps());
  ExpectExact(397, 144, 1600, {.bias = true, .add = true, .activation = Activation::kGeluErf});
  Make(400, 160, 512);
  a(3, 5) = kInfinity;
  b(7, 159) = 1e20f;
  Multiply();
  ExpectNear(Exact(), kUlps);
}

TEST_F(StrassenGemmTest, EndsInBiasAdditionAndActivation) {
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu6, Activation::kGeluErf}) {
    for (const bool add : {false, true}) {
      // In both cases the last pair has an odd number of rows, which must be added only once.
      const PostOps post_ops{.bias = true, .add = add, .activation = activation};
      ExpectExact(397, 192, 320, post_ops);
      ExpectExact(397, 192, 1600, post_ops);
    }
  }
}

TEST_F(StrassenGemmTest, SharesColumnsOutAmongThreadsWithFewRows) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  step_.intra_op_pool = &pool;
  ExpectExact(128, 1000, 800, {.bias = true, .add = true, .activation = Activation::kGeluErf});
}

TEST_F(StrassenGemmTest, SumsOfWeightsAreMadeByAnyRows) {
  // The first rows are multiplied directly, so that later ones make the sums: whole blocks, or the
  // last ones, which are not whole.
  for (const int64_t m : {112, 40}) {
    Make(m, 192, 320);
    for (int64_t i = 0; i < block_rows_; ++i) {
      for (int64_t t = 0; t < k(); ++t) a(i, t) *= 1e6f;
    }
    Multiply();
    ExpectNear(Exact(), kUlps);
  }
}

TEST_F(StrassenGemmTest, SharesRowsOutAmongThreads) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  step_.intra_op_pool = &pool;
  ExpectExact(800, 192, 800, {.bias = true, .activation = Activation::kRelu});
}

TEST_F(StrassenGemmTest, RowsKeepTheirPrecisionBesideMuchLargerOnes) {
  Make(400, 128, 256);
  // The second block of each pair is a million times as large, or zero.
  for (int64_t i = 0; i < m(); ++i) {
    const float scale = i / block_rows_ % 2 == 0 ? 1 : i < 200 ? 1e6f : 0;
    for (int64_t t = 0; t < k(); ++t) a(i, t) *= scale;
  }
  Multiply();
  ExpectNear(Exact(), kUlps);
}

TEST_F(StrassenGemmTest, ColumnsKeepTheirPrecisionBesideMuchLargerOnes) {
  Make(400, 256, 256);
  for (int64_t j = 0; j < n(); ++j) {
    const float scale = j / gemm::kBlock % 2 == 0 ? 1 : j < 128 ? 1e-6f : 0;
    for (int64_t t = 0; t < k(); ++t) b(t, j) *= scale;
  }
  Multiply();
  ExpectNear(Exact(), kUlps);
}

TEST_F(StrassenGemmTest, PartnersMayDifferAsMuchAsIsBalanced) {
  Make(400, 128, 256);
  for (int64_t i = 0; i < m(); ++i) {
    if (i / block_rows_ % 2 == 0) continue;
    for (int64_t t = 0; t < k(); ++t) a(i, t) *= strassen::kBalance / 2;
  }
  Multiply();
  ExpectNear(Exact(), kUlps * strassen::kBalance);
}

TEST_F(StrassenGemmTest, LargeElementsThatWeightsHardlyCountDoNotDrownTheOthers) {
  for (const int64_t k : {256, 1600}) {
    for (const float weight : {0.0f, 1e-6f}) {
      Make(400, 160, k);
      for (int64_t j = 0; j < n(); ++j) b(7, j) *= weight;
      for (int64_t i = 0; i < m(); ++i) a(i, 7) *= 1e6f;
      Multiply();
      const std::vector<double> expected = Exact();
      // The norms must be those of what remains of the elements.
      for (int64_t j = 0; j < n(); ++j) b(7, j) = 0;
      for (int64_t i = 0; i < m(); ++i) a(i, 7) = 0;
      ExpectNear(expected, kUlps);
    }
  }
}

TEST_F(StrassenGemmTest, InfinitiesAndNaNsStayInTheirRows) {
  Make(400, 128, 320);
  a(3, 5) = kInfinity;
  a(130, 300) = -kInfinity;
  a(399, 0) = std::nanf("");
  Multiply();
  ExpectNear(Exact(), kUlps);
}

TEST_F(StrassenGemmTest, LargeNumbersOverflowOnlyWhereTheirProductsDo) {
  for (const float scale : {0x1p50f, 0x1p55f, 0x1p58f}) {
    Make(400, 128, 1024);
    for (float& x : a_.flat<float>()) x *= scale;
    for (float& x : b_.flat<float>()) x *= scale;
    Multiply();
    ExpectNear(Exact(), kUlps);
  }
}

}  // namespace
}  // namespace tessera
