#include "serving/frontend/auth/bearer_tokens.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLongAgo[] = "2020-01-02T03:04:05Z";
constexpr char kFarAhead[] = "2999-12-31T23:59:59+01:00";

class BearerTokensTest : public ::testing::Test {
 protected:
  // Writes the file, and opens it if that was not done yet.
  void Write(const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(file_, text).ok());
    if (tokens_ == nullptr) tokens_ = *BearerTokens::Open(file_, "--token_file");
  }
  absl::Status Check(absl::string_view authorization) {
    return tokens_->Check(authorization, absl::FromUnixSeconds(1'700'000'000));
  }

  const std::string file_ = JoinPath(::testing::TempDir(), "tokens");
  std::unique_ptr<BearerTokens> tokens_;
};

TEST_F(BearerTokensTest, OneOfTheTokensOpens) {
  Write("# for the pipeline\nfirst-token\n\n  second+/== \r\n");
  EXPECT_TRUE(Check("Bearer first-token").ok());
  EXPECT_TRUE(Check("bearer  second+/==").ok());
  for (const char* wrong :
       {"", "Bearer", "Bearer ", "first-token", "Basic first-token", "Bearer first-toke",
        "Bearer first-token1", "Bearer second+/=", "Bearer #", "Bearer first-token second+/=="}) {
    EXPECT_TRUE(absl::IsUnauthenticated(Check(wrong))) << wrong;
  }
}

TEST_F(BearerTokensTest, AnExpiredTokenIsRefused) {
  Write(absl::StrCat("old ", kLongAgo, "\nnew\t", kFarAhead, "\n"));
  EXPECT_TRUE(Check("Bearer new").ok());
  const absl::Status expired = Check("Bearer old");
  EXPECT_TRUE(absl::IsUnauthenticated(expired));
  EXPECT_THAT(std::string(expired.message()), HasSubstr("expired at 2020-01-02T03:04:05+00:00"));
}

TEST_F(BearerTokensTest, RefusalsAreCounted) {
  Write(absl::StrCat("one\nold ", kLongAgo, "\n"));
  for (const char* given : {"Bearer one", "", "Bearer two", "Bearer old", "Bearer one"}) {
    (void)Check(given);
  }
  EXPECT_EQ(tokens_->num_refused(), 3);
}

TEST_F(BearerTokensTest, AChangedFileCountsAtOnce) {
  Write("one\n");
  EXPECT_TRUE(Check("Bearer one").ok());
  Write("two\n");  // of the same length, within the clock tick of the file system
  EXPECT_TRUE(absl::IsUnauthenticated(Check("Bearer one")));
  EXPECT_TRUE(Check("Bearer two").ok());
}

TEST_F(BearerTokensTest, AFileThatIsGoneOrWrongLeavesTheLastTokens) {
  Write("one\n");
  ASSERT_TRUE(RemoveFile(file_).ok());
  EXPECT_TRUE(Check("Bearer one").ok());
  Write("two\nthree tomorrow\n");
  EXPECT_TRUE(Check("Bearer one").ok());
  EXPECT_TRUE(absl::IsUnauthenticated(Check("Bearer two")));
  Write("");
  EXPECT_TRUE(Check("Bearer one").ok());
  Write("two\n");
  EXPECT_TRUE(absl::IsUnauthenticated(Check("Bearer one")));
  EXPECT_TRUE(Check("Bearer two").ok());
}

TEST_F(BearerTokensTest, ErrorsNameTheFlag) {
  Write("one\n");
  for (const char* wrong : {"", "Bearer two"}) {
    EXPECT_THAT(std::string(Check(wrong).message()), HasSubstr("--token_file"));
  }
}

TEST(ReadBearerTokensTest, AFileThatCannotBeReadAgainIsRefused) {
  std::filesystem::create_directories(JoinPath(::testing::TempDir(), "folder"));
  EXPECT_FALSE(ReadBearerTokens(JoinPath(::testing::TempDir(), "folder")).ok());
  EXPECT_FALSE(ReadBearerTokens("/dev/null").ok());
  EXPECT_TRUE(absl::IsNotFound(ReadBearerTokens("/none").status()));
  EXPECT_TRUE(absl::IsNotFound(BearerTokens::Open("/none", "--token_file").status()));
}

TEST(ParseBearerTokensTest, ErrorsNameTheLineAndNotTheToken) {
  for (const char* text : {"ok\nsecret yesterday\n", "ok\nsecret 2026-01-01T00:00:00Z x\n",
                           "ok\nsecr\xc3\xa9t\n", "ok\nse=cret\n", "ok\n=\n", "ok\nsecret,\n"}) {
    const absl::Status status = ParseBearerTokens(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("line 2: "));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret")));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ParseBearerTokens("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ParseBearerTokens("# none\n").status()));
}

}  // namespace
}  // namespace tessera::serving
