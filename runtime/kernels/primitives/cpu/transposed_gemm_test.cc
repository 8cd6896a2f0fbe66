#include "runtime/kernels/primitives/cpu/transposed_gemm.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

class TransposedGemmTest : public ::testing::Test {
 protected:
  // Returns the product of a [k, m] and b [k, n], added to `before` if that has a value.
  Tensor Product(const Tensor& a, const Tensor& b, const Tensor& before = Tensor()) {
    const int64_t k = a.dim(0), m = a.dim(1), n = b.dim(1);
    Tensor output = before.has_value() ? before.DeepCopy().value() : RandomTensor({m, n}, 9);
    KernelContext ctx(step_, nullptr);
    TransposedGemm(ctx, m, n, k, a.data<float>(), b.data<float>(), before.has_value(),
                   output.data<float>());
    return output;
  }

  StepContext step_;
};

TEST_F(TransposedGemmTest, GivesTheProductOfAnySize) {
  for (const int64_t m : {1, 13, 14, 15, 150}) {
    for (const int64_t n : {1, 17, 32, 290}) {
      for (const int64_t k : {1, 7, 256, 257}) {
        SCOPED_TRACE(testing::Message() << k << " x " << m << ", " << k << " x " << n);
        const Tensor a = RandomTensor({k, m}, 1), b = RandomTensor({k, n}, 2);
        const Tensor before = RandomTensor({m, n}, 3);
        const Tensor product = Product(a, b), sum = Product(a, b, before);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            double expected = 0;
            for (int64_t p = 0; p < k; ++p) {
              expected += double{a.data<float>()[p * m + i]} * b.data<float>()[p * n + j];
            }
            const double error = 4e-6 * std::sqrt(k);
            ASSERT_NEAR(product.data<float>()[i * n + j], expected, error) << i << ", " << j;
            ASSERT_NEAR(sum.data<float>()[i * n + j], expected + before.data<float>()[i * n + j],
                        error)
                << i << ", " << j;
          }
        }
      }
    }
  }
}

TEST_F(TransposedGemmTest, MultipliesRowsByATransposedCopy) {
  const PostOps post_ops[] = {{},
                              {.activation = Activation::kRelu},
                              {.bias = true, .activation = Activation::kTanh},
                              {.bias = true, .add = true, .activation = Activation::kRelu6}};
  for (const int64_t m : {1, 15, 150}) {
    for (const int64_t n : {17, 290}) {
      for (const int64_t k : {7, 257}) {
        for (const PostOps& ops : post_ops) {
          SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n << ", bias " << ops.bias
                                          << ", add " << ops.add);
          const Tensor a = RandomTensor({m, k}, 1), b = RandomTensor({k, n}, 2);
          const Tensor bias = RandomTensor({n}, 3), before = RandomTensor({m, n}, 4);
          Tensor output = before.DeepCopy().value();
          KernelContext ctx(step_, nullptr);
          ASSERT_TRUE(TransposingGemm(ctx, m, n, k, ops, a.data<float>(), b.data<float>(),
                                      ops.bias ? bias.data<float>() : nullptr, output.data<float>())
                          .ok());
          const std::vector<double> expected =
              ReferenceMatMul(m, n, k, /*transpose_b=*/false, ops, a, b, bias, before);
          for (int64_t i = 0; i < m * n; ++i) {
            ASSERT_NEAR(output.data<float>()[i], expected[i], 4e-6 * std::sqrt(k)) << i;
          }
        }
      }
    }
  }
}

TEST_F(TransposedGemmTest, GivesTheSameBitsWithThreads) {
  const Tensor a = RandomTensor({700, 200}, 1), b = RandomTensor({700, 600}, 2);
  const Tensor alone = Product(a, b);
  ThreadPool pool({.name = "test", .num_threads = 3});
  step_.intra_op_pool = &pool;
  const Tensor shared = Product(a, b);
  EXPECT_EQ(std::vector<float>(alone.data<float>(), alone.data<float>() + alone.num_elements()),
            std::vector<float>(shared.data<float>(), shared.data<float>() + shared.num_elements()));
}

TEST_F(TransposedGemmTest, ANaNSpreadsThroughItsRowAlone) {
  Tensor a = RandomTensor({300, 40}, 1);
  const Tensor b = RandomTensor({300, 50}, 2);
  a.data<float>()[123 * 40 + 17] = std::numeric_limits<float>::quiet_NaN();
  const Tensor product = Product(a, b);
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t j = 0; j < 50; ++j) {
      EXPECT_EQ(std::isnan(product.data<float>()[i * 50 + j]), i == 17) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace tessera
