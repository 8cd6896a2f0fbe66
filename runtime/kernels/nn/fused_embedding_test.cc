#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

Tensor Floats(const Shape& shape, const std::vector<float>& values) {
  Tensor t = Tensor::Allocate(DType::kFloat, shape).value();
  std::copy(values.begin(), values.end(), t.flat<float>().begin());
  return t;
}

TEST(FusedEmbeddingTest, ATableOfOneColumnRepeatsUnderWiderAddends) {
  const Tensor sum = RunOp("_EmbeddingSum",
                           {Floats({3, 1}, {10, 20, 30}), Tensor::Vector<int32_t>({2, 0}),
                            Floats({2, 3}, {1, 2, 3, 4, 5, 6})},
                           {{"num_tables", 1},
                            {"num_addends", 1},
                            {"Tindices", std::vector<DType>{DType::kInt32}},
                            {"scales", std::vector<float>{1}},
                            {"gathers", std::vector<std::string>{"lookup"}}})
                         .value();
  ASSERT_EQ(sum.shape(), Shape({2, 3}));
  EXPECT_EQ(std::vector<float>(sum.flat<float>().begin(), sum.flat<float>().end()),
            (std::vector<float>{31, 32, 33, 14, 15, 16}));
}

}  // namespace
}  // namespace tessera
