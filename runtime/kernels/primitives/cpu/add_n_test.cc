#include "runtime/kernels/primitives/add_n.h"

#include <vector>

#include "Eigen/Core"
#include "gtest/gtest.h"

namespace tessera {
namespace {

// Sums `addends` tensors, the first of which is the sum's own memory if `in_place`, and expects
// additions from the first to the last, each of which is rounded to T.
template <typename T>
void ExpectSum(DType dtype, int addends, int64_t count, bool in_place) {
  SCOPED_TRACE(testing::Message() << DTypeName(dtype) << ", " << addends << " of " << count);
  std::vector<std::vector<T>> values(addends, std::vector<T>(count));
  std::vector<T> expected(count), sum(count);
  for (int k = 0; k < addends; ++k) {
    for (int64_t i = 0; i < count; ++i) {
      values[k][i] = static_cast<T>(static_cast<float>((i * 31 + k * 17) % 97) / 8);
      expected[i] = k == 0 ? values[k][i] : static_cast<T>(expected[i] + values[k][i]);
    }
  }
  std::vector<const char*> data;
  for (const auto& addend : values) data.push_back(reinterpret_cast<const char*>(addend.data()));
  char* const to = reinterpret_cast<char*>(in_place ? values[0].data() : sum.data());
  StepContext step;
  KernelContext ctx(step, /*device=*/nullptr);
  ASSERT_TRUE(PrimitiveImplementations<AddN>::Find(kCpu)(ctx, dtype, count, data, to).ok());
  EXPECT_EQ(in_place ? values[0] : sum, expected);
}

TEST(AddNTest, AddsAnyNumberOfTensorsFromTheFirstToTheLast) {
  for (const int addends : {2, 3, 4, 5, 8, 9, 11, 15, 17}) {
    for (const int64_t count : {0, 1, 7, 2049}) {
      for (const bool in_place : {false, true}) {
        ExpectSum<float>(DType::kFloat, addends, count, in_place);
        ExpectSum<double>(DType::kDouble, addends, count, in_place);
        ExpectSum<int8_t>(DType::kInt8, addends, count, in_place);
        ExpectSum<Eigen::bfloat16>(DType::kBfloat16, addends, count, in_place);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
