// Errors and results are TensorFlow's.
#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

absl::StatusOr<std::string> Substr(const std::string& text, int32_t pos, int32_t len,
                                   const std::string& unit) {
  absl::StatusOr<Tensor> part = RunOp(
      "Substr", {Tensor::Scalar(text), Tensor::Scalar<int32_t>(pos), Tensor::Scalar<int32_t>(len)},
      {{"unit", unit}});
  if (!part.ok()) return part.status();
  return part->scalar<std::string>();
}

TEST(SubstrTest, ANegativeLengthIsTheRestOfTheBytesButNoCharacter) {
  EXPECT_EQ(Substr("aéü1", 0, -1, "BYTE").value(), "aéü1");
  EXPECT_EQ(Substr("aéü1", -2, -1, "BYTE").value(),
            "\xbc"
            "1");
  EXPECT_EQ(Substr("aéü1", 0, -1, "UTF8_CHAR").value(), "");
  EXPECT_EQ(Substr("aéü1", 4, -3, "UTF8_CHAR").value(), "");
  EXPECT_EQ(Substr("aéü1", -2, -1, "UTF8_CHAR").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Substr("aéü1", -2, 1, "UTF8_CHAR").value(), "ü");
  EXPECT_EQ(Substr("aéü1", 5, -1, "UTF8_CHAR").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
