#include "serving/frontend/http/http_target.h"

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

TEST(HttpTargetTest, PathHasNeitherAuthorityNorQuery) {
  EXPECT_EQ(PathOfTarget("/a/b?c=/d"), "/a/b");
  EXPECT_EQ(PathOfTarget("http://host:1/a?b"), "/a");
  EXPECT_EQ(PathOfTarget("http://host:1"), "/");
  EXPECT_EQ(PathOfTarget("*"), "*");
  EXPECT_EQ(PathOfTarget(""), "");
}

TEST(HttpTargetTest, FindsParametersOfTheQuery) {
  const char* const target = "/a?empty&model=a%26b&model=second&x=1=2&%6eame=v";
  EXPECT_EQ(QueryParameter(target, "model"), "a&b");
  EXPECT_EQ(QueryParameter(target, "empty"), "");
  EXPECT_EQ(QueryParameter(target, "x"), "1=2");
  EXPECT_EQ(QueryParameter(target, "name"), "v");
  EXPECT_EQ(QueryParameter(target, "absent"), std::nullopt);
  EXPECT_EQ(QueryParameter("/model", "model"), std::nullopt);
}

TEST(HttpTargetTest, BadPercentSequencesStay) {
  EXPECT_EQ(PercentDecode("a%2fb%2Fc+d"), "a/b/c+d");
  EXPECT_EQ(PercentDecode("%"), "%");
  EXPECT_EQ(PercentDecode("%2"), "%2");
  EXPECT_EQ(PercentDecode("%zz%4"), "%zz%4");
  EXPECT_EQ(PercentDecode("%%41"), "%A");
  EXPECT_EQ(PercentDecode("%00").size(), 1);
}

}  // namespace
}  // namespace tessera::serving
