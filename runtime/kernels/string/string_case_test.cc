#include <string>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

std::string Lower(const std::string& text) {
  return RunOp("StringLower", {Tensor::Scalar(text)}, {{"encoding", "utf-8"}})
      ->scalar<std::string>();
}

// Any byte at any place of a vector, and behind the last one.
TEST(StringCaseTest, LettersOfAsciiAloneChangeWithoutAnEncoding) {
  for (const int length : {1, 31, 32, 33, 100}) {
    for (int byte = 0; byte < 256; ++byte) {
      const std::string text(length, static_cast<char>(byte));
      const bool is_upper = byte >= 'A' && byte <= 'Z', is_lower = byte >= 'a' && byte <= 'z';
      const Tensor input = Tensor::Scalar(text);
      EXPECT_EQ(RunOp("StringLower", {input}, {{"encoding", ""}})->scalar<std::string>(),
                std::string(length, static_cast<char>(is_upper ? byte + 32 : byte)));
      EXPECT_EQ(RunOp("StringUpper", {input}, {{"encoding", ""}})->scalar<std::string>(),
                std::string(length, static_cast<char>(is_lower ? byte - 32 : byte)));
    }
  }
}

TEST(StringCaseTest, TextsInAsciiMapAsLettersDo) {
  EXPECT_EQ(Lower("AbZ[@`{z 09"), "abz[@`{z 09");
  EXPECT_EQ(Lower("Ab\xc3\x89"), "ab\xc3\xa9");
}

TEST(StringCaseTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(Lower("\xc3\x89"
                  "A"),
            "\xc3\xa9"
            "a");
  EXPECT_EQ(Lower("\xff"
                  "A"),
            "\xef\xbf\xbd"
            "a");
  EXPECT_EQ(Lower("A\xe2\x82"), "a\xef\xbf\xbd");
}

TEST(StringCaseTest, TextsInUtf8EndAtTheFirstNul) {
  const std::string text("Ab\0Cd", 5), wide("\xc3\x89\0Cd", 5);
  EXPECT_EQ(Lower(text), "ab");
  EXPECT_EQ(Lower(wide), "\xc3\xa9");
  EXPECT_EQ(RunOp("StringLower", {Tensor::Scalar(text)}, {{"encoding", ""}})->scalar<std::string>(),
            std::string("ab\0cd", 5));
}

}  // namespace
}  // namespace tessera
