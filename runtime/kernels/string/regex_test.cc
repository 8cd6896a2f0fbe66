// Kernels of regular expressions against RE2 on one thread.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "re2/re2.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

constexpr int kTexts = 3000;

Tensor Texts() {
  std::vector<std::string> texts;
  for (int i = 0; i < kTexts; ++i) {
    texts.push_back(absl::StrCat("word", i * 7919 % 20000, " a-", i % 10, "b, ", i, "."));
  }
  return Tensor::Vector<std::string>(texts);
}

void ExpectReplaced(const std::string& pattern, const std::string& rewrite, bool all) {
  ThreadPool pool({.num_threads = 4});
  const Tensor texts = Texts();
  const AttrMap attrs = {{"pattern", pattern}, {"rewrite", rewrite}, {"replace_global", all}};
  const Tensor fixed = RunOp("StaticRegexReplace", {texts}, attrs, &pool).value();
  const Tensor fed =
      RunOp("RegexReplace", {texts, Tensor::Scalar(pattern), Tensor::Scalar(rewrite)},
            {{"replace_global", all}}, &pool)
          .value();
  const RE2 regex(pattern);
  for (int i = 0; i < kTexts; ++i) {
    std::string want = texts.data<std::string>()[i];
    all ? static_cast<void>(RE2::GlobalReplace(&want, regex, rewrite))
        : static_cast<void>(RE2::Replace(&want, regex, rewrite));
    ASSERT_EQ(fixed.data<std::string>()[i], want) << pattern << " to " << rewrite;
    ASSERT_EQ(fed.data<std::string>()[i], want) << pattern << " to " << rewrite;
  }
}

TEST(RegexTest, ThreadsReplaceAsOneDoes) {
  for (const bool all : {false, true}) {
    ExpectReplaced("[0-9]+", "#", all);
    ExpectReplaced("[0-9]+", "<\\0>", all);
    ExpectReplaced("[0-9]+", "\\1", all);  // there is no such group
    ExpectReplaced("[[:punct:]]|o", "", all);
    ExpectReplaced("(a)-([0-9])", "\\2-\\1", all);
    ExpectReplaced("[0-9]*", "x", all);
  }
}

TEST(RegexTest, ThreadsMatchAsOneDoes) {
  ThreadPool pool({.num_threads = 4});
  const Tensor texts = Texts();
  const std::string pattern = "word(1|2[0-9]*3).*";
  const Tensor matches =
      RunOp("StaticRegexFullMatch", {texts}, {{"pattern", pattern}}, &pool).value();
  int num_matches = 0;
  for (int i = 0; i < kTexts; ++i) {
    const bool want = RE2::FullMatch(texts.data<std::string>()[i], pattern);
    ASSERT_EQ(matches.data<bool>()[i], want) << texts.data<std::string>()[i];
    num_matches += want;
  }
  EXPECT_GT(num_matches, 100);
}

TEST(RegexTest, NamesTheReasonForARefusedPattern) {
  const auto refused = RunOp("StaticRegexFullMatch", {Texts()}, {{"pattern", std::string("a(")}});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("missing )"), absl::string_view::npos)
      << refused.status();
}

}  // namespace
}  // namespace tessera
