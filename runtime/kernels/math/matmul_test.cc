#include <complex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

TEST(FusedMatMulTest, FusedOpsMustHaveTheirArgs) {
  const Tensor ones = Tensor::Of<float>({2, 2}, {1, 1, 1, 1}), bias = Tensor::Vector<float>({1, 2});
  const auto run = [&](std::vector<Tensor> inputs, const std::vector<std::string>& ops) {
    const auto num_args = static_cast<int64_t>(inputs.size()) - 2;
    return RunOp("_FusedMatMul", std::move(inputs), {{"num_args", num_args}, {"fused_ops", ops}});
  };
  const auto product = run({ones, ones, bias}, {"BiasAdd"});
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_EQ(product->ToString(), Tensor::Of<float>({2, 2}, {3, 4, 3, 4}).ToString());
  EXPECT_EQ(run({ones, ones}, {"BiasAdd"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run({ones, ones, bias}, {"BiasAdd", "Add"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(FusedMatMulTest, AddsATensorOfTheProductsShapeOrOneThatBroadcasts) {
  const Tensor ones = Tensor::Of<float>({2, 2}, {1, 1, 1, 1});
  const Tensor bias = Tensor::Vector<float>({1, -5});
  const auto run = [&](Tensor addend) {
    return RunOp(
        "_FusedMatMul", {ones, ones, bias, std::move(addend)},
        {{"num_args", 2}, {"fused_ops", std::vector<std::string>{"BiasAdd", "Add", "Relu"}}});
  };
  // One that the caller keeps must not change.
  const Tensor kept = Tensor::Of<float>({2, 2}, {10, 1, 30, 4});
  const std::string expected = Tensor::Of<float>({2, 2}, {13, 0, 33, 1}).ToString();
  EXPECT_EQ(run(kept)->ToString(), expected);
  EXPECT_EQ(kept.ToString(), Tensor::Of<float>({2, 2}, {10, 1, 30, 4}).ToString());
  EXPECT_EQ(run(kept.DeepCopy().value())->ToString(), expected);

  EXPECT_EQ(run(Tensor::Of<float>({2, 1}, {10, 4}))->ToString(),
            Tensor::Of<float>({2, 2}, {13, 7, 7, 1}).ToString());
  EXPECT_EQ(run(Tensor::Of<float>({2, 1, 1}, {0, 7}))->ToString(),
            Tensor::Of<float>({2, 2, 2}, {3, 0, 3, 0, 10, 4, 10, 4}).ToString());
  EXPECT_EQ(run(Tensor::Vector<float>({1, 2, 3})).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// As the op that the pass fuses.
TEST(FusedMatMulTest, AddNRefusesWhatAddBroadcasts) {
  const Tensor ones = Tensor::Of<float>({2, 2}, {1, 1, 1, 1});
  const auto run = [&](Tensor addend) {
    return RunOp("_FusedMatMul", {ones, ones, std::move(addend)},
                 {{"num_args", 1}, {"fused_ops", std::vector<std::string>{"AddN"}}});
  };
  EXPECT_EQ(run(Tensor::Of<float>({2, 2}, {1, 2, 3, 4}))->ToString(),
            Tensor::Of<float>({2, 2}, {3, 4, 5, 6}).ToString());
  EXPECT_EQ(run(Tensor::Of<float>({1, 2}, {1, 2})).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// The product of a weight's gradient, whose rows are shared out among the threads.
TEST(MatMulTest, ATransposedLeftHandSideIsSplitAmongThreads) {
  constexpr int64_t kRows = 401, kDepth = 97, kColumns = 257;
  Tensor a = Tensor::Allocate(DType::kFloat, {kDepth, kRows}).value();
  Tensor b = Tensor::Allocate(DType::kFloat, {kDepth, kColumns}).value();
  // Small whole numbers, whose sums are exact.
  for (int64_t i = 0; i < a.num_elements(); ++i) a.data<float>()[i] = static_cast<float>(i % 7 - 3);
  for (int64_t i = 0; i < b.num_elements(); ++i) b.data<float>()[i] = static_cast<float>(i % 5 - 1);
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    const auto product = RunOp("MatMul", {a, b}, {{"transpose_a", true}}, threads);
    ASSERT_TRUE(product.ok()) << product.status();
    ASSERT_EQ(product->shape(), Shape({kRows, kColumns}));
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kColumns; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < kDepth; ++k) {
          sum += a.data<float>()[k * kRows + i] * b.data<float>()[k * kColumns + j];
        }
        ASSERT_EQ(product->data<float>()[i * kColumns + j], sum) << i << ", " << j;
      }
    }
  }
}

// The product of quantised layers, with rows and columns beside whole tiles. Its sums wrap around.
TEST(BatchMatMulTest, LargeProductsOfIntegersAreExactAndWrapAround) {
  constexpr int64_t kBatch = 2, kRows = 13, kDepth = 37, kColumns = 29;
  const auto random = [](Tensor tensor, uint32_t seed) {
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      seed = seed * 1664525u + 1013904223u;
      tensor.data<int32_t>()[i] = static_cast<int32_t>(seed);
    }
    return tensor;
  };
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (const bool adj_x : {false, true}) {
    for (const bool adj_y : {false, true}) {
      const Shape left = adj_x ? Shape({kBatch, kDepth, kRows}) : Shape({kBatch, kRows, kDepth});
      const Shape right =
          adj_y ? Shape({kBatch, kColumns, kDepth}) : Shape({kBatch, kDepth, kColumns});
      const Tensor a = random(Tensor::Allocate(DType::kInt32, left).value(), 1),
                   b = random(Tensor::Allocate(DType::kInt32, right).value(), 2);
      const auto product =
          RunOp("BatchMatMulV2", {a, b}, {{"adj_x", adj_x}, {"adj_y", adj_y}}, &pool);
      ASSERT_TRUE(product.ok()) << product.status();
      const auto* const x = reinterpret_cast<const uint32_t*>(a.data<int32_t>());
      const auto* const y = reinterpret_cast<const uint32_t*>(b.data<int32_t>());
      for (int64_t at = 0; at < product->num_elements(); ++at) {
        const int64_t item = at / (kRows * kColumns), i = at / kColumns % kRows, j = at % kColumns;
        uint32_t sum = 0;
        for (int64_t k = 0; k < kDepth; ++k) {
          sum += x[item * kRows * kDepth + (adj_x ? k * kRows + i : i * kDepth + k)] *
                 y[item * kDepth * kColumns + (adj_y ? j * kDepth + k : k * kColumns + j)];
        }
        ASSERT_EQ(static_cast<uint32_t>(product->data<int32_t>()[at]), sum)
            << at << ", " << adj_x << ", " << adj_y;
      }
    }
  }
}

TEST(BatchMatMulTest, ComputesInTheOutputsType) {
  const Tensor a = Tensor::Of<int8_t>({1, 1, 2}, {100, 100}),
               b = Tensor::Of<int8_t>({1, 2, 1}, {2, -1});
  const auto product = RunOp("BatchMatMulV3", {a, b}, {{"Tout", DType::kInt32}});
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_EQ(product->ToString(), Tensor::Of<int32_t>({1, 1, 1}, {100}).ToString());
  const Tensor c = Tensor::Of<std::complex<float>>({1, 1, 1}, {{1, 2}});
  EXPECT_EQ(RunOp("BatchMatMulV3", {c, c}, {{"Tout", DType::kFloat}}).status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace tessera
