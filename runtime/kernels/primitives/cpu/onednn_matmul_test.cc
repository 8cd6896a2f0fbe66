#include "runtime/kernels/primitives/cpu/onednn_matmul.h"

#include <cmath>
#include <cstdlib>

#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
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
