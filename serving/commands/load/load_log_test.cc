#include "serving/commands/load/load_log.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

RequestRecord Record(double seconds, int latency_us, Outcome outcome = Outcome::kRight) {
  return {.intended = absl::Seconds(seconds),
          .lag = absl::Microseconds(1),
          .latency = absl::Microseconds(latency_us),
          .request = 0,
          .outcome = outcome};
}

TEST(LoadLogTest, PercentilesAreThoseOfSortedLatencies) {
  LoadLog log;
  log.OpenWindow("run", absl::ZeroDuration());
  for (int i = 1000; i >= 1; --i) log.Add(Record(1, i), "");
  log.Close(absl::Seconds(10));

  const std::vector<WindowSummary> summaries = log.Summaries();

  ASSERT_EQ(summaries.size(), 1);
  EXPECT_EQ(summaries[0].length, absl::Seconds(10));
  EXPECT_EQ(summaries[0].right, 1000);
  EXPECT_EQ(summaries[0].p50, absl::Microseconds(500));
  EXPECT_EQ(summaries[0].p99, absl::Microseconds(990));
  EXPECT_EQ(summaries[0].p999, absl::Microseconds(999));
  EXPECT_EQ(summaries[0].max, absl::Microseconds(1000));
}

TEST(LoadLogTest, TheMeanOfManyShortLatenciesIsExact) {
  LoadLog log;
  log.OpenWindow("run", absl::ZeroDuration());
  for (int i = 0; i < 50'000; ++i) log.Add(Record(1, 10), "");
  log.Close(absl::Seconds(10));
  EXPECT_EQ(log.Summaries()[0].mean, absl::Microseconds(10));
}

TEST(LoadLogTest, ARequestBelongsToTheWindowInWhichItWasToBeSent) {
  LoadLog log;
  log.OpenWindow("before", absl::Seconds(1));
  log.OpenWindow("swap", absl::Seconds(3));
  log.OpenWindow("", absl::Seconds(4));
  log.OpenWindow("swap", absl::Seconds(6));
  log.Close(absl::Seconds(7));
  log.Add(Record(0.5, 9'000'000), "");  // before all windows
  log.Add(Record(2.9, 5'000'000), "");  // answered in another window
  log.Add(Record(3.0, 10), "");
  log.Add(Record(5.0, 9'000'000), "");  // between windows
  log.Add(Record(6.5, 30), "");

  const std::vector<WindowSummary> summaries = log.Summaries();

  ASSERT_EQ(summaries.size(), 2);
  EXPECT_EQ(summaries[0].name, "before");
  EXPECT_EQ(summaries[0].length, absl::Seconds(2));
  EXPECT_EQ(summaries[0].max, absl::Seconds(5));
  EXPECT_EQ(summaries[1].name, "swap");
  EXPECT_EQ(summaries[1].length, absl::Seconds(2));
  EXPECT_EQ(summaries[1].right, 2);
  EXPECT_EQ(summaries[1].max, absl::Microseconds(30));
}

TEST(LoadLogTest, LostRequestsHaveNoLatencyAndAreCounted) {
  LoadLog log;
  log.OpenWindow("run", absl::ZeroDuration());
  log.Add(Record(1, 10), "");
  RequestRecord lost = Record(2, 30'000'000, Outcome::kLost);
  lost.code = absl::StatusCode::kUnavailable;
  log.Add(lost, "UNAVAILABLE: gone");
  log.Add(Record(3, 20, Outcome::kWrong), "3, not 2");
  log.Close(absl::Seconds(4));

  const WindowSummary summary = log.Summaries().at(0);

  EXPECT_EQ(summary.right, 1);
  EXPECT_EQ(summary.wrong, 1);
  EXPECT_EQ(summary.lost, 1);
  EXPECT_THAT(summary.lost_by_code, ElementsAre(Pair(absl::StatusCode::kUnavailable, 1)));
  EXPECT_EQ(summary.answers_per_second(), 0.5);
  EXPECT_EQ(log.counts().answered, 2);
  EXPECT_EQ(log.counts().lost, 1);
  EXPECT_EQ(summary.max, absl::Microseconds(20));
  EXPECT_THAT(log.failures(),
              ElementsAre("lost at 2 s: UNAVAILABLE: gone", "wrong at 3 s: 3, not 2"));
  EXPECT_THAT(SummaryJson(log), HasSubstr("\"lost\": 1"));
}

TEST(LoadLogTest, CsvHasEveryRequestWithItsTime) {
  LoadLog log;
  log.Add(Record(1.5, 250), "");
  log.Add(Record(2, 7, Outcome::kLost), "x");
  const std::string path = ::testing::TempDir() + "/log.csv";

  ASSERT_TRUE(log.WriteCsv(path, absl::FromUnixSeconds(1000)).ok());

  EXPECT_EQ(ReadFile(path).value(),
            "unix_seconds,lag_us,latency_us,request,outcome\n"
            "1001.500000,1.0,250.0,0,right\n"
            "1002.000000,1.0,7.0,0,lost\n");
  EXPECT_FALSE(log.WriteCsv("/no/such/folder/log.csv", absl::UnixEpoch()).ok());
}

}  // namespace
}  // namespace tessera::serving
