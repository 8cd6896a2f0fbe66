#include "runtime/kernels/primitives/cpu/attention_softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"

namespace tessera {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The parameter selects AVX-512.
class AttentionSoftmaxTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !HasAvx512()) GTEST_SKIP() << "needs AVX-512";
  }
  static void Weigh(const ScoreRows& rows) {
    GetParam() ? avx512::SoftmaxScores(rows) : avx2::SoftmaxScores(rows);
  }

  static std::vector<float> Softmax(std::vector<float> x) {
    const int64_t count = x.size();
    const int64_t step = (count + kScoreLanes - 1) / kScoreLanes * kScoreLanes;
    x.resize(step);
    Weigh({.scores = x.data(), .rows = 1, .count = count, .step = step});
    x.resize(count);
    return x;
  }
};

TEST_P(AttentionSoftmaxTest, ShareOneOutByExponentials) {
  for (const int count : {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 128, 1000}) {
    std::vector<float> x(count);
    for (int i = 0; i < count; ++i) x[i] = static_cast<float>(i * 37 % 101) * 0.75f - 50;
    x[count / 2] = 30;
    double sum = 0;
    std::vector<double> expected(count);
    for (int i = 0; i < count; ++i) sum += expected[i] = std::exp(static_cast<double>(x[i]));
    const std::vector<float> shares = Softmax(x);
    for (int i = 0; i < count; ++i) {
      ASSERT_NEAR(shares[i], expected[i] / sum, 1e-6 * expected[i] / sum + 1e-30)
          << i << " of " << count;
    }
  }
}

// Compares rows under all kinds of masks with the softmax of the masked scores.
TEST_P(AttentionSoftmaxTest, FollowScaleAndMasks) {
  constexpr int64_t kRows = 3, kCount = 37, kStep = 64;
  std::vector<float> whole(kRows * kCount), few(kRows);
  bool keep[kRows * kCount];
  for (int i = 0; i < kRows * kCount; ++i) {
    whole[i] = static_cast<float>(i * 29 % 31) / 8;
    keep[i] = i % 3 != 1;
  }
  few = {1, -2, 3};
  const bool keep_rows[kRows] = {true, false, true};
  const ScoreMask<float> by_key = {whole.data(), kCount, 1}, shared = {whole.data(), 0, 1};
  const ScoreMask<float> by_query = {few.data(), 1, 0}, everywhere = {few.data(), 0, 0};
  const ScoreMask<bool> keeps[] = {
      {}, {keep, kCount, 1}, {keep, 0, 1}, {keep_rows, 1, 0}, {keep_rows + 1, 0, 0}};
  for (const std::vector<ScoreMask<float>>& masks : std::vector<std::vector<ScoreMask<float>>>{
           {}, {by_key}, {shared}, {by_query}, {everywhere}, {by_query, shared, by_key}}) {
    for (const ScoreMask<bool>& kept : keeps) {
      std::vector<float> scores(kRows * kStep), expected;
      for (int64_t row = 0; row < kRows; ++row) {
        std::vector<float> logits(kCount);
        for (int64_t i = 0; i < kCount; ++i) {
          scores[row * kStep + i] = static_cast<float>((row * kCount + i) * 17 % 19) / 4;
          logits[i] = scores[row * kStep + i] * 0.5f;
          for (const ScoreMask<float>& mask : masks) {
            logits[i] += mask.first[row * mask.row_stride + i * mask.step];
          }
          if (kept.first != nullptr && !kept.first[row * kept.row_stride + i * kept.step]) {
            logits[i] = -1.5f;
          }
        }
        const std::vector<float> weights = Softmax(logits);
        expected.insert(expected.end(), weights.begin(), weights.end());
      }
      Weigh({.scores = scores.data(),
             .rows = kRows,
             .count = kCount,
             .step = kStep,
             .scale = 0.5f,
             .masks = masks.data(),
             .num_masks = static_cast<int64_t>(masks.size()),
             .keep = kept,
             .masked = -1.5f});
      for (int64_t i = 0; i < kRows * kCount; ++i) {
        ASSERT_NEAR(scores[i / kCount * kStep + i % kCount], expected[i], 1e-6)
            << masks.size() << " masks, keep " << &kept - keeps << ", score " << i;
      }
    }
  }
}

TEST_P(AttentionSoftmaxTest, AnyScaleIsThatOfTheScores) {
  constexpr int64_t kCount = 37, kStep = 48;
  for (const float scale : {0.125f, 3.0f, 0.0f, 1e-20f, 1e-35f, 1e30f, -2.0f, kInfinity}) {
    std::vector<float> scores(kStep), scaled(kCount);
    for (int64_t i = 0; i < kCount; ++i) {
      scores[i] = static_cast<float>(i * 29 % 31) / 8 - 1.5f;
      scaled[i] = scale * scores[i];
    }
    const std::vector<float> expected = Softmax(scaled);
    Weigh({.scores = scores.data(), .rows = 1, .count = kCount, .step = kStep, .scale = scale});
    for (int64_t i = 0; i < kCount; ++i) {
      if (std::isnan(expected[i])) {
        EXPECT_TRUE(std::isnan(scores[i])) << scale << " " << i;
      } else {
        EXPECT_NEAR(scores[i], expected[i], 1e-6) << scale << " " << i;
      }
    }
  }
}

TEST_P(AttentionSoftmaxTest, ExponentialsBecomeTheSoftmaxByTheirShares) {
  constexpr int64_t kRows = 3, kCount = 37, kStep = 48;
  std::vector<float> scores(kRows * kStep), softmax;
  for (int64_t i = 0; i < kRows * kStep; ++i) scores[i] = static_cast<float>(i * 29 % 31) / 8;
  scores[2 * kStep + 5] = kNan;
  for (int64_t row = 0; row < kRows; ++row) {
    const auto begin = scores.begin() + row * kStep;
    const std::vector<float> weights = Softmax({begin, begin + kCount});
    softmax.insert(softmax.end(), weights.begin(), weights.end());
  }
  float shares[kRows];
  Weigh({.scores = scores.data(), .rows = kRows, .count = kCount, .step = kStep, .shares = shares});
  EXPECT_EQ(*std::max_element(scores.begin(), scores.begin() + kCount), 1);
  GetParam() ? avx512::ScaleRows(shares, kRows, kCount, kStep, scores.data())
             : avx2::ScaleRows(shares, kRows, kCount, kStep, scores.data());
  for (int64_t i = 0; i < kRows * kCount; ++i) {
    const float share = scores[i / kCount * kStep + i % kCount];
    if (i / kCount == 2) {
      ASSERT_TRUE(std::isnan(share)) << i;
    } else {
      ASSERT_FLOAT_EQ(share, softmax[i]) << i;
    }
  }
}

TEST_P(AttentionSoftmaxTest, SpreadANaN) {
  for (const int at : {0, 5, 18}) {
    std::vector<float> scores(19, 1.0f);
    scores[at] = kNan;
    for (const float share : Softmax(scores)) EXPECT_TRUE(std::isnan(share));
  }
}

TEST_P(AttentionSoftmaxTest, TheGreatestScoreMayStandAnywhere) {
  constexpr int kCount = 150;
  for (int at = 0; at < kCount; ++at) {
    std::vector<float> scores(kCount, -100.0f);
    scores[at] = 200;  // its exponential overflows unless the greatest score is subtracted
    const std::vector<float> shares = Softmax(scores);
    for (int i = 0; i < kCount; ++i) ASSERT_EQ(shares[i], i == at ? 1.0f : 0.0f) << at << " " << i;
    scores[at] = kNan;
    for (const float share : Softmax(scores)) ASSERT_TRUE(std::isnan(share)) << at;
  }
}

TEST_P(AttentionSoftmaxTest, OfInfinities) {
  const std::vector<float> shares = Softmax({1, -kInfinity, 1});
  EXPECT_EQ(shares, (std::vector<float>{0.5f, 0, 0.5f}));
  // TensorFlow's softmax is undefined as well when no score is left, or one is infinite.
  for (const float share : Softmax({-kInfinity, -kInfinity})) EXPECT_TRUE(std::isnan(share));
  EXPECT_TRUE(std::isnan(Softmax({kInfinity, 0})[0]));
}

INSTANTIATE_TEST_SUITE_P(All, AttentionSoftmaxTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Avx512" : "Avx2"; });

}  // namespace
}  // namespace tessera
