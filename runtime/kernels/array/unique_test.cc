#include <cmath>
#include <unordered_map>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

std::vector<Tensor> Unique(const Tensor& x) {
  KernelRunner runner =
      KernelRunner::Create("UniqueWithCounts", {x}, {{"out_idx", DType::kInt64}}).value();
  return runner.Run({x}).value();
}

TEST(UniqueTest, ManyNumbersKeepTheOrderOfTheirFirstOccurrence) {
  Tensor x = Tensor::Allocate(DType::kInt64, {20000}).value();
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    x.data<int64_t>()[i] = (i * i % 7919) * 1000003 - 12345;
  }
  const std::vector<Tensor> outputs = Unique(x);
  std::unordered_map<int64_t, int64_t> seen;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t value = x.data<int64_t>()[i];
    const int64_t which = seen.emplace(value, static_cast<int64_t>(seen.size())).first->second;
    ASSERT_EQ(outputs[1].data<int64_t>()[i], which);
    ASSERT_EQ(outputs[0].data<int64_t>()[which], value);
  }
  EXPECT_EQ(outputs[0].num_elements(), static_cast<int64_t>(seen.size()));
}

TEST(UniqueTest, ANaNEqualsNothingAndZeroItsNegative) {
  const std::vector<Tensor> outputs = Unique(Tensor::Vector<float>({NAN, 0, -0.0f, NAN, 1}));
  EXPECT_EQ(outputs[0].num_elements(), 4);
  EXPECT_THAT(outputs[1].flat<int64_t>(), ElementsAre(0, 1, 1, 2, 3));
  EXPECT_THAT(outputs[2].flat<int64_t>(), ElementsAre(1, 2, 1, 1));
}

TEST(UniqueTest, NothingHasNothingUnique) {
  for (const Tensor& output : Unique(Tensor::Of<std::string>({0}, {}))) {
    EXPECT_EQ(output.num_elements(), 0);
  }
}

TEST(UniqueTest, RowsAndColumnsAreComparedWhole) {
  const Tensor x = Tensor::Of<std::string>({3, 2}, {"a", "b", "a", "c", "a", "b"});
  KernelRunner runner = KernelRunner::Create("UniqueV2", {x, Tensor::Vector<int32_t>({0})}).value();
  std::vector<Tensor> outputs = runner.Run({x, Tensor::Vector<int32_t>({0})}).value();
  EXPECT_THAT(outputs[0].flat<std::string>(), ElementsAre("a", "b", "a", "c"));
  EXPECT_THAT(outputs[1].flat<int32_t>(), ElementsAre(0, 1, 0));
  outputs = runner.Run({x, Tensor::Vector<int32_t>({1})}).value();
  EXPECT_EQ(outputs[0].shape(), Shape({3, 2}));
  EXPECT_THAT(outputs[1].flat<int32_t>(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace tessera
