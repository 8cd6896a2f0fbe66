#include "runtime/base/logging.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::MatchesRegex;

TEST(LoggingTest, LineHasTimeSeverityAndPlace) {
  ::testing::internal::CaptureStderr();
  LOG(WARNING) << "model '" << 3 << "'";
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              MatchesRegex("[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+:[0-9]+\\.[0-9]+ W "
                           "logging_test.cc:[0-9]+\\] model '3'\n"));
}

TEST(LoggingTest, LesserSeveritiesAreDropped) {
  SetMinLogSeverity(LogSeverity::kError);
  ::testing::internal::CaptureStderr();
  LOG(INFO) << "no";
  LOG(WARNING) << "no";
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  SetMinLogSeverity(LogSeverity::kInfo);
}

TEST(LoggingDeathTest, FailedCheckNamesItsCondition) {
  const int index = 7;
  CHECK(index < 8) << "not evaluated";
  EXPECT_DEATH(CHECK(index < 3) << "index " << index, "check failed: index < 3 index 7");
}

}  // namespace
}  // namespace tessera
