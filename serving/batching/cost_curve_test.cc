#include "serving/batching/cost_curve.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::serving {
namespace {

constexpr int64_t kLimit = 64;

// The times of a device that takes `fixed` for a run, `slope` a row, and `cliff` a row beyond 16.
void Learn(CostCurve& curve, double fixed, double slope, double cliff = 0) {
  for (int64_t rows = 1; rows <= kLimit; rows *= 2) {
    curve.Record(
        rows, absl::Milliseconds(fixed + slope * rows + cliff * std::max<int64_t>(0, rows - 16)));
  }
}

TEST(CostCurveTest, KnowsNothingBeforeTwoSizes) {
  CostCurve curve;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(curve.BestRows(kLimit), kLimit);
    EXPECT_FALSE(curve.IsWorthMerging(1, 1));
    curve.Record(4, absl::Milliseconds(2));
  }
}

TEST(CostCurveTest, IsFlatBelowTheSizesAndLinearBetweenAndBeyondThem) {
  CostCurve gentle, steep;
  gentle.Record(4, absl::Milliseconds(10));
  gentle.Record(8, absl::Milliseconds(14));
  EXPECT_TRUE(gentle.IsWorthMerging(1, 3)) << "10 ms instead of 20";
  EXPECT_TRUE(gentle.IsWorthMerging(4, 4)) << "14 ms instead of 20";
  EXPECT_FALSE(gentle.IsWorthMerging(16, 16)) << "38 ms instead of 44";
  steep.Record(4, absl::Milliseconds(10));
  steep.Record(8, absl::Milliseconds(50));
  EXPECT_TRUE(steep.IsWorthMerging(2, 2)) << "10 ms instead of 20";
  EXPECT_FALSE(steep.IsWorthMerging(3, 3)) << "30 ms instead of 20";
}

TEST(CostCurveTest, FollowsADeviceThatBecomesSlower) {
  CostCurve slower, held_up;
  Learn(slower, 10, 0);
  EXPECT_TRUE(slower.IsWorthMerging(4, 4));
  for (int i = 0; i < 30; ++i) slower.Record(8, absl::Milliseconds(50));
  EXPECT_FALSE(slower.IsWorthMerging(4, 4));
  Learn(held_up, 10, 0);
  held_up.Record(16, absl::Milliseconds(30));
  EXPECT_TRUE(held_up.IsWorthMerging(8, 8)) << "one run that was held up does not turn it over";
}

TEST(CostCurveTest, BestRowsAreTheFewestThatKeepTheDeviceBusy) {
  CostCurve flat, linear, cliff;
  Learn(flat, 10, 0.001);
  EXPECT_EQ(flat.BestRows(kLimit), kLimit) << "more rows cost nothing";
  EXPECT_EQ(flat.BestRows(16), 16);
  Learn(linear, 0.01, 1);
  EXPECT_EQ(linear.BestRows(kLimit), 1) << "no rows are saved by any other number";
  Learn(cliff, 10, 0.1, 10);
  EXPECT_EQ(cliff.BestRows(kLimit), 16);
}

TEST(CostCurveTest, MergingPaysWhereTheCurveIsFlat) {
  CostCurve flat, linear, cliff;
  Learn(flat, 10, 0.001);
  EXPECT_TRUE(flat.IsWorthMerging(1, 1));
  Learn(linear, 0.01, 1);
  EXPECT_FALSE(linear.IsWorthMerging(4, 4));
  Learn(cliff, 10, 0.1, 10);
  EXPECT_TRUE(cliff.IsWorthMerging(4, 4));
  EXPECT_FALSE(cliff.IsWorthMerging(16, 16));
}

}  // namespace
}  // namespace tessera::serving
