#include "serving/frontend/failure_log.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TEST(FailureLogTest, OneLineASecondCountsTheOthers) {
  FailureLog log;
  const absl::Time start = absl::FromUnixSeconds(1000);
  const absl::Status status = absl::NotFoundError("no model\nI forged a line");
  CaptureStderr();
  log.Note("grpc", "Predict", "m\n", status, start);
  EXPECT_THAT(GetCapturedStderr(),
              AllOf(HasSubstr("request failed: grpc Predict of model 'm\\n': NOT_FOUND: no "
                              "model\\nI forged a line"),
                    EndsWith("line\n")));
  CaptureStderr();
  for (int i = 0; i < 5; ++i) log.Note("rest", "Regress", "m", status, start);
  EXPECT_EQ(GetCapturedStderr(), "");
  CaptureStderr();
  log.Note("rest", "Regress", "m", status, start + absl::Seconds(1));
  EXPECT_THAT(GetCapturedStderr(), EndsWith("; 5 more failed since the last line\n"));
}

}  // namespace
}  // namespace tessera::serving
