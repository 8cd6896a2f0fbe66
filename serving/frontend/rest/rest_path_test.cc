#include "serving/frontend/rest/rest_path.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(RestPathTest, PostNamesModelVersionOrLabel) {
  const auto plain = ParseRestPath("POST", "/v1/models/m:predict");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->model, "m");
  EXPECT_EQ(plain->action, "predict");
  EXPECT_FALSE(plain->version.has_value());
  EXPECT_FALSE(plain->label.has_value());

  EXPECT_EQ(ParseRestPath("POST", "/v1/models/m/versions/007:regress")->version, 7);
  EXPECT_EQ(ParseRestPath("POST", "/v1/models/m/labels/a%2Fb:classify")->label, "a/b");
}

TEST(RestPathTest, GetNamesStatusOrMetadata) {
  EXPECT_EQ(ParseRestPath("GET", "/v1/models/m")->action, "status");
  EXPECT_EQ(ParseRestPath("GET", "/v1/models/m/versions/5/metadata")->action, "metadata");
  EXPECT_EQ(ParseRestPath("GET", "/v1/models")->model, "");
  EXPECT_EQ(ParseRestPath("GET", "/v1/models/m?a=b")->model, "m?a=b");
}

TEST(RestPathTest, ReservedWordsAreNamesWhereThatFits) {
  EXPECT_EQ(ParseRestPath("GET", "/v1/models/metadata")->model, "metadata");
  EXPECT_EQ(ParseRestPath("GET", "/v1/models/labels")->model, "labels");
  EXPECT_EQ(ParseRestPath("GET", "/v1/models/labels/labels/metadata/metadata")->label, "metadata");
  EXPECT_EQ(ParseRestPath("POST", "/v1/models/versions/versions/3:predict")->model, "versions");
  const auto nameless = ParseRestPath("GET", "/v1/models/versions/5");
  ASSERT_TRUE(nameless.ok()) << nameless.status();
  EXPECT_EQ(nameless->model, "");
  EXPECT_EQ(nameless->version, 5);
}

TEST(RestPathTest, WordsMayBeInAnyCaseNamesKeepTheirs) {
  const auto target = ParseRestPath("POST", "/V1/MODELS/Mixed/LABELS/Ab:PREDICT");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(target->model, "Mixed");
  EXPECT_EQ(target->label, "Ab");
  EXPECT_EQ(target->action, "PREDICT");
}

TEST(RestPathTest, RefusesEverythingElse) {
  const std::pair<const char*, const char*> kBad[] = {
      {"POST", "/v1/models/m"},
      {"POST", "/v1/models:predict"},
      {"POST", "/v1/models/:predict"},
      {"POST", "/v1/models/m:predict?x=1"},
      {"POST", "/v1/models/m:predict/"},
      {"POST", "/v1/models/m:train"},
      {"POST", "/v1/models/a/b:predict"},
      {"POST", "/v1/models/m/versions/-1:predict"},
      {"POST", "/v1/models/m/versions/:predict"},
      {"POST", "/v1/models/m/versions/1/labels/x:predict"},
      {"POST", "/v1/models/m/metadata"},
      {"GET", "/v1/models/"},
      {"GET", "/v1/models/m/"},
      {"GET", "/v1/models/m:predict"},
      {"GET", "/v1/models/m/x"},
      {"GET", "/v1/models/m/metadata/"},
      {"GET", "/v1/modelsm"},
      {"GET", "/v1/"},
      {"GET", ""},
      {"PUT", "/v1/models/m:predict"},
      {"HEAD", "/v1/models/m"},
      {"get", "/v1/models/m"},
  };
  for (const auto& [method, path] : kBad) {
    const auto target = ParseRestPath(method, path);
    EXPECT_EQ(target.status().code(), absl::StatusCode::kInvalidArgument) << method << " " << path;
    EXPECT_THAT(std::string(target.status().message()),
                StartsWith(std::string("Malformed request: ") + method + " " + path));
  }
}

TEST(RestPathTest, RefusesVersionsBeyondInt64) {
  EXPECT_EQ(ParseRestPath("POST", "/v1/models/m/versions/9223372036854775807:predict")->version,
            INT64_MAX);
  EXPECT_THAT(std::string(ParseRestPath("POST", "/v1/models/m/versions/9223372036854775808:predict")
                              .status()
                              .message()),
              HasSubstr("Failed to convert version: 9223372036854775808"));
}

}  // namespace
}  // namespace tessera::serving
