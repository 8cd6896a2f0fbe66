#include "serving/frontend/dashboard/dashboard_page.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/frontend/http/http_inflate.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string HeaderOf(const HttpReply& reply, absl::string_view name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) return std::string(value);
  }
  return "";
}

TEST(DashboardPageTest, IsTheSameForClientsWithAndWithoutGzip) {
  const HttpReply plain = DashboardPage({});
  const HttpReply gzip = DashboardPage({.headers = {{"accept-encoding", "br, gzip"}}});
  EXPECT_THAT(plain.body, HasSubstr("<title>Tessera</title>"));
  EXPECT_EQ(HeaderOf(plain, "Content-Encoding"), "");
  EXPECT_EQ(HeaderOf(gzip, "Content-Encoding"), "gzip");
  EXPECT_LT(gzip.body.size(), plain.body.size() / 2);
  std::string inflated;
  ASSERT_TRUE(InflateGzip(gzip.body, plain.body.size(), &inflated).ok());
  EXPECT_EQ(inflated, plain.body);
}

TEST(DashboardPageTest, LoadsNothingFromElsewhere) {
  const HttpReply reply = DashboardPage({});
  const std::string policy = HeaderOf(reply, "Content-Security-Policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  for (const char* loading :
       {"src=\"", "href=\"http", "url(", "@import", "innerHTML", "eval(", "@include"}) {
    EXPECT_THAT(reply.body, Not(HasSubstr(loading)));
  }
}

}  // namespace
}  // namespace tessera::serving
