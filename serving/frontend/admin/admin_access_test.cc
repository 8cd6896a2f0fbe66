#include "serving/frontend/admin/admin_access.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;

HttpRequest Request(std::string method, std::string host) {
  return {.method = std::move(method), .target = "/", .headers = {{"host", std::move(host)}}};
}

class AdminAccessTest : public ::testing::Test {
 protected:
  absl::StatusCode Check(const HttpRequest& request) const { return open_->Check(request).code(); }

  const std::unique_ptr<AdminAccess> open_ = *AdminAccess::Make("127.0.0.1", "");
};

TEST_F(AdminAccessTest, OtherMachinesNeedAToken) {
  for (const char* address : {"0.0.0.0", "10.1.2.3", "::", "128.0.0.1"}) {
    const absl::Status status = AdminAccess::Make(address, "").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << address;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--admin_token_file"));
  }
  for (const char* address : {"", "localhost", "127.0.0.1:80", "[::1]"}) {
    const absl::Status status = AdminAccess::Make(address, "").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << address;
    EXPECT_THAT(std::string(status.message()), HasSubstr("is no IP address"));
  }
  for (const char* address : {"127.0.0.1", "127.1.2.3", "::1"}) {
    EXPECT_TRUE(AdminAccess::Make(address, "").ok()) << address;
  }
  const std::string file = JoinPath(::testing::TempDir(), "access_tokens");
  ASSERT_TRUE(WriteFileAtomically(file, "secret\n").ok());
  EXPECT_TRUE(AdminAccess::Make("0.0.0.0", file).ok());
}

TEST_F(AdminAccessTest, ABadTokenFileStopsTheStart) {
  EXPECT_TRUE(absl::IsNotFound(AdminAccess::Make("127.0.0.1", "/none").status()));
  const std::string file = JoinPath(::testing::TempDir(), "bad_tokens");
  ASSERT_TRUE(WriteFileAtomically(file, "a b c\n").ok());
  const absl::Status status = AdminAccess::Make("127.0.0.1", file).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("bad_tokens: line 1: "));
}

TEST_F(AdminAccessTest, WithATokenFileTheTokenAloneCounts) {
  const std::string file = JoinPath(::testing::TempDir(), "access_tokens");
  ASSERT_TRUE(WriteFileAtomically(file, "secret\n").ok());
  const auto access = *AdminAccess::Make("127.0.0.1", file);
  HttpRequest request = Request("POST", "admin.example");
  request.headers.emplace_back("X-Tessera-Admin", "1");
  EXPECT_TRUE(absl::IsUnauthenticated(access->Check(request)));
  request.headers = {{"Authorization", "Bearer secret"}};
  EXPECT_TRUE(access->Check(request).ok());
  EXPECT_TRUE(access->Check("Bearer secret").ok());
  EXPECT_TRUE(absl::IsUnauthenticated(access->Check("")));
}

TEST_F(AdminAccessTest, APageOfAnotherSiteCanChangeNothing) {
  HttpRequest request = Request("POST", "127.0.0.1:8502");
  request.headers.emplace_back("Content-Type", "text/plain");
  EXPECT_EQ(Check(request), absl::StatusCode::kPermissionDenied);
  request.headers.emplace_back("X-Tessera-Admin", "1");
  EXPECT_EQ(Check(request), absl::StatusCode::kOk);
  EXPECT_EQ(Check(Request("DELETE", "127.0.0.1")), absl::StatusCode::kPermissionDenied);
}

TEST_F(AdminAccessTest, APageOfAnotherSiteCanTakeNoStreams) {
  const auto check = [&](std::vector<std::pair<std::string, std::string>> headers) {
    HttpRequest request = Request("GET", "127.0.0.1:8502");
    for (auto& header : headers) request.headers.push_back(std::move(header));
    return Check(request);
  };
  constexpr absl::StatusCode kRefused = absl::StatusCode::kPermissionDenied;
  EXPECT_EQ(check({{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "no-cors"}}), kRefused);
  // Another port of this machine is the same site and another origin.
  EXPECT_EQ(check({{"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Mode", "cors"}}), kRefused);
  EXPECT_EQ(check({{"Origin", "http://evil.example"}}), kRefused);
  EXPECT_EQ(check({{"Origin", "null"}}), kRefused);
  EXPECT_EQ(check({{"Sec-Fetch-Site", "cross-site"},
                   {"Sec-Fetch-Mode", "navigate"},
                   {"Sec-Fetch-Dest", "iframe"}}),
            kRefused);
  EXPECT_EQ(check({{"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://127.0.0.1:8502"}}),
            absl::StatusCode::kOk);
  EXPECT_EQ(check({{"Sec-Fetch-Site", "none"}}), absl::StatusCode::kOk);
  EXPECT_EQ(check({{"Sec-Fetch-Site", "cross-site"},  // a link that somebody follows
                   {"Sec-Fetch-Mode", "navigate"},
                   {"Sec-Fetch-Dest", "document"}}),
            absl::StatusCode::kOk);
}

TEST_F(AdminAccessTest, ANameThatLeadsHereIsRefused) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:8502", "localhost", "LOCALHOST:1", "[::1]:8502",
                           "[::1]", "192.168.1.2:80"}) {
    EXPECT_EQ(Check(Request("GET", host)), absl::StatusCode::kOk) << host;
  }
  for (const char* host : {"", "evil.example", "evil.example:8502", "127.0.0.1.evil.example",
                           "localhost.evil.example", "[evil]", "::1", "127.0.0.1@evil",
                           "[::1].evil.example", "[::1", "127.0.0.1:evil.example"}) {
    EXPECT_EQ(Check(Request("GET", host)), absl::StatusCode::kPermissionDenied) << host;
  }
  EXPECT_EQ(Check({.method = "GET", .target = "/"}), absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace tessera::serving
