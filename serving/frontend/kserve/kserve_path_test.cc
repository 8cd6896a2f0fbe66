#include "serving/frontend/kserve/kserve_path.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

// Returns "CALL model version", "no method", or "nothing".
std::string Parsed(absl::string_view method, absl::string_view path) {
  const auto parsed = ParseKServePath(method, path);
  if (!parsed) return "nothing";
  if (!parsed->has_method) return "no method";
  return absl::StrCat(static_cast<int>(parsed->call), " ", parsed->model, " ", parsed->version);
}
std::string Call(KServeCall call, absl::string_view model, absl::string_view version = "") {
  return absl::StrCat(static_cast<int>(call), " ", model, " ", version);
}

TEST(KServePathTest, PathsNameCallModelAndVersion) {
  EXPECT_EQ(Parsed("GET", "/v2"), Call(KServeCall::kServerMetadata, ""));
  EXPECT_EQ(Parsed("GET", "/v2/models/stats"), Call(KServeCall::kStatistics, ""));
  EXPECT_EQ(Parsed("GET", "/v2/models/m"), Call(KServeCall::kModelMetadata, "m"));
  EXPECT_EQ(Parsed("GET", "/v2/models/m/versions/01"), Call(KServeCall::kModelMetadata, "m", "01"));
  EXPECT_EQ(Parsed("POST", "/v2/models/m/versions/7/infer"), Call(KServeCall::kInfer, "m", "7"));
  EXPECT_EQ(Parsed("GET", "/v2/models/m%20n/ready"), Call(KServeCall::kModelReady, "m%20n"));
  EXPECT_EQ(Parsed("GET", "/v2/models/versions/ready"), Call(KServeCall::kModelReady, "versions"));
  EXPECT_EQ(Parsed("POST", "/v2/repository/models/m/unload"), Call(KServeCall::kUnload, "m"));
  EXPECT_EQ(Parsed("POST", "/v2/logging"), Call(KServeCall::kLogSettings, ""));
  EXPECT_EQ(Parsed("GET", "/v2/models/m/trace/setting"), Call(KServeCall::kTraceSettings, "m"));
}

TEST(KServePathTest, EachCallHasItsMethod) {
  EXPECT_EQ(Parsed("POST", "/v2/health/live"), "no method");
  EXPECT_EQ(Parsed("GET", "/v2/models/m/infer"), "no method");
  EXPECT_EQ(Parsed("PUT", "/v2/logging"), "no method");
}

TEST(KServePathTest, OtherPathsAreNothing) {
  for (const char* path :
       {"/v2/", "/v2/models", "/v2/models/", "/v2//ready", "/v2/models//ready",
        "/v2/models/m/versions", "/v2/models/m/versions/", "/v2/models/m/versions/abc",
        "/v2/models/m/versions/-1/ready", "/v2/models/m/other", "/v2/models/m/ready/",
        "/v2/repository/models/m/versions/1/load", "/v1", "", "/"}) {
    EXPECT_EQ(Parsed("GET", path), "nothing") << path;
  }
}

}  // namespace
}  // namespace tessera::serving
