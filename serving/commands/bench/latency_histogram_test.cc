#include "serving/commands/bench/latency_histogram.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

int64_t Total(const std::vector<LatencyBin>& bins) {
  int64_t total = 0;
  for (const LatencyBin& bin : bins) total += bin.count;
  return total;
}

TEST(LatencyBinsTest, EveryLatencyIsInOneBin) {
  std::vector<absl::Duration> sorted;
  for (int i = 100; i < 10100; ++i) sorted.push_back(absl::Microseconds(i));
  const std::vector<LatencyBin> bins = LatencyBins(sorted, 16);
  ASSERT_EQ(bins.size(), 16u);
  EXPECT_EQ(bins.front().from, sorted.front());
  EXPECT_EQ(bins.back().to, sorted.back());
  EXPECT_EQ(Total(bins), 10000);
  for (size_t i = 1; i < bins.size(); ++i) EXPECT_EQ(bins[i].from, bins[i - 1].to);
  // Bounds grow by one factor.
  EXPECT_NEAR(absl::FDivDuration(bins[1].to, bins[1].from),
              absl::FDivDuration(bins[9].to, bins[9].from), 1e-3);
}

TEST(LatencyBinsTest, OneOutlierHasABinOfItsOwnAndDoesNotWidenTheOthers) {
  std::vector<absl::Duration> sorted;
  for (int i = 0; i < 2000; ++i) sorted.push_back(absl::Microseconds(100 + i / 100));
  sorted.back() = absl::Seconds(9);
  const std::vector<LatencyBin> bins = LatencyBins(sorted, 8);
  EXPECT_EQ(bins.back().to, absl::Seconds(9));
  EXPECT_LT(bins.back().from, absl::Microseconds(120));
  EXPECT_EQ(Total(bins), 2000);
}

TEST(LatencyBinsTest, EqualLatenciesShareABin) {
  const std::vector<absl::Duration> equal(5, absl::Milliseconds(3));
  ASSERT_EQ(LatencyBins(equal, 16).size(), 1u);
  EXPECT_EQ(LatencyBins(equal, 16)[0].count, 5);
  EXPECT_EQ(Total(LatencyBins(std::vector<absl::Duration>(3), 16)), 3);
  EXPECT_TRUE(LatencyBins({}, 16).empty());
}

TEST(DrawLatencyBinsTest, BarsAreInProportionAndNoCountIsHidden) {
  const LatencyBin bins[] = {{absl::Microseconds(10), absl::Microseconds(20), 1000},
                             {absl::Microseconds(20), absl::Microseconds(40), 500},
                             {absl::Microseconds(40), absl::Microseconds(80), 1},
                             {absl::Microseconds(80), absl::Microseconds(90), 0}};
  EXPECT_EQ(DrawLatencyBins(bins, 10),
            "  10.0 us |########## 1000\n"
            "  20.0 us |#####      500\n"
            "  40.0 us |#          1\n"
            "  80.0 us |           0\n");
}

TEST(LatencyTextTest, HasThreeDigitsInTheFittingUnit) {
  EXPECT_EQ(LatencyText(absl::Nanoseconds(512)), "0.51 us");
  EXPECT_EQ(LatencyText(absl::Nanoseconds(98100)), "98.1 us");
  EXPECT_EQ(LatencyText(absl::Nanoseconds(999600)), "1.00 ms");
  EXPECT_EQ(LatencyText(absl::Milliseconds(250)), "250 ms");
  EXPECT_EQ(LatencyText(absl::Seconds(12)), "12.0 s");
  EXPECT_EQ(LatencyText(absl::Seconds(5000)), "5000 s");
}

}  // namespace
}  // namespace tessera::serving
