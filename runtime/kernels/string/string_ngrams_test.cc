#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

absl::Status Create(int64_t width, int64_t pad_width) {
  const Tensor data = Tensor::Vector<std::string>({"a", "b"});
  const Tensor splits = Tensor::Vector<int64_t>({0, 2});
  return KernelRunner::Create("StringNGrams", {data, splits},
                              {{"separator", "|"},
                               {"ngram_widths", std::vector<int64_t>{width}},
                               {"left_pad", "L"},
                               {"right_pad", "R"},
                               {"pad_width", pad_width},
                               {"preserve_short_sequences", true}})
      .status();
}

TEST(StringNGramsTest, WidthsAndPaddingFitInInt32) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  EXPECT_TRUE(Create(kLargest, kLargest).ok());
  EXPECT_EQ(Create(kLargest + 1, 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Create(0, 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Create(1, int64_t{1} << 62).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Create(1, -kLargest - 2).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
