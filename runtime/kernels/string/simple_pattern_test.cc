#include "runtime/kernels/string/simple_pattern.h"

#include <random>
#include <string>

#include "gtest/gtest.h"
#include "re2/re2.h"

namespace tessera {
namespace {

bool Matches(absl::string_view pattern, absl::string_view text) {
  const auto parsed = SimplePattern::Parse(pattern);
  EXPECT_TRUE(parsed.has_value()) << pattern;
  return parsed && parsed->FullMatch(text);
}

TEST(SimplePatternTest, MatchesTheWholeText) {
  EXPECT_TRUE(Matches("word[0-9]+", "word17"));
  EXPECT_FALSE(Matches("word[0-9]+", "word"));
  EXPECT_FALSE(Matches("word[0-9]+", "word17x"));
  EXPECT_FALSE(Matches("word[0-9]+", "a word17"));
  EXPECT_TRUE(Matches("\\w*\\.\\d?", "file_A."));
  EXPECT_TRUE(Matches("", ""));
  EXPECT_FALSE(Matches("", "a"));
  EXPECT_FALSE(Matches("[a-z]*", "\xc3\xa4"));
  EXPECT_FALSE(Matches("a", absl::string_view("a\0", 2)));
}

TEST(SimplePatternTest, LeavesOtherPatternsToRegularExpressions) {
  for (const char* pattern :
       {"a*ab",        "a?a", "[ab]+b?c*a", "a|b",  "(a)",   "a.",       "[^a]", "[a\\d]",
        "[[:alpha:]]", "^a",  "a$",         "a{2}", "a+?",   "a**",      "\\b",  "\\pN",
        "[b-a]",       "[",   "\\",         "*",    "(?i)a", "\xc3\xa4", "[a-]"}) {
    EXPECT_FALSE(SimplePattern::Parse(pattern).has_value()) << pattern;
  }
}

TEST(SimplePatternTest, AgreesWithRegularExpressions) {
  std::minstd_rand random(7);
  const auto below = [&](size_t n) { return random() % n; };
  const std::string kSets[] = {"a", "b", "c", "[ab]", "[b-d]", "\\d", "\\w", "\\."};
  const std::string kQuantifiers[] = {"", "", "?", "*", "+"};
  int num_simple = 0, num_matches = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string pattern;
    for (size_t i = below(5); i > 0; --i) pattern += kSets[below(8)] + kQuantifiers[below(5)];
    const auto parsed = SimplePattern::Parse(pattern);
    if (!parsed) continue;
    ++num_simple;
    const RE2 regex(pattern);
    for (int i = 0; i < 30; ++i) {
      std::string text;
      for (size_t length = below(6); length > 0; --length) text += "abcd1._\xff"[below(8)];
      const bool want = RE2::FullMatch(text, regex);
      num_matches += want;
      ASSERT_EQ(parsed->FullMatch(text), want) << pattern << " of " << text;
    }
  }
  EXPECT_GT(num_simple, 500);
  EXPECT_GT(num_matches, 500);
}

}  // namespace
}  // namespace tessera
