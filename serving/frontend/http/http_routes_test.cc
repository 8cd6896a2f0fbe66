#include "serving/frontend/http/http_routes.h"

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

HttpRoute Route(std::string method, std::string path) {
  return {std::move(method), std::move(path), [](const HttpRequest&) { return HttpReply(); }};
}

class HttpRoutesTest : public ::testing::Test {
 protected:
  // Returns the path of the route, or what is allowed, or "none".
  std::string Find(absl::string_view method, absl::string_view path) const {
    const HttpRoutes::Match match = routes_.Find(method, path);
    if (match.route != nullptr) return match.route->path;
    return match.allowed.empty() ? "none" : std::string(match.allowed);
  }

  const HttpRoutes routes_{{Route("GET", "/"), Route("GET", "/a/*"), Route("GET", "/a/b"),
                            Route("POST", "/a/*"), Route("POST", "/a/b/*"), Route("POST", "/c")}};
};

TEST_F(HttpRoutesTest, TheLongestPathCounts) {
  EXPECT_EQ(Find("GET", "/"), "/");
  EXPECT_EQ(Find("GET", "/a/b"), "/a/b");
  EXPECT_EQ(Find("GET", "/a/b/c"), "/a/*");
  EXPECT_EQ(Find("POST", "/a/b/c"), "/a/b/*");
  EXPECT_EQ(Find("POST", "/a/b"), "/a/*");
}

TEST_F(HttpRoutesTest, HeadIsAnsweredAsGet) { EXPECT_EQ(Find("HEAD", "/a/b"), "/a/b"); }

TEST_F(HttpRoutesTest, AFolderIsNoneOfThePathsInIt) {
  EXPECT_EQ(Find("GET", "/a/"), "none");
  EXPECT_EQ(Find("GET", "/a"), "none");
  EXPECT_EQ(Find("GET", "/ab"), "none");
  EXPECT_EQ(Find("GET", ""), "none");
}

TEST_F(HttpRoutesTest, TellsTheMethodsOfAPath) {
  EXPECT_EQ(Find("GET", "/c"), "POST");
  EXPECT_EQ(Find("POST", "/"), "GET, HEAD");
  EXPECT_EQ(Find("DELETE", "/a/x"), "GET, HEAD, POST");
}

}  // namespace
}  // namespace tessera::serving
