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
  EXPECT_FALSE(curve.TimeOf(1).has_value());
  EXPECT_EQ(curve.BestRows(kLimit), kLimit);
  EXPECT_FALSE(curve.IsWorthMerging(1, 1));
  curve.Record(4, absl::Milliseconds(2));
  curve.Record(4, absl::Milliseconds(2));
  EXPECT_FALSE(curve.TimeOf(1).has_value());
}

TEST(CostCurveTest, IsLinearBetweenSizesAndBeyondThem) {
  CostCurve curve;
  curve.Record(4, absl::Milliseconds(10));
  curve.Record(8, absl::Milliseconds(14));
  EXPECT_EQ(curve.TimeOf(1), absl::Milliseconds(10));
  EXPECT_NEAR(absl::ToDoubleMilliseconds(*curve.TimeOf(6)), 12, 1e-6);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(*curve.TimeOf(16)), 22, 1e-6);
}

TEST(CostCurveTest, FollowsADeviceThatBecomesSlower) {
  CostCurve curve;
  Learn(curve, 10, 0);
  for (int i = 0; i < 30; ++i) curve.Record(8, absl::Milliseconds(50));
  EXPECT_GT(*curve.TimeOf(8), absl::Milliseconds(49));
  // One run that was held up does not turn it over.
  curve.Record(16, absl::Milliseconds(30));
  EXPECT_LT(*curve.TimeOf(16), absl::Milliseconds(15));
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
