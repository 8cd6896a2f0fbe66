#include "runtime/kernels/primitives/cpu/onednn_matmul.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/post_op_rows.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

class OneDnnMatMulTest : public ::testing::Test {
 protected:
  // The only entry that cuts products into columns.
  static void SetUpTestSuite() { setenv("TESSERA_CPU", "zen4", /*overwrite=*/1); }

  // Multiplies with post-ops on `threads` threads, and expects chunks along `axis`.
  void ExpectProduct(int64_t m, int64_t n, int64_t k, bool transpose_b, int threads, ChunkAxis axis,
                     bool adds = true) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", " << threads);
    const PostOps post_ops{.bias = true, .add = adds, .activation = Activation::kRelu};
    const Tensor a = RandomTensor({m, k}, 1);
    const Tensor b = RandomTensor(transpose_b ? Shape{n, k} : Shape{k, n}, 2);
    const Tensor bias = RandomTensor({n}, 3), before = RandomTensor({m, n}, 4);
    Tensor output = before.DeepCopy().value();
    ThreadPool pool({.name = "test", .num_threads = threads});
    StepContext step;
    if (threads > 1) step.intra_op_pool = &pool;
    KernelContext ctx(step, nullptr);

    const auto split = SplitForOneDnn({.m = m, .n = n, .k = k, .transpose_b = transpose_b},
                                      post_ops, /*packs_b=*/false, NumPoolThreads(ctx));
    ASSERT_TRUE(split.ok()) << split.status();
    EXPECT_EQ(split->axis, axis);
    ASSERT_TRUE(MultiplyOneDnn(ctx, *split, a.data<float>(), b, bias.data<float>(),
                               /*packed=*/nullptr, output.data<float>())
                    .ok());

    const std::vector<double> want =
        ReferenceMatMul(m, n, k, transpose_b, post_ops, a, b, bias, before);
    const double error = 4e-6 * std::sqrt(k);
    for (int64_t i = 0; i < m * n; ++i) {
      ASSERT_NEAR(output.data<float>()[i], want[i], error) << "at " << i;
    }
  }
};

TEST_F(OneDnnMatMulTest, NaNPassesClamps) {
  for (const int64_t m : {int64_t{1}, int64_t{7}, int64_t{64}}) {
    for (const Activation activation :
         {Activation::kRelu, Activation::kRelu6, Activation::kLeakyRelu}) {
      const int64_t n = 512, k = 130;
      Tensor a = RandomTensor({m, k}, 1);
      a.data<float>()[(m - 1) * k] = std::numeric_limits<float>::quiet_NaN();
      const Tensor b = RandomTensor({k, n}, 2);
      Tensor output = RandomTensor({m, n}, 3);
      StepContext step;
      KernelContext ctx(step, nullptr);
      const auto split = SplitForOneDnn({.m = m, .n = n, .k = k}, {.activation = activation},
                                        /*packs_b=*/false, 1);
      ASSERT_TRUE(split.ok()) << split.status();
      ASSERT_TRUE(MultiplyOneDnn(ctx, *split, a.data<float>(), b, nullptr, /*packed=*/nullptr,
                                 output.data<float>())
                      .ok());
      for (int64_t i = 0; i < m * n; ++i) {
        const float x = output.data<float>()[i];
        ASSERT_TRUE(i < (m - 1) * n ? x >= 0 : std::isnan(x)) << i << " of " << m << " rows";
      }
    }
  }
}

TEST(ClampBfloat16Test, ClampsBitsAndKeepsNaN) {
  // 1, -1, 7, the infinities, NaN of both signs, and -0.
  const std::vector<uint16_t> bits = {0x3f80, 0xbf80, 0x40e0, 0x7f80,
                                      0xff80, 0x7fc0, 0xffc0, 0x8000};
  const auto clamped = [&](const PostOps& post_ops) {
    std::vector<uint16_t> values = bits;
    ClampBfloat16(post_ops, static_cast<int64_t>(values.size()), values.data());
    return values;
  };
  const std::vector<uint16_t> relu = {0x3f80, 0, 0x40e0, 0x7f80, 0, 0x7fc0, 0xffc0, 0};
  EXPECT_EQ(clamped({.activation = Activation::kRelu}), relu);
  EXPECT_EQ(clamped({.activation = Activation::kLeakyRelu}), relu);
  EXPECT_EQ(clamped({.activation = Activation::kRelu6}),
            (std::vector<uint16_t>{0x3f80, 0, 0x40c0, 0x40c0, 0, 0x7fc0, 0xffc0, 0}));
  EXPECT_EQ(clamped({.activation = Activation::kLeakyRelu, .alpha = .5f}), bits);
  EXPECT_EQ(clamped({.activation = Activation::kTanh}), bits);
}

TEST_F(OneDnnMatMulTest, AnyChunksGiveTheProduct) {
  for (const int threads : {1, 3}) {
    ExpectProduct(64, 512, 784, /*transpose_b=*/false, threads, ChunkAxis::kColumns);
    ExpectProduct(7, 512, 130, /*transpose_b=*/false, threads, ChunkAxis::kColumns);
    ExpectProduct(64, 512, 784, /*transpose_b=*/true, threads, ChunkAxis::kRows);
    ExpectProduct(500, 64, 130, /*transpose_b=*/false, threads, ChunkAxis::kRows);
  }
  ExpectProduct(64, 512, 784, /*transpose_b=*/true, 3, ChunkAxis::kColumns, /*adds=*/false);
  ExpectProduct(64, 1000, 400, /*transpose_b=*/true, 3, ChunkAxis::kColumns, /*adds=*/false);
  // The last chunk is shorter, and ends with half a vector.
  ExpectProduct(64, 1000, 400, /*transpose_b=*/false, 3, ChunkAxis::kColumns);
}

}  // namespace
}  // namespace tessera
