// Results are TensorFlow's.
#include <string>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

std::string Transcode(const std::string& text, const std::string& from, const std::string& to) {
  return RunOp("UnicodeTranscode", {Tensor::Scalar(text)},
               {{"input_encoding", from}, {"output_encoding", to}})
      .value()
      .scalar<std::string>();
}

// Surrogates in CESU-8, which writes code points beyond U+FFFF as two of them.
constexpr char kHigh[] = "\xed\xa0\x80", kLow[] = "\xed\xb0\x80";

TEST(UnicodeTranscodeTest, SurrogatesHaveNoFormInUtf8) {
  const std::string high = kHigh, low = kLow;
  EXPECT_EQ(Transcode(high, "CESU-8", "UTF-8"), "\ufffd");
  EXPECT_EQ(Transcode(low + "a", "CESU-8", "UTF-8"), "\ufffda");
  EXPECT_EQ(Transcode("a" + high, "CESU-8", "UTF-8"), "a\ufffd");
  EXPECT_EQ(Transcode(high + low, "CESU-8", "UTF-8"), "\U00010000");
  EXPECT_EQ(Transcode(high, "CESU-8", "UTF-16-BE"), std::string("\xd8\x00", 2));
  EXPECT_EQ(Transcode(high, "CESU-8", "UTF-32-BE"), std::string("\x00\x00\xd8\x00", 4));
}

TEST(UnicodeTranscodeTest, CodePointsOfAnySizeAreWritten) {
  const std::string text = "a\u00e9\u4e2d\U0001f600";
  const std::string utf16 = Transcode(text, "UTF-8", "UTF-16-BE");
  EXPECT_EQ(utf16, std::string("\x00"
                               "a\x00\xe9\x4e\x2d\xd8\x3d\xde\x00",
                               10));
  EXPECT_EQ(Transcode(utf16, "UTF-16-BE", "UTF-8"), text);
  EXPECT_EQ(Transcode(Transcode(text, "UTF-8", "UTF-32-BE"), "UTF-32-BE", "UTF-8"), text);
}

}  // namespace
}  // namespace tessera
