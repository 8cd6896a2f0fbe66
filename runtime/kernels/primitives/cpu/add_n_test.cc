#include "runtime/kernels/primitives/add_n.h"

#include <algorithm>
#include <vector>

#include "Eigen/Core"
#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

// Adds from the first to the last, and rounds each sum to T.
template <typename T>
T InOrder(absl::Span<const T> addends) {
  T sum = addends[0];
  for (const T addend : addends.subspan(1)) sum = static_cast<T>(sum + addend);
  return sum;
}

// Adds the first two to nine addends, and then the sum of each further group of eight.
template <typename T>
T InGroups(absl::Span<const T> addends) {
  const size_t rest = addends.size() % 8;
  const size_t first = std::min(addends.size(), rest < 2 ? 8 + rest : rest);
  T sum = InOrder(addends.subspan(0, first));
  for (size_t i = first; i < addends.size(); i += 8) {
    sum = static_cast<T>(sum + InOrder(addends.subspan(i, 8)));
  }
  return sum;
}

// Sums `addends` tensors, and expects the result of `add` for each element. The sum takes the
// memory of the first tensor if `in_place`.
template <typename T>
void ExpectSum(DType dtype, int addends, int64_t count, bool in_place,
               T (*add)(absl::Span<const T>) = InOrder<T>) {
  SCOPED_TRACE(testing::Message() << DTypeName(dtype) << ", " << addends << " of " << count);
  std::vector<std::vector<T>> values(addends, std::vector<T>(count));
  std::vector<T> expected(count), sum(count);
  for (int64_t i = 0; i < count; ++i) {
    std::vector<T> column(addends);
    for (int k = 0; k < addends; ++k) {
      column[k] = values[k][i] = static_cast<T>(static_cast<float>((i * 31 + k * 17) % 97) / 8);
    }
    expected[i] = add(column);
  }
  std::vector<const char*> data;
  for (const auto& addend : values) data.push_back(reinterpret_cast<const char*>(addend.data()));
  char* const to = reinterpret_cast<char*>(in_place ? values[0].data() : sum.data());
  StepContext step;
  KernelContext ctx(step, /*device=*/nullptr);
  ASSERT_TRUE(PrimitiveImplementations<AddN>::Find(kCpu)(ctx, dtype, count, data, to).ok());
  EXPECT_EQ(in_place ? values[0] : sum, expected);
}

TEST(AddNTest, AddsAnyNumberOfTensors) {
  for (const int addends : {2, 3, 4, 5, 8, 9, 11, 15, 17}) {
    for (const int64_t count : {0, 1, 7, 2049}) {
      for (const bool in_place : {false, true}) {
        ExpectSum<float>(DType::kFloat, addends, count, in_place);
        ExpectSum<double>(DType::kDouble, addends, count, in_place);
        ExpectSum<int8_t>(DType::kInt8, addends, count, in_place);
        ExpectSum<Eigen::half>(DType::kHalf, addends, count, in_place, InGroups);
        ExpectSum<Eigen::bfloat16>(DType::kBfloat16, addends, count, in_place, InGroups);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
