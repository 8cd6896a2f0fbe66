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

TEST(SubstrTest, ContinuationsAtTheBeginAreOneCharacter) {
  const std::string text =
      "\x80\x81"
      "aé";
  EXPECT_EQ(Substr(text, 0, 1, "UTF8_CHAR").value(), "\x80\x81");
  EXPECT_EQ(Substr(text, 1, 1, "UTF8_CHAR").value(), "a");
  EXPECT_EQ(Substr(text, -3, 2, "UTF8_CHAR").value(),
            "\x80\x81"
            "a");
  EXPECT_EQ(Substr(text, 2, 9, "UTF8_CHAR").value(), "é");
  EXPECT_EQ(Substr(text, 3, 9, "UTF8_CHAR").value(), "");
  EXPECT_EQ(Substr(text, 4, 1, "UTF8_CHAR").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
