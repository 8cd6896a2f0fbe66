#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// Returns the key of the group of a device among the groups {0, 1} and {2, 3}, or absl::nullopt for
// INVALID_ARGUMENT.
absl::optional<int32_t> KeyOf(int32_t device, int32_t base_key) {
  std::vector<Tensor> inputs = {Tensor::Of<int32_t>({2, 2}, {0, 1, 2, 3}), Tensor::Scalar(device),
                                Tensor::Scalar(base_key)};
  auto runner = KernelRunner::Create("CollectiveAssignGroupV2", inputs).value();
  const auto outputs = runner.Run(std::move(inputs));
  if (outputs.ok()) return (*outputs)[1].scalar<int32_t>();
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument) << outputs.status();
  return absl::nullopt;
}

TEST(CollectiveTest, KeysOfGroupsAreNotZero) {
  EXPECT_EQ(KeyOf(3, 1), 2);
  EXPECT_EQ(KeyOf(0, -1), -1);
  EXPECT_EQ(KeyOf(2, -1), absl::nullopt);
  EXPECT_EQ(KeyOf(2, -2), -1);
  EXPECT_EQ(KeyOf(0, 0), absl::nullopt);
  EXPECT_EQ(KeyOf(2, 0), absl::nullopt);
}

TEST(CollectiveTest, KeysOfGroupsWrapAround) {
  constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(KeyOf(2, kLargest), kLeast);
  EXPECT_EQ(KeyOf(2, kLeast), kLeast + 1);
}

}  // namespace
}  // namespace tessera
