#include "serving/rollout/version_measures.h"

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'000'000'000);
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<NamedOutput> Answer(float value) { return {{"y", Tensor::Scalar(value)}}; }

TEST(VersionMeasurerTest, CountsRequestsErrorsAndAnswersThatAreNotFinite) {
  VersionMeasurer measurer(absl::Seconds(60), "");
  for (int i = 0; i < 6; ++i) {
    measurer.Record(kNow, absl::OkStatus(), absl::Milliseconds(1), Answer(1));
  }
  measurer.Record(kNow, absl::OkStatus(), absl::Milliseconds(1), Answer(kNan));
  measurer.Record(kNow, absl::OkStatus(), absl::Milliseconds(1), {});
  measurer.Record(kNow, absl::InternalError("x"), absl::Seconds(9), {});
  measurer.Record(kNow, absl::InvalidArgumentError("x"), absl::Seconds(9), {});
  measurer.Record(kNow, absl::CancelledError("x"), absl::Seconds(9), {});
  const VersionMeasures measures = measurer.Measures(kNow);
  EXPECT_EQ(measures.requests(), 10);
  EXPECT_EQ(measures.errors(), 2);
  EXPECT_DOUBLE_EQ(measures.error_rate(), 0.2);
  EXPECT_EQ(measures.answers_checked(), 7);
  EXPECT_DOUBLE_EQ(measures.non_finite_share(), 1.0 / 7);
  // Times of requests that failed are not among the latencies.
  EXPECT_NEAR(measures.p99_micros(), 1000, 20);
}

TEST(VersionMeasurerTest, QuantilesAndTheirLowerBounds) {
  VersionMeasurer measurer(absl::Seconds(60), "");
  for (int i = 1; i <= 10'000; ++i) {
    measurer.Record(kNow, absl::OkStatus(), absl::Microseconds(100 * i), {});
  }
  const VersionMeasures measures = measurer.Measures(kNow);
  EXPECT_NEAR(measures.p50_micros() / 500'000, 1, 0.016);
  EXPECT_NEAR(measures.p99_micros() / 990'000, 1, 0.016);
  // The standard error of the rank is 50 of 10,000 for the median and 9.95 for p99.
  EXPECT_NEAR(measures.p50_low_micros() / 485'000, 1, 0.016);
  EXPECT_NEAR(measures.p99_low_micros() / 987'000, 1, 0.016);
}

TEST(VersionMeasurerTest, ThreeSlowRequestsOfAHundredDoNotRaiseTheLowerBoundOfP99) {
  VersionMeasurer measurer(absl::Seconds(60), "");
  for (int i = 0; i < 100; ++i) {
    measurer.Record(kNow, absl::OkStatus(), absl::Milliseconds(i < 97 ? 1 : 50), {});
  }
  EXPECT_GT(measurer.Measures(kNow).p99_micros(), 40'000);
  EXPECT_LT(measurer.Measures(kNow).p99_low_micros(), 1'100);
}

TEST(VersionMeasurerTest, NothingRecordedIsAllZeros) {
  const VersionMeasures measures = VersionMeasurer(absl::Seconds(60), "").Measures(kNow);
  EXPECT_EQ(measures.SerializeAsString(), "");
}

TEST(VersionMeasurerTest, ComparisonsErrorsDropsAndMismatches) {
  VersionMeasurer measurer(absl::Seconds(60), "");
  const AnswerExcerpt live = ExcerptOf(Answer(1), "");
  measurer.RecordComparison(kNow, live, absl::OkStatus(), Answer(3));
  measurer.RecordComparison(kNow, live, absl::OkStatus(), Answer(kNan));
  measurer.RecordComparison(kNow, live, absl::OkStatus(), {});
  measurer.RecordComparison(kNow, live, absl::InternalError("x"), {});
  measurer.RecordDropped(kNow);
  measurer.RecordDropped(kNow);
  const VersionMeasures measures = measurer.Measures(kNow);
  EXPECT_EQ(measures.requests(), 0);
  EXPECT_EQ(measures.compared(), 3);
  EXPECT_EQ(measures.mismatched(), 1);
  EXPECT_EQ(measures.mirror_errors(), 1);
  EXPECT_EQ(measures.mirror_dropped(), 2);
  EXPECT_EQ(measures.mean_abs_difference(), 2);
  EXPECT_EQ(measures.answers_checked(), 2);
  EXPECT_DOUBLE_EQ(measures.non_finite_share(), 0.5);
}

TEST(VersionMeasurerTest, WindowsEndAndResetForgets) {
  VersionMeasurer measurer(absl::Seconds(60), "");
  const auto record = [&](absl::Time now) {
    measurer.Record(now, absl::OkStatus(), absl::Milliseconds(1), Answer(1));
    measurer.RecordComparison(now, ExcerptOf(Answer(1), ""), absl::OkStatus(), Answer(2));
  };
  record(kNow);
  record(kNow + absl::Seconds(30));
  EXPECT_EQ(measurer.Measures(kNow + absl::Seconds(60)).requests(), 2);
  EXPECT_EQ(measurer.Measures(kNow + absl::Seconds(70)).requests(), 1);
  EXPECT_EQ(measurer.Measures(kNow + absl::Seconds(70)).compared(), 1);
  EXPECT_EQ(measurer.Measures(kNow + absl::Seconds(100)).SerializeAsString(), "");
  measurer.Reset();
  EXPECT_EQ(measurer.Measures(kNow + absl::Seconds(60)).SerializeAsString(), "");
}

TEST(VersionMeasurerTest, ThreadsRecordReadAndReset) {
  constexpr int kThreads = 4, kRequests = 2'000;
  VersionMeasurer measurer(absl::Seconds(60), "");
  const auto record_all = [&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kRequests; ++i) {
          measurer.Record(kNow, absl::OkStatus(), absl::Microseconds(i), Answer(1));
          measurer.RecordComparison(kNow, ExcerptOf(Answer(1), ""), absl::OkStatus(), Answer(1));
          if (i % 100 != 0) continue;
          EXPECT_LE(measurer.Measures(kNow).requests(), kThreads * kRequests);
        }
      });
    }
    return threads;
  };
  std::vector<std::thread> threads = record_all();
  for (int i = 0; i < 100; ++i) measurer.Reset();
  for (std::thread& thread : threads) thread.join();

  measurer.Reset();
  for (std::thread& thread : record_all()) thread.join();
  EXPECT_EQ(measurer.Measures(kNow).requests(), kThreads * kRequests);
  EXPECT_EQ(measurer.Measures(kNow).compared(), kThreads * kRequests);
}

}  // namespace
}  // namespace tessera::serving
