#include "serving/admission/limits_config.h"

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

// Returns "FIELD MESSAGE", or "" for a block without errors.
std::string Error(const char* text) {
  LimitsConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  const auto error = CheckLimitsConfig(config);
  return error ? error->field + " " + error->message : "";
}

TEST(LimitsConfigTest, AcceptsWhatCanHold) {
  EXPECT_EQ(Error(""), "");
  EXPECT_EQ(Error("max_concurrent_requests: 1 max_queue: 0 timeout_ms: 1 max_request_bytes: 1"),
            "");
  EXPECT_EQ(Error("share: 1000"), "");
  EXPECT_EQ(Error("timeout_ms: 86400000 max_request_bytes: 9223372036854775807"), "");
}

TEST(LimitsConfigTest, RefusesWhatCannot) {
  EXPECT_EQ(Error("max_concurrent_requests: 0"),
            "max_concurrent_requests is 0; it must be at least 1");
  EXPECT_EQ(Error("max_concurrent_requests: 1 max_queue: -1"),
            "max_queue is -1; it must be at least 0");
  EXPECT_EQ(Error("max_queue: 5"),
            "max_queue needs max_concurrent_requests, because nothing waits without it");
  EXPECT_EQ(Error("timeout_ms: 0"), "timeout_ms is 0; it must be from 1 to 86400000");
  EXPECT_EQ(Error("timeout_ms: 86400001"), "timeout_ms is 86400001; it must be from 1 to 86400000");
  EXPECT_EQ(Error("max_request_bytes: 0"), "max_request_bytes is 0; it must be at least 1");
  EXPECT_EQ(Error("share: 0"), "share is 0; it must be from 1 to 1000");
  EXPECT_EQ(Error("share: 1001"), "share is 1001; it must be from 1 to 1000");
}

}  // namespace
}  // namespace tessera::serving
