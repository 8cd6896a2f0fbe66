// The text of tensors, which is TensorFlow's.
#include "runtime/kernels/tensor_summary.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(TensorSummaryTest, ATensorWithoutElementsShowsThatItsFirstDimensionHasEntries) {
  const auto text = [](const Shape& shape, int64_t edge_items) {
    return SummarizeTensor(Tensor::Zeros(DType::kInt32, shape).value(), edge_items);
  };
  for (const int64_t edge_items : {-1, 0, 3}) {
    EXPECT_EQ(text({0}, edge_items), "[]");
    EXPECT_EQ(text({0, 2}, edge_items), "[]");
    EXPECT_EQ(text({1, 0}, edge_items), "[\n ...]");
    EXPECT_EQ(text({4, 0, 3}, edge_items), "[\n\n ...]");
  }
}

TEST(TensorSummaryTest, OnlyTheEdgesOfDimensionsAreShown) {
  const Tensor numbers = Tensor::Vector<int32_t>({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(SummarizeTensor(numbers, -1), "[0 1 2 3 4 5 6 7]");
  EXPECT_EQ(SummarizeTensor(numbers, 0), "[ ...]");
  EXPECT_EQ(SummarizeTensor(numbers, 1), "[0 ... 7]");
  EXPECT_EQ(SummarizeTensor(numbers, 100), "[0 1 2 3 4 5 6 7]");
  EXPECT_EQ(SummarizeTensor(numbers.Reshaped({4, 2}).value(), 1), "[[0 1]\n ...\n [6 7]]");
}

}  // namespace
}  // namespace tessera
