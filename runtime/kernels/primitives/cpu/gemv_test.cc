#include "runtime/kernels/primitives/cpu/gemv.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

void ExpectExact(StepContext& step, int64_t m, int64_t n, int64_t k, bool transpose_b,
                 const PostOps& post_ops) {
  SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n << ", " << transpose_b);
  const Tensor a = RandomTensor({m, k}, 1);
  const Tensor b = RandomTensor(transpose_b ? Shape{n, k} : Shape{k, n}, 2);
  const Tensor bias = RandomTensor({n}, 3);
  Tensor output = RandomTensor({m, n}, 4);
  const Tensor before = output.DeepCopy().value();
  KernelContext ctx(step, nullptr);
  ASSERT_TRUE(Gemv(ctx, m, n, k, transpose_b, post_ops, a.data<float>(), b.data<float>(),
                   post_ops.bias ? bias.data<float>() : nullptr, output.data<float>())
                  .ok());
  const std::vector<double> expected =
      ReferenceMatMul(m, n, k, transpose_b, post_ops, a, b, bias, before);
  for (int64_t i = 0; i < m * n; ++i) {
    ASSERT_NEAR(output.data<float>()[i], expected[i], 4e-6 * std::sqrt(k)) << "at " << i;
  }
}

TEST(GemvTest, GivesTheProductOfAnySize) {
  StepContext step;
  for (const bool transpose_b : {false, true}) {
    for (int64_t m = 1; m <= kMaxGemvRows; ++m) {
      for (const int64_t n : {1, 15, 16, 17, 600, 1100}) {
        for (const int64_t k : {1, 3, 4, 33, 70}) {
          ExpectExact(step, m, n, k, transpose_b, PostOps());
        }
      }
    }
  }
}

TEST(GemvTest, TheMatrixMayLieAnywhere) {
  // Weights in a mapped file begin at any multiple of four bytes.
  StepContext step;
  KernelContext ctx(step, nullptr);
  for (const int64_t m : {1, 3}) {
    for (const int64_t n : {16, 560, 561}) {
      const int64_t k = 13;
      const Tensor a = RandomTensor({m, k}, 1), b = RandomTensor({k, n}, 2);
      const Tensor unused = RandomTensor({m, n}, 5);
      const std::vector<double> expected =
          ReferenceMatMul(m, n, k, false, PostOps(), a, b, unused, unused);
      for (int64_t offset = 0; offset < 16; ++offset) {
        Tensor moved = RandomTensor({offset + k * n}, 3), output = RandomTensor({m, n}, 4);
        std::copy_n(b.data<float>(), k * n, moved.data<float>() + offset);
        ASSERT_TRUE(Gemv(ctx, m, n, k, false, PostOps(), a.data<float>(),
                         moved.data<float>() + offset, nullptr, output.data<float>())
                        .ok());
        for (int64_t i = 0; i < m * n; ++i) {
          ASSERT_NEAR(output.data<float>()[i], expected[i], 4e-6 * std::sqrt(k))
              << m << " x " << n << ", offset " << offset << ", at " << i;
        }
      }
    }
  }
}

TEST(GemvTest, SharesTheMatrixOutAndEndsAsAsked) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  StepContext step;
  step.intra_op_pool = &pool;
  for (const bool transpose_b : {false, true}) {
    ExpectExact(step, 1, 1000, 2048, transpose_b,
                {.bias = true, .add = true, .activation = Activation::kRelu});
    ExpectExact(step, 2, 999, 300, transpose_b, {.bias = true, .activation = Activation::kGeluErf});
  }
}

TEST(GemvTest, AMatrixOfBfloat16GivesWhatItsFloatsGive) {
  if (!HasAvx512()) GTEST_SKIP() << "needs AVX-512";
  ThreadPool pool({.name = "test", .num_threads = 3});
  StepContext step;
  step.intra_op_pool = &pool;
  KernelContext ctx(step, nullptr);
  for (const bool transpose_b : {false, true}) {
    for (int64_t m = 1; m <= kMaxGemvRows; ++m) {
      for (const int64_t n : {1, 15, 16, 17, 600, 4100}) {
        for (const int64_t k : {1, 3, 17, 70, 300}) {
          SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n << ", " << transpose_b);
          // With one element in front, the matrix begins at an odd multiple of two bytes.
          Tensor narrow = Tensor::Allocate(DType::kBfloat16, {1 + k * n}).value();
          NarrowFromFloat(RandomTensor({1 + k * n}, 1), &narrow);
          const Tensor wide = WidenToFloat(narrow, HeapAllocator()).value();
          const Tensor a = RandomTensor({m, k}, 2);
          Tensor got = RandomTensor({m, n}, 3), want = got.DeepCopy().value();
          const PostOps post_ops{.add = true, .activation = Activation::kRelu};

          ASSERT_TRUE(Gemv(ctx, m, n, k, transpose_b, post_ops, a.data<float>(),
                           narrow.data<Eigen::bfloat16>() + 1, nullptr, got.data<float>())
                          .ok());

          ASSERT_TRUE(Gemv(ctx, m, n, k, transpose_b, post_ops, a.data<float>(),
                           wide.data<float>() + 1, nullptr, want.data<float>())
                          .ok());
          for (int64_t i = 0; i < m * n; ++i) {
            ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 4e-6 * std::sqrt(k))
                << "at " << i;
          }
        }
      }
    }
  }
}

TEST(GemvTest, InfinitiesStayInTheirColumn) {
  Tensor b = RandomTensor({8, 20}, 1);
  b.data<float>()[3 * 20 + 7] = std::numeric_limits<float>::infinity();
  Tensor a = RandomTensor({1, 8}, 2);
  a.data<float>()[3] = 1;
  Tensor output = RandomTensor({1, 20}, 3);
  StepContext step;
  KernelContext ctx(step, nullptr);
  ASSERT_TRUE(Gemv(ctx, 1, 20, 8, false, PostOps(), a.data<float>(), b.data<float>(), nullptr,
                   output.data<float>())
                  .ok());
  for (int64_t j = 0; j < 20; ++j) {
    EXPECT_EQ(std::isinf(output.data<float>()[j]), j == 7) << "at " << j;
  }
}

}  // namespace
}  // namespace tessera
