#include "runtime/base/logging.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

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

TEST(LoggingTest, AReaderThatHasStoppedHoldsNobodyUp) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  ASSERT_GT(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
  while (::write(ends[1], "x", 1) == 1) {
  }
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, 0), 0);  // writes block from now on
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);

  LOG(INFO) << "waited for";
  LOG(INFO) << "lost as well";
  std::string text(1 << 16, 0);
  ASSERT_GT(::read(ends[0], text.data(), text.size()), 0);
  LOG(INFO) << "read";

  ::dup2(before, STDERR_FILENO);
  text.resize(std::max<ssize_t>(0, ::read(ends[0], text.data(), text.size())));
  EXPECT_THAT(text, MatchesRegex("\\(2 lines of the log are lost: nobody read them\\)\n"
                                 "[^\n]*\\] read\n"));
  for (const int fd : {ends[0], ends[1], before}) ::close(fd);
}

// A pipe that is ready takes a part of it, and would make the writer wait for the rest.
TEST(LoggingTest, ALineBeyondThePipeHoldsNobodyUp) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_GT(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  LOG(INFO) << std::string(100'000, 'x');
  std::string text(1 << 16, 0);
  EXPECT_GT(::read(ends[0], text.data(), text.size()), 0);
  LOG(INFO) << "read";
  ::dup2(before, STDERR_FILENO);
  text.resize(std::max<ssize_t>(0, ::read(ends[0], text.data(), text.size())));
  EXPECT_THAT(text, MatchesRegex("\\(1 lines of the log are lost: nobody read them\\)\n"
                                 "[^\n]*\\] read\n"));
  for (const int fd : {ends[0], ends[1], before}) ::close(fd);
}

TEST(LoggingDeathTest, FailedCheckNamesItsCondition) {
  const int index = 7;
  CHECK(index < 8) << "not evaluated";
  EXPECT_DEATH(CHECK(index < 3) << "index " << index, "check failed: index < 3 index 7");
}

}  // namespace
}  // namespace tessera
