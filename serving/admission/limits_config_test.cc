#include "serving/admission/limits_config.h"

#include <utility>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns "FIELD MESSAGE" for each error of a block.
std::vector<std::string> Errors(const char* text) {
  LimitsConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  std::vector<std::string> texts;
  for (const LimitsConfigError& error : CheckLimitsConfig(config)) {
    texts.push_back(error.field + " " + error.message);
  }
  return texts;
}

TEST(LimitsConfigTest, AcceptsWhatCanHold) {
  for (const char* text :
       {"", "max_concurrent_requests: 1 max_queue: 0 timeout_ms: 1 max_request_bytes: 1",
        "share: 1000", "timeout_ms: 86400000 max_request_bytes: 9223372036854775807"}) {
    EXPECT_THAT(Errors(text), IsEmpty()) << text;
  }
}

TEST(LimitsConfigTest, RefusesWhatCannot) {
  const std::pair<const char*, const char*> cases[] = {
      {"max_concurrent_requests: 0", "max_concurrent_requests is 0; it must be at least 1"},
      {"max_concurrent_requests: 1 max_queue: -1", "max_queue is -1; it must be at least 0"},
      {"max_queue: 5", "max_queue needs max_concurrent_requests, because nothing waits without it"},
      {"timeout_ms: 0", "timeout_ms is 0; it must be from 1 to 86400000"},
      {"timeout_ms: 86400001", "timeout_ms is 86400001; it must be from 1 to 86400000"},
      {"max_request_bytes: 0", "max_request_bytes is 0; it must be at least 1"},
      {"share: 0", "share is 0; it must be from 1 to 1000"},
      {"share: 1001", "share is 1001; it must be from 1 to 1000"},
  };
  for (const auto& [text, error] : cases) EXPECT_THAT(Errors(text), ElementsAre(error));
}

TEST(LimitsConfigTest, TellsEveryError) {
  EXPECT_THAT(Errors("max_queue: -1 timeout_ms: 0 share: 0"),
              ElementsAre("max_queue is -1; it must be at least 0",
                          "timeout_ms is 0; it must be from 1 to 86400000",
                          "share is 0; it must be from 1 to 1000",
                          "max_queue needs max_concurrent_requests, because nothing waits without "
                          "it"));
}

}  // namespace
}  // namespace tessera::serving
