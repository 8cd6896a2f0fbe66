#include "serving/frontend/failure_log.h"

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

constexpr auto kNoTrace = [] { return absl::string_view(); };

TEST(FailureLogTest, OneLineASecondCountsTheOthers) {
  FailureLog log;
  const absl::Time start = absl::FromUnixSeconds(1000);
  const absl::Status status = absl::NotFoundError("no model\nI forged a line");
  CaptureStderr();
  log.Note("grpc", "Predict", "m\n", status, kNoTrace, start);
  EXPECT_THAT(GetCapturedStderr(),
              AllOf(HasSubstr("request failed: grpc Predict of model 'm\\n': NOT_FOUND: no "
                              "model\\nI forged a line"),
                    EndsWith("line\n")));
  CaptureStderr();
  for (int i = 0; i < 5; ++i) log.Note("rest", "Regress", "m", status, kNoTrace, start);
  EXPECT_EQ(GetCapturedStderr(), "");
  CaptureStderr();
  log.Note("rest", "Regress", "m", status, kNoTrace, start + absl::Seconds(1));
  EXPECT_THAT(GetCapturedStderr(), EndsWith("; 5 more failed since the last line\n"));
}

TEST(FailureLogTest, ApostrophesStayAsTheyAre) {
  FailureLog log;
  CaptureStderr();
  log.Note("grpc", "Predict", "m", absl::NotFoundError("the model's \\'"), kNoTrace, absl::Now());
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("NOT_FOUND: the model's \\\\'"));
}

TEST(FailureLogTest, LongNamesAndMessagesAreCut) {
  FailureLog log;
  const std::string name(100'000, 'm');
  CaptureStderr();
  log.Note("grpc", "Predict", name, absl::NotFoundError(name), kNoTrace, absl::Now());
  const std::string line = GetCapturedStderr();
  EXPECT_LT(line.size(), 4096);
  EXPECT_THAT(line, AllOf(HasSubstr("mmm...'"), EndsWith("mmm...\n")));
}

TEST(FailureLogTest, WhatARequestDoesNotNameIsLeftOut) {
  FailureLog log;
  CaptureStderr();
  log.Note("rest", "", "", absl::InvalidArgumentError("Malformed"), kNoTrace, absl::Now());
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("request failed: rest: INVALID_ARGUMENT: Malformed"));
}

TEST(FailureLogTest, ALineNamesTheTraceOfItsRequest) {
  FailureLog log;
  CaptureStderr();
  log.Note(
      "rest", "predict", "m", absl::NotFoundError("gone"), [] { return "4bf9"; }, absl::Now());
  EXPECT_THAT(GetCapturedStderr(), EndsWith("NOT_FOUND: gone; trace 4bf9\n"));
}

TEST(FailureLogTest, NothingIsLoggedOrAskedOfARequestThatSucceeded) {
  FailureLog log;
  CaptureStderr();
  const auto trace = [] {
    ADD_FAILURE() << "the header was looked for";
    return absl::string_view();
  };
  log.Note("grpc", "Predict", "m", absl::OkStatus(), trace, absl::Now());
  EXPECT_EQ(GetCapturedStderr(), "");
}

}  // namespace
}  // namespace tessera::serving
