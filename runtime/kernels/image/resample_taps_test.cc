#include "runtime/kernels/image/resample_taps.h"

#include <cmath>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

TEST(ResampleTapsTest, BilinearOutputsLieBetweenInputs) {
  const ResampleTaps corners = BilinearTaps({.in_size = 2, .out_size = 4});
  EXPECT_THAT(corners.index, ElementsAre(0, 0, 0, 1, 1, 1, 1, 1));
  EXPECT_THAT(corners.weight, ElementsAre(1, 0, 0.5, 0.5, 1, 0, 0.5, 0.5));
  const ResampleTaps centres =
      BilinearTaps({.in_size = 2, .out_size = 4, .half_pixel_centers = true});
  EXPECT_THAT(centres.weight, ElementsAre(0.25, 0.75, 0.75, 0.25, 0.25, 0.75, 0.75, 0.25));
  EXPECT_THAT(centres.index, ElementsAre(0, 0, 0, 1, 0, 1, 1, 1));
  const ResampleTaps aligned = BilinearTaps({.in_size = 3, .out_size = 5, .align_corners = true});
  EXPECT_EQ(aligned.index[8], 2) << "the last output is the last input";
  EXPECT_EQ(aligned.weight[8], 1);
}

TEST(ResampleTapsTest, WeightsSumToOne) {
  const ResampleGrid grid = {.in_size = 7, .out_size = 3, .half_pixel_centers = true};
  std::vector<ResampleTaps> all = {BilinearTaps(grid), BicubicTaps(grid),
                                   AreaTaps({.in_size = 7, .out_size = 3})};
  for (const char* kernel : {"lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle",
                             "keyscubic", "mitchellcubic"}) {
    all.push_back(KernelTaps(7, 3, 3.0f / 7, 0, kernel, true).value());
  }
  for (const ResampleTaps& taps : all) {
    ASSERT_EQ(taps.size(), 3);
    for (int i = 0; i < 3; ++i) {
      const auto first = taps.weight.begin() + i * taps.span;
      EXPECT_NEAR(std::accumulate(first, first + taps.span, 0.0f), 1, 1e-5);
    }
  }
}

TEST(ResampleTapsTest, AreaCoversPartsOfInputs) {
  const ResampleTaps taps = AreaTaps({.in_size = 3, .out_size = 2});
  ASSERT_EQ(taps.span, 2);
  EXPECT_THAT(taps.index, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(taps.weight, ElementsAre(FloatEq(2.0f / 3), FloatEq(1.0f / 3), FloatEq(1.0f / 3),
                                       FloatEq(2.0f / 3)));
}

TEST(ResampleTapsTest, KernelsReachFartherThanAnyIndex) {
  // The one output lies at the start of the input, as 0.5 / 1e-30 - 0.5 / 1e-30.
  const auto taps = KernelTaps(4, 1, 1e-30f, 0.5f, "triangle", /*antialias=*/true);
  ASSERT_TRUE(taps.ok()) << taps.status();
  EXPECT_EQ(taps->span, 4);
  for (const float weight : taps->weight) EXPECT_EQ(weight, 0.25f);
}

TEST(ResampleTapsTest, OutputsOutsideTheInputHaveNoWeight) {
  const ResampleTaps taps = KernelTaps(4, 4, 1, 2, "triangle", false).value();
  for (int t = 0; t < taps.span; ++t) EXPECT_EQ(taps.weight[t], 0);
  EXPECT_FALSE(KernelTaps(4, 4, 1, 0, "nearest", false).ok());
  EXPECT_FALSE(KernelTaps(4, 4, 0, 0, "box", false).ok());
  EXPECT_FALSE(KernelTaps(4, 4, std::nanf(""), 0, "box", false).ok());
}

}  // namespace
}  // namespace tessera
