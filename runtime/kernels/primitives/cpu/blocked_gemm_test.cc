#include "runtime/kernels/primitives/cpu/blocked_gemm.h"

#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/testing/kernel_product.h"
#include "runtime/kernels/primitives/cpu/testing/micro_kernels.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

// The fallback of products that the micro-kernel must not reject.
absl::Status ComputeNone(KernelContext&, int64_t first, int64_t count) {
  return absl::InternalError(absl::StrCat(count, " rows from ", first, " on were left over"));
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class BlockedGemmTest : public ::testing::TestWithParam<TestedMicroKernel> {
 protected:
  void SetUp() override {
    if (!GetParam().is_supported()) GTEST_SKIP() << "needs " << GetParam().instructions;
  }

  const gemm::MicroKernel& kernel() const { return GetParam().kernel(); }
  bool splits() const { return GetParam().splits; }

  // Expects the accuracy of float sums.
  void ExpectExact(int64_t m, int64_t n, int64_t k, PostOps post_ops, bool transpose_b = false) {
    SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n);
    const Tensor a = RandomTensor({m, k}, 1);
    const Tensor b = RandomTensor(transpose_b ? Shape{n, k} : Shape{k, n}, 2);
    const Tensor bias = RandomTensor({n}, 3);
    Tensor output = RandomTensor({m, n}, 4);
    const Tensor before = output.DeepCopy().value();
    PackedWeights packed;
    KernelContext ctx(step_, nullptr);
    ASSERT_EQ(BlockedMatMul(ctx, kernel(),
                            {.m = m,
                             .n = n,
                             .k = k,
                             .transpose_b = transpose_b,
                             .post_ops = post_ops,
                             .a = a.data<float>(),
                             .b = b,
                             .bias = post_ops.bias ? bias.data<float>() : nullptr,
                             .packed = &packed,
                             .output = output.data<float>()},
                            ComputeNone),
              absl::OkStatus());
    const std::vector<double> expected =
        ReferenceMatMul(m, n, k, transpose_b, post_ops, a, b, bias, before);
    for (int64_t i = 0; i < m * n; ++i) {
      ASSERT_NEAR(output.data<float>()[i], expected[i], 4e-6 * std::sqrt(k)) << "at " << i;
    }
  }

  StepContext step_;
};

TEST_P(BlockedGemmTest, GivesTheProductOfAnySize) {
  ExpectExact(64, 64, 64, PostOps());
  for (const int64_t m : {1, 15, 16, 17, 33}) ExpectExact(m, 40, 50, PostOps());
  for (const int64_t n : {1, 16, 17, 31, 33}) ExpectExact(20, n, 50, PostOps());
  for (const int64_t k : {1, 2, 31, 32, 33, 63}) ExpectExact(20, 40, k, PostOps());
}

TEST_P(BlockedGemmTest, GoesThroughWeightsBeyondTheCacheByColumns) {
  ExpectExact(70, 200, 2100, {.bias = true, .add = true, .activation = Activation::kRelu});
  ExpectExact(600, 160, 700, {.bias = true});
}

TEST_P(BlockedGemmTest, GoesThroughManyRowsInPieces) { ExpectExact(9000, 33, 40, {.add = true}); }

TEST_P(BlockedGemmTest, TakesTransposedWeights) {
  ExpectExact(33, 70, 45, {.bias = true}, /*transpose_b=*/true);
}

TEST_P(BlockedGemmTest, EndsInBiasAdditionAndEachActivation) {
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kRelu6, Activation::kElu,
        Activation::kLeakyRelu, Activation::kTanh, Activation::kSigmoid, Activation::kSwish,
        Activation::kGeluErf, Activation::kGeluTanh}) {
    for (const bool add : {false, true}) {
      ExpectExact(37, 45, 33, {.bias = true, .add = add, .activation = activation, .alpha = 0.3f});
    }
  }
}

TEST_P(BlockedGemmTest, SharesRowsOrColumnsOutAmongThreads) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  step_.intra_op_pool = &pool;
  ExpectExact(500, 64, 96, {.bias = true, .activation = Activation::kRelu});
  ExpectExact(100, 300, 1100, {.bias = true, .activation = Activation::kGeluErf});
}

TEST_P(BlockedGemmTest, FewRowsHaveTheBitsOfManyRows) {
  KernelContext ctx(step_, nullptr);
  for (const Activation activation :
       {Activation::kRelu, Activation::kElu, Activation::kSwish, Activation::kGeluErf}) {
    const PostOps post_ops{.bias = true, .add = true, .activation = activation};
    for (const int64_t n : {40, 128, 250, 300}) {
      for (const int64_t k : {7, 300, 2100}) {
        const Tensor a = RandomTensor({14, k}, 1), b = RandomTensor({k, n}, 2);
        const Tensor bias = RandomTensor({n}, 3), before = RandomTensor({14, n}, 4);
        PackedWeights packed;
        const auto product = [&](int64_t rows) {
          Tensor output = before.Slice(0, rows).DeepCopy().value();
          EXPECT_EQ(BlockedMatMul(ctx, kernel(),
                                  {.m = rows,
                                   .n = n,
                                   .k = k,
                                   .post_ops = post_ops,
                                   .a = a.data<float>(),
                                   .b = b,
                                   .bias = bias.data<float>(),
                                   .packed = &packed,
                                   .output = output.data<float>()},
                                  ComputeNone),
                    absl::OkStatus());
          return output;
        };
        const Tensor all = product(14);
        for (const int64_t rows : {1, 2, 3}) {
          const Tensor few = product(rows);
          for (int64_t i = 0; i < rows * n; ++i) {
            ASSERT_EQ(few.data<float>()[i], all.data<float>()[i])
                << rows << " x " << k << " x " << n << " at " << i;
          }
        }
      }
    }
  }
}

TEST_P(BlockedGemmTest, KeepsAllBitsOfAFloat) {
  // The values differ by less than 16 bits can represent.
  Tensor a = Tensor::Allocate(DType::kFloat, {16, 32}).value();
  Tensor b = Tensor::Allocate(DType::kFloat, {32, 16}).value();
  for (float& x : a.flat<float>()) x = 1.0f + 0x1p-23f;
  for (float& x : b.flat<float>()) x = 1.0f;
  PackedWeights packed;
  KernelContext ctx(step_, nullptr);
  Tensor output = RandomTensor({16, 16}, 1);
  ASSERT_TRUE(BlockedMatMul(ctx, kernel(),
                            {.m = 16,
                             .n = 16,
                             .k = 32,
                             .post_ops = PostOps(),
                             .a = a.data<float>(),
                             .b = b,
                             .packed = &packed,
                             .output = output.data<float>()},
                            ComputeNone)
                  .ok());
  for (const float x : output.flat<float>()) ASSERT_EQ(x, 32 * (1.0f + 0x1p-23f));
}

// Returns the rows for which fallback() is called.
std::vector<bool> RowsLeft(StepContext& step, const gemm::MicroKernel& kernel, int64_t m, int64_t n,
                           int64_t k, const Tensor& a, const Tensor& b) {
  KernelContext ctx(step, nullptr);
  PackedWeights packed;
  Tensor output = RandomTensor({m, n}, 3);
  std::mutex mu;
  std::vector<bool> left(m);
  const auto compute = [&](KernelContext&, int64_t first, int64_t count) {
    std::lock_guard<std::mutex> lock(mu);
    for (int64_t i = first; i < first + count; ++i) left[i] = true;
    return absl::OkStatus();
  };
  EXPECT_EQ(BlockedMatMul(ctx, kernel,
                          {.m = m,
                           .n = n,
                           .k = k,
                           .post_ops = PostOps(),
                           .a = a.data<float>(),
                           .b = b,
                           .packed = &packed,
                           .output = output.data<float>()},
                          compute),
            absl::OkStatus());
  return left;
}

TEST_P(BlockedGemmTest, LeavesRowsThatItHasNoProductsOf) {
  const int64_t m = 9000, n = 32, k = 40;
  Tensor a = RandomTensor({m, k}, 1);
  const Tensor b = RandomTensor({k, n}, 2);
  a.data<float>()[(m - 1) * k + 7] = kInfinity;
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    step_.intra_op_pool = threads;
    const std::vector<bool> left = RowsLeft(step_, kernel(), m, n, k, a, b);
    EXPECT_EQ(left.back(), splits());
    EXPECT_FALSE(left.front());
  }
}

TEST_P(BlockedGemmTest, LeavesAllRowsOfWeightsThatItHasNoProductsOf) {
  const Tensor a = RandomTensor({32, 32}, 1);
  for (const float value : {kInfinity, -kInfinity, std::nanf(""), 0x1p62f}) {
    Tensor b = RandomTensor({32, 32}, 2);
    b.data<float>()[5] = value;
    const bool leaves = splits() || !std::isfinite(value);
    EXPECT_EQ(RowsLeft(step_, kernel(), 32, 32, 32, a, b), std::vector<bool>(32, leaves));
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, BlockedGemmTest, ::testing::ValuesIn(kTestedMicroKernels),
                         NameOfMicroKernel);

// With three chunks for two threads, one thread would compute two and the other wait.
TEST(ParallelItemsTest, GivesEachThreadAsMany) {
  for (const int threads : {2, 3}) {
    ThreadPool pool({.num_threads = threads});
    StepContext step;
    step.intra_op_pool = &pool;
    KernelContext ctx(step, nullptr);
    for (const int64_t count : {392, 400, 1000, 10000}) {
      SCOPED_TRACE(testing::Message() << count << " on " << threads);
      std::mutex mu;
      std::map<int64_t, int64_t> chunks;  // length by first item
      ASSERT_TRUE(ParallelItems(ctx, count, 1, [&](KernelContext&, int64_t first, int64_t length) {
                    std::lock_guard<std::mutex> lock(mu);
                    chunks[first] = length;
                    return absl::OkStatus();
                  }).ok());
      EXPECT_EQ(chunks.size() % threads, 0);
      const bool has_one_each = chunks.size() == static_cast<size_t>(threads);
      EXPECT_TRUE(has_one_each || count / chunks.size() >= 2 * kMinRowsPerThread);
      int64_t next = 0;
      for (const auto& [first, length] : chunks) {
        EXPECT_EQ(first, next);
        EXPECT_NEAR(length, count / chunks.size(), 1);
        next = first + length;
      }
      EXPECT_EQ(next, count);
    }
  }
}

// This test also holds without AMX.
TEST(MatMulTest, ProductsBeyondAFloatAreInfinite) {
  const int64_t m = 64, n = 96, k = 64;
  Tensor a = RandomTensor({m, k}, 1), b = RandomTensor({k, n}, 2);
  // The bfloat16 parts have both signs.
  for (float& x : a.flat<float>()) x = 1.2345e30f;
  for (float& x : b.flat<float>()) x = 9.8765e29f;
  Tensor output = RandomTensor({m, n}, 3);
  KernelProduct product(b, {.is_constant = true});
  ASSERT_TRUE(product.Run({.m = m, .n = n, .k = k}, PostOps(), a, {}, &output).ok());
  for (const float x : output.flat<float>()) ASSERT_EQ(x, kInfinity);
}

// This test also holds without AMX. Infinities and NaNs spread as in products of floats.
TEST(MatMulTest, InfinitiesAndNaNsInManyRows) {
  const int64_t m = 3000, n = 96, k = 64;
  Tensor a = RandomTensor({m, k}, 1);
  const Tensor b = RandomTensor({k, n}, 2);
  const Tensor bias = RandomTensor({n}, 3);
  Tensor output = RandomTensor({m, n}, 4);
  const Tensor before = output.DeepCopy().value();
  a.data<float>()[2 * k] = kInfinity;
  a.data<float>()[2900 * k + 3] = std::nanf("");
  KernelProduct product(b, {.is_constant = true});
  const PostOps post_ops{.bias = true, .add = true};
  ASSERT_TRUE(
      product
          .Run({.m = m, .n = n, .k = k}, post_ops, a, {.bias = &bias, .addend = &before}, &output)
          .ok());
  const std::vector<double> expected =
      ReferenceMatMul(m, n, k, false, post_ops, a, b, bias, before);
  for (int64_t i = 0; i < m * n; ++i) {
    const float x = output.data<float>()[i];
    if (std::isfinite(expected[i])) {
      ASSERT_NEAR(x, expected[i], 1e-4) << "at " << i;
    } else if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(x)) << "at " << i;
    } else {
      ASSERT_EQ(x, static_cast<float>(expected[i])) << "at " << i;
    }
  }
}

}  // namespace
}  // namespace tessera
