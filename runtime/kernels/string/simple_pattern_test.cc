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

TEST(SimplePatternTest, ReadsListsAsRegularExpressionsDo) {
  EXPECT_TRUE(Matches("[a\\d]+", "a1"));
  EXPECT_TRUE(Matches("[a-]+", "-a"));
  EXPECT_FALSE(Matches("[a-]", "b"));
  EXPECT_TRUE(Matches("[-.*(]+", "(.-*"));
  EXPECT_TRUE(Matches("[+-\\.]+", "+,-."));
  EXPECT_FALSE(Matches("[+-\\.]", "*"));
  EXPECT_TRUE(Matches("[\\]\\\\^]+", "]\\^"));
  EXPECT_TRUE(Matches("\\s+", "\t\n\f\r "));
  EXPECT_FALSE(Matches("\\s", "\v"));
}

TEST(SimplePatternTest, LeavesOtherPatternsToRegularExpressions) {
  for (const char* pattern :
       {"a*ab", "a?a", "[ab]+b?c*a", "a|b",      "(a)",  "a.",  "[^a]", "[a-\\d]", "[[:alpha:]]",
        "^a",   "a$",  "a{2}",       "a+?",      "a**",  "\\b", "\\pN", "[b-a]",   "[",
        "\\",   "*",   "(?i)a",      "\xc3\xa4", "[]a]", "[a",  "\\_",  "\\n",     "[\\"}) {
    EXPECT_FALSE(SimplePattern::Parse(pattern).has_value()) << pattern;
  }
}

TEST(SimplePatternTest, ReplacesMatchesFromLeftToRight) {
  const auto digits = SimplePattern::Parse("[0-9]+");
  ASSERT_TRUE(digits && digits->can_replace());
  EXPECT_EQ(digits->Replace("a12b3", "#", /*all=*/true), "a#b#");
  EXPECT_EQ(digits->Replace("a12b3", "#", /*all=*/false), "a#b3");
  EXPECT_EQ(digits->Replace("", "#", /*all=*/true), "");
  const auto tag = SimplePattern::Parse("<br />");
  ASSERT_TRUE(tag && tag->can_replace());
  EXPECT_EQ(tag->Replace("<<br />a<br /><br", " ", /*all=*/true), "< a <br");
}

// The others may match nothing, or be looked for again and again in a long run of characters.
TEST(SimplePatternTest, ReplacesByPatternsThatAreFoundInOnePass) {
  for (const char* pattern : {"a", "a+b?c", "ab?c*", "[ab]c+"}) {
    EXPECT_TRUE(SimplePattern::Parse(pattern)->can_replace()) << pattern;
  }
  for (const char* pattern : {"", "a*", "a?b", "[abc]c*b", "ab+c", "aaaaaaaaaaaaaaaaa"}) {
    EXPECT_FALSE(SimplePattern::Parse(pattern)->can_replace()) << pattern;
  }
}

TEST(SimplePatternTest, AgreesWithRegularExpressions) {
  std::minstd_rand random(7);
  const auto below = [&](size_t n) { return random() % n; };
  const std::string kSets[] = {"a",   "b",   "c",       "[ab]", "[b-d]", "\\d",
                               "\\w", "\\.", "[1\\.-]", "[ab]", "\\s",   "[\\w-]"};
  const std::string kQuantifiers[] = {"", "", "?", "*", "+"};
  int num_simple = 0, num_matches = 0, num_replaced = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string pattern;
    for (size_t i = below(5); i > 0; --i) pattern += kSets[below(12)] + kQuantifiers[below(5)];
    const auto parsed = SimplePattern::Parse(pattern);
    if (!parsed) continue;
    ++num_simple;
    const RE2 regex(pattern);
    for (int i = 0; i < 30; ++i) {
      std::string text;
      for (size_t length = below(9); length > 0; --length) text += "abcd1._\xff -"[below(10)];
      const bool want = RE2::FullMatch(text, regex);
      num_matches += want;
      ASSERT_EQ(parsed->FullMatch(text), want) << pattern << " of " << text;
      if (!parsed->can_replace()) continue;
      std::string all = text, first = text;
      num_replaced += RE2::GlobalReplace(&all, regex, "<>") > 0;
      RE2::Replace(&first, regex, "<>");
      ASSERT_EQ(parsed->Replace(text, "<>", /*all=*/true), all) << pattern << " in " << text;
      ASSERT_EQ(parsed->Replace(text, "<>", /*all=*/false), first) << pattern << " in " << text;
    }
  }
  EXPECT_GT(num_simple, 500);
  EXPECT_GT(num_matches, 500);
  EXPECT_GT(num_replaced, 5000);
}

}  // namespace
}  // namespace tessera
