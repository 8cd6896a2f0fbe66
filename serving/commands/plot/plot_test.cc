#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "serving/commands/plot/chart.h"
#include "serving/commands/plot/curves.h"

namespace tessera::serving {
namespace {

TEST(CurvesTest, AResumedRunReplacesWhatWasLost) {
  const auto curves = CurvesOfLog(
      "{\"event\":\"start\",\"step\":0}\n"
      "{\"event\":\"step\",\"step\":10,\"loss\":2.0,\"seconds\":1.0}\n"
      "{\"event\":\"eval\",\"step\":10,\"accuracy\":0.5}\n"
      "{\"event\":\"step\",\"step\":20,\"loss\":9.0}\n"
      "{\"event\":\"step\",\"step\":30,\"lo\n"
      "{\"event\":\"resume\",\"step\":10}\n"
      "{\"event\":\"step\",\"step\":15,\"loss\":1.0}\n"
      "{\"event\":\"step\",\"step\":16,\"loss\":\"NaN\"}\n");
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].name, "eval/accuracy");
  EXPECT_EQ(curves[1].name, "loss");
  EXPECT_EQ(curves[1].points, (std::vector<std::pair<double, double>>{{10, 2}, {15, 1}}));
}

TEST(CurvesTest, ARunThatBeganAnewReplacesAllOfTheOneBefore) {
  const auto curves = CurvesOfLog(
      "{\"event\":\"start\",\"step\":0}\n"
      "{\"event\":\"step\",\"step\":10,\"loss\":2.0}\n"
      "{\"event\":\"eval\",\"step\":10,\"accuracy\":0.5}\n"
      "{\"event\":\"start\",\"step\":0}\n"
      "{\"event\":\"step\",\"step\":5,\"loss\":\"NaN\"}\n"
      "{\"event\":\"step\",\"step\":6,\"loss\":3.0}\n"
      "{\"event\":\"start\",\"step\":0}\n");
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].points, (std::vector<std::pair<double, double>>{{6, 3}}));
}

TEST(CurvesTest, ACurveWithoutFiniteNumbersHasNoPoints) {
  const auto curves = CurvesOfLog("{\"event\":\"step\",\"step\":1,\"loss\":\"NaN\"}\n");
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_TRUE(curves[0].points.empty());
  EXPECT_TRUE(absl::StrContains(TextChart({curves[0], {"b", {{1, 2}}}}, 40, 5),
                                "a loss: no finite number"));
}

TEST(CurvesTest, AFolderWithoutALogIsNamed) {
  EXPECT_TRUE(absl::StrContains(ReadCurves("/nowhere").status().message(), "'/nowhere'"));
}

TEST(ChartTest, TextHasItsSizeAndTheCornersOfTheCurve) {
  const std::string chart = TextChart({{"loss", {{1, 4}, {2, 3}, {5, 0}}}}, 40, 5);
  const std::vector<std::string> lines = absl::StrSplit(chart, '\n');
  EXPECT_EQ(lines[0], "       4 |a                             ");
  EXPECT_EQ(lines[4], "       0 |                             a");
  EXPECT_EQ(lines[6], "          1                       step 5");
  EXPECT_EQ(lines[7], "          a loss: 0 at step 5");
}

TEST(ChartTest, OnePointIsEnough) {
  EXPECT_TRUE(absl::StrContains(TextChart({{"a", {{3, 0}}}, {"b", {}}}, 30, 5), "a"));
  EXPECT_TRUE(absl::StrContains(SvgChart({{"a", {{3, 7}}}}), "70.0,410.0"));
}

TEST(ChartTest, ExtremeNumbersFit) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
  const std::vector<Curve> wide = {{"a", {{0, kLargest}, {1, -kLargest}}}};
  const std::vector<std::string> lines = absl::StrSplit(TextChart(wide, 30, 5), '\n');
  EXPECT_EQ(lines[0], "1.798e+308 |a                   ");
  EXPECT_EQ(lines[4], "-1.798e+308 |                   a");
  EXPECT_TRUE(absl::StrContains(SvgChart(wide), "70.0,20.0 770.0,410.0"));
  EXPECT_TRUE(absl::StrContains(TextChart({{"a", {{9.2e18, kSmallest}}}}, 30, 5), "a"));
}

TEST(ChartTest, SvgEscapesNames) {
  EXPECT_TRUE(absl::StrContains(SvgChart({{"a<b", {{0, 0}, {1, 1}}}}), ">a&lt;b</text>"));
}

}  // namespace
}  // namespace tessera::serving
