#include "serving/frontend/json/json_string.h"

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

std::string Quoted(absl::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

TEST(JsonStringTest, ValidUtf8IsCopied) {
  for (const char* text : {"", "plain", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                           "a\xC3\xA9z", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
    EXPECT_EQ(Quoted(text), std::string("\"") + text + "\"");
  }
}

TEST(JsonStringTest, EachByteThatIsNoUtf8IsReplaced) {
  const std::string kReplacement = "\xEF\xBF\xBD";
  const struct {
    const char* text;
    int num_replaced;
  } kCases[] = {
      {"\xFF", 1},              // no lead byte
      {"\x80", 1},              // a continuation alone
      {"\xC3", 1},              // cut short
      {"\xE2\x82", 2},          //
      {"\xF0\x9F\x98", 3},      //
      {"\xC0\xAF", 2},          // overlong
      {"\xE0\x80\xAF", 3},      //
      {"\xED\xA0\x80", 3},      // a surrogate
      {"\xF4\x90\x80\x80", 4},  // beyond U+10FFFF
  };
  for (const auto& c : kCases) {
    EXPECT_FALSE(IsUtf8(c.text));
    std::string expected = "\"";
    for (int i = 0; i < c.num_replaced; ++i) expected += kReplacement;
    EXPECT_EQ(Quoted(c.text), expected + "\"");
    EXPECT_FALSE(IsUtf8(std::string("a") + c.text + "z"));
    EXPECT_EQ(Quoted(std::string("\n") + c.text + "z"), "\"\\n" + expected.substr(1) + "z\"");
  }
}

TEST(JsonStringTest, SpecialCharactersAreEscaped) {
  EXPECT_EQ(Quoted("a\"b\\c\n\t\r\b\f\x01\x1f/"), R"("a\"b\\c\n\t\r\b\f\u0001\u001F/")");
  EXPECT_EQ(Quoted(absl::string_view("\0", 1)), R"("\u0000")");
}

}  // namespace
}  // namespace tessera::serving
