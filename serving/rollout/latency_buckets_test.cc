#include "serving/rollout/latency_buckets.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

// The value at a rank of samples, by way of the buckets.
absl::Duration AtRank(const std::vector<absl::Duration>& samples, double rank) {
  std::vector<int64_t> counts(kNumLatencyBuckets);
  for (const absl::Duration sample : samples) ++counts[LatencyBucket(sample)];
  return LatencyAtRank(counts, rank);
}

TEST(LatencyBucketsTest, ALatencyIsReadBackWithinTwoPercent) {
  for (double micros = 2; micros < 1e8; micros *= 1.0037) {
    const absl::Duration latency = absl::Microseconds(micros);
    EXPECT_NEAR(absl::FDivDuration(AtRank({latency}, 1), latency), 1, 0.02) << latency;
  }
}

TEST(LatencyBucketsTest, BucketsAscendFromTheFirstToTheLast) {
  EXPECT_EQ(LatencyBucket(absl::ZeroDuration()), 0);
  EXPECT_EQ(LatencyBucket(absl::Seconds(-1)), 0);
  EXPECT_EQ(LatencyBucket(absl::Hours(100)), kNumLatencyBuckets - 1);
  EXPECT_EQ(LatencyBucket(absl::InfiniteDuration()), kNumLatencyBuckets - 1);
  int last = 0;
  for (int64_t nanos = 1000; nanos < 200'000; ++nanos) {
    const int bucket = LatencyBucket(absl::Nanoseconds(nanos));
    ASSERT_GE(bucket, last);
    ASSERT_LE(bucket, last + 1);
    last = bucket;
  }
}

TEST(LatencyBucketsTest, QuantilesOfManySamplesAreThoseOfTheSamples) {
  std::mt19937 random(1);
  std::lognormal_distribution<> micros(6, 1);
  std::vector<absl::Duration> samples;
  for (int i = 0; i < 20'000; ++i) samples.push_back(absl::Microseconds(micros(random)));
  std::vector<absl::Duration> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  for (const double rank : {1.0, 200.0, 10'000.0, 19'800.0, 20'000.0}) {
    const absl::Duration expected = sorted[static_cast<size_t>(rank) - 1];
    EXPECT_NEAR(absl::FDivDuration(AtRank(samples, rank), expected), 1, 0.017) << rank;
  }
}

TEST(LatencyBucketsTest, RanksOutOfRange) {
  EXPECT_EQ(AtRank({}, 1), absl::ZeroDuration());
  const std::vector<absl::Duration> two = {absl::Milliseconds(1), absl::Milliseconds(9)};
  EXPECT_NEAR(absl::ToDoubleMilliseconds(AtRank(two, -5)), 1, 0.02);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(AtRank(two, 2)), 9, 0.2);
}

}  // namespace
}  // namespace tessera::serving
