#include "runtime/kernels/primitives/selected_boxes.h"

#include <cmath>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace tessera {
namespace {

using Overlap = SelectedBoxes::Overlap;

// Returns boxes with corners in either order, at multiples of an eighth, so that areas are exact.
// Some boxes are empty.
std::vector<float> RandomBoxes(int count, int seed) {
  std::minstd_rand random(seed);
  std::vector<float> boxes(4 * count);
  for (float& corner : boxes) corner = static_cast<float>(random() % 9) / 8;
  return boxes;
}

TEST(SelectedFloatBoxesTest, ComparesAsOneByOne) {
  constexpr int kCount = 120;
  const std::vector<float> boxes = RandomBoxes(kCount, 1);
  int above = 0;
  for (const float threshold : {0.0f, 0.25f, 0.5f, 1.0f}) {
    SelectedFloatBoxes selected(boxes.data(), 4, threshold);
    std::vector<int> added;
    for (int i = 0; i < kCount; ++i) {
      bool expected = false;
      for (const int j : added) {
        expected |= IntersectionOverUnion(&boxes[4 * i], &boxes[4 * j]) > threshold;
      }
      ASSERT_EQ(selected.Compare(i), expected ? Overlap::kSome : Overlap::kNone)
          << "box " << i << " with " << added.size() << " at " << threshold;
      above += expected;
      if (i % 4 == 0) {
        selected.Add(i);
        added.push_back(i);
      }
    }
  }
  EXPECT_GT(above, 50);
  EXPECT_LT(above, 400);
}

TEST(SelectedFloatBoxesTest, BoxesMayLieApart) {
  const std::vector<float> boxes = {0, 0, 1, 1, 9, 9, 9, 9, 0, 0, 1, 0.75f};
  SelectedFloatBoxes selected(boxes.data(), 8, 0.5f);
  selected.Add(0);
  EXPECT_EQ(selected.Compare(1), Overlap::kSome);
}

TEST(SelectedFloatBoxesTest, AnOverlapThatIsNoNumberIsUnknown) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> boxes = {0, 0, 1, 1, 0, nan, 1, 1, 2, 2, 3, 3};
  SelectedFloatBoxes selected(boxes.data(), 4, 0.5f);
  EXPECT_EQ(selected.Compare(1), Overlap::kNone);  // nothing is selected yet
  selected.Add(0);
  EXPECT_EQ(selected.Compare(2), Overlap::kNone);
  ASSERT_TRUE(std::isnan(IntersectionOverUnion(&boxes[4], &boxes[0])));
  EXPECT_EQ(selected.Compare(1), Overlap::kUnknown);
}

TEST(SelectBoxesTest, ChoosesTheSameBoxesWithAndWithoutThem) {
  constexpr int kCount = 300;
  std::vector<float> boxes = RandomBoxes(kCount, 2), scores(kCount);
  std::minstd_rand random(3);
  for (float& score : scores) score = static_cast<float>(random() % 50) / 50 - 0.1f;
  boxes[4 * 7] = std::numeric_limits<float>::quiet_NaN();
  const auto overlap = [&](int32_t a, int32_t b) {
    return IntersectionOverUnion(&boxes[4 * a], &boxes[4 * b]);
  };
  for (const float soft_sigma : {0.0f, 0.5f}) {
    for (const float score : {-1.0f, 0.2f}) {
      const BoxThresholds<float> t{.overlap = 0.3f, .score = score, .soft_sigma = soft_sigma};
      SelectedFloatBoxes selected(boxes.data(), 4, t.overlap);
      const auto plain = SelectBoxes<float>(scores, kCount, t, overlap);
      const auto quick = SelectBoxes<float>(scores, kCount, t, overlap, &selected);
      EXPECT_EQ(quick.boxes, plain.boxes) << soft_sigma << ", " << score;
      EXPECT_EQ(quick.scores, plain.scores);
      EXPECT_GT(plain.boxes.size(), 3);
    }
  }
}

}  // namespace
}  // namespace tessera
