#include "serving/rollout/answer_drift.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'000'000'000);
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor Matrix(int64_t rows, std::vector<float> values) {
  const int64_t columns = static_cast<int64_t>(values.size()) / rows;
  return Tensor::Of(Shape{rows, columns}, absl::MakeConstSpan(values));
}

// One measured model.
struct Fixture {
  AnswerDrift drift{absl::Seconds(60)};

  bool Compare(const std::vector<NamedOutput>& live, const std::vector<NamedOutput>& candidate,
               const std::string& output = "", absl::Time now = kNow) {
    return drift.Compare(now, ExcerptOf(live, output), candidate);
  }
  VersionMeasures Measures(absl::Time now = kNow) const {
    VersionMeasures measures;
    drift.FillMeasures(now, &measures);
    return measures;
  }
};

TEST(AnswerDriftTest, NothingIsKnownBeforeAnythingIsCompared) {
  const VersionMeasures measures = Fixture().Measures();
  EXPECT_FALSE(measures.has_mean_abs_difference());
  EXPECT_FALSE(measures.has_top1_agreement());
  EXPECT_FALSE(measures.has_psi());
}

TEST(AnswerDriftTest, MeanDifferenceAndTop1ByRow) {
  Fixture f;
  EXPECT_TRUE(
      f.Compare({{"y", Matrix(2, {1, 2, 3, 9, 5, 6})}}, {{"y", Matrix(2, {1, 2, 4, 3, 5, 6})}}));
  EXPECT_DOUBLE_EQ(f.Measures().mean_abs_difference(), 7.0 / 6);
  EXPECT_DOUBLE_EQ(f.Measures().top1_agreement(), 0.5);
}

TEST(AnswerDriftTest, OneNumberForEachExampleHasNoTop1) {
  Fixture f;
  EXPECT_TRUE(f.Compare({{"y", Tensor::Vector<float>({1, 2})}, {"z", Matrix(2, {1, 2})}},
                        {{"y", Tensor::Vector<float>({2, 1})}, {"z", Matrix(2, {2, 1})}}));
  EXPECT_TRUE(f.Measures().has_mean_abs_difference());
  EXPECT_FALSE(f.Measures().has_top1_agreement());
}

TEST(AnswerDriftTest, TheWorstOutputCountsUnlessOneIsNamed) {
  const std::vector<NamedOutput> live = {{"a", Matrix(1, {1, 0})}, {"b", Matrix(1, {1, 0})}};
  const std::vector<NamedOutput> candidate = {{"b", Matrix(1, {0, 1})}, {"a", Matrix(1, {1, 0})}};
  Fixture all, named;
  EXPECT_TRUE(all.Compare(live, candidate));
  EXPECT_EQ(all.Measures().mean_abs_difference(), 1);
  EXPECT_EQ(all.Measures().top1_agreement(), 0);
  EXPECT_TRUE(named.Compare(live, candidate, "a"));
  EXPECT_EQ(named.Measures().mean_abs_difference(), 0);
  EXPECT_EQ(named.Measures().top1_agreement(), 1);
}

TEST(AnswerDriftTest, OutputsOfOneNameAreComparedInTheirOrder) {
  const std::vector<NamedOutput> live = {
      {"outputs", Matrix(1, {1, 0})}, {"other", Matrix(1, {1, 0})}, {"outputs", Matrix(1, {5, 9})}};
  for (const char* output : {"", "outputs"}) {
    Fixture f;
    EXPECT_TRUE(f.Compare(live, live, output));
    EXPECT_EQ(f.Measures().mean_abs_difference(), 0);
    EXPECT_TRUE(f.Compare(live, {live[0], live[1], {"outputs", Matrix(1, {5, 17})}}, output));
    EXPECT_EQ(f.Measures().mean_abs_difference(), 2) << "of the second alone";
    EXPECT_FALSE(f.Compare(live, {live[0], live[1]}, output));
  }
}

TEST(AnswerDriftTest, IntegersAreComparedIfTheyAreNamed) {
  const std::vector<NamedOutput> live = {{"ids", Tensor::Vector<int64_t>({1, 7})},
                                         {"text", Tensor::Scalar("a")}};
  const std::vector<NamedOutput> candidate = {{"ids", Tensor::Vector<int64_t>({1, 9})},
                                              {"text", Tensor::Scalar("b")}};
  Fixture all, ids, text;
  EXPECT_TRUE(all.Compare(live, candidate));
  EXPECT_FALSE(all.Measures().has_mean_abs_difference());
  EXPECT_TRUE(ids.Compare(live, candidate, "ids"));
  EXPECT_EQ(ids.Measures().mean_abs_difference(), 1);
  EXPECT_TRUE(text.Compare(live, candidate, "text"));
  EXPECT_FALSE(text.Measures().has_mean_abs_difference());
}

TEST(AnswerDriftTest, AMismatchMakesAllRowsDisagreeAndComparesNoValues) {
  const std::vector<NamedOutput> live = {{"y", Matrix(2, {1, 2, 3, 4})}};
  const std::vector<std::vector<NamedOutput>> mismatched = {
      {},
      {{"z", Matrix(2, {1, 2, 3, 4})}},
      {{"y", Matrix(1, {1, 2, 3, 4})}},
      {{"y", Matrix(2, {1, 2, 3, 4, 5, 6})}},
      {{"y", Tensor::Vector<float>({1, 2, 3, 4})}},
      {{"y", Tensor::Of<double>({2, 2}, {1, 2, 3, 4})}},
      {{"y", Tensor::Scalar("text")}},
      {{"y", Tensor()}},
  };
  Fixture f;
  for (const auto& candidate : mismatched) EXPECT_FALSE(f.Compare(live, candidate));
  EXPECT_EQ(f.Measures().top1_agreement(), 0);
  EXPECT_FALSE(f.Measures().has_mean_abs_difference());
  // What the candidate has beyond live's outputs is no mismatch.
  EXPECT_TRUE(f.Compare(live, {{"x", Tensor::Scalar(1.0f)}, live[0]}));
  EXPECT_EQ(f.Measures().top1_agreement(), 2.0 / 18);
}

TEST(AnswerDriftTest, NanInOneAnswerAloneIsNoAgreement) {
  Fixture both, one, infinite;
  both.Compare({{"y", Matrix(1, {kNan, 2, 1})}}, {{"y", Matrix(1, {kNan, 4, 3})}});
  EXPECT_EQ(both.Measures().top1_agreement(), 1);
  EXPECT_EQ(both.Measures().mean_abs_difference(), 2);
  one.Compare({{"y", Matrix(1, {0, 2, 1})}}, {{"y", Matrix(1, {kNan, 2, 1})}});
  EXPECT_EQ(one.Measures().top1_agreement(), 0);
  EXPECT_EQ(one.Measures().mean_abs_difference(), 0);
  // An infinity is the largest element; a difference to it is not counted.
  infinite.Compare({{"y", Matrix(1, {0, kInf, 1})}}, {{"y", Matrix(1, {-kInf, 7, 2})}});
  EXPECT_EQ(infinite.Measures().top1_agreement(), 1);
  EXPECT_EQ(infinite.Measures().mean_abs_difference(), 1);
}

TEST(AnswerDriftTest, EmptyOutputsMatchAndSayNothing) {
  Fixture f;
  const Tensor empty = Tensor::Zeros(DType::kFloat, {0, 5}).value();
  EXPECT_TRUE(f.Compare({{"y", empty}}, {{"y", empty}}));
  EXPECT_FALSE(f.Measures().has_mean_abs_difference());
  EXPECT_FALSE(f.Measures().has_top1_agreement());
  EXPECT_FALSE(f.Compare({{"y", empty}}, {{"y", Tensor::Zeros(DType::kFloat, {0, 4}).value()}}));
}

TEST(AnswerDriftTest, OfAHugeOutputWholeFirstRowsAreCompared) {
  constexpr int64_t kColumns = 1000;
  const int64_t rows = AnswerExcerpt::kMaxElements / kColumns;
  Tensor live = Tensor::Zeros(DType::kFloat, {rows + 5, kColumns}).value();
  Tensor candidate = live.DeepCopy().value();
  for (int64_t i = 0; i < candidate.num_elements(); ++i) {
    candidate.flat<float>()[i] = i < rows * kColumns ? 1 : 1e9f;
  }
  const AnswerExcerpt excerpt = ExcerptOf({{{"y", live}}}, "");
  EXPECT_EQ(excerpt.outputs[0].first.num_elements(), rows * kColumns);
  Fixture f;
  EXPECT_TRUE(f.Compare({{"y", live}}, {{"y", candidate}}));
  EXPECT_EQ(f.Measures().mean_abs_difference(), 1);

  // A row that is too long is compared by its beginning.
  const Tensor wide = Tensor::Zeros(DType::kFloat, {2, 10 * AnswerExcerpt::kMaxElements}).value();
  EXPECT_EQ(ExcerptOf({{{"y", wide}}}, "").outputs[0].first.num_elements(),
            AnswerExcerpt::kMaxElements);
  EXPECT_TRUE(f.Compare({{"y", wide}}, {{"y", wide}}));
}

TEST(AnswerDriftTest, MoreOutputsThanAreComparedAreLeftOut) {
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("y" + std::to_string(i));
  std::vector<NamedOutput> live;
  for (const std::string& name : names) live.push_back({name, Tensor::Scalar(1.0f)});
  EXPECT_EQ(ExcerptOf(live, "").outputs.size(), AnswerExcerpt::kMaxOutputs);
  Fixture f;
  for (const NamedOutput& output : live) EXPECT_TRUE(f.Compare({output}, {output}));
  EXPECT_EQ(f.Measures().mean_abs_difference(), 0);
}

// Values of a normal distribution, `count` at once.
std::vector<NamedOutput> Normal(std::mt19937& random, double mean, int64_t count) {
  std::normal_distribution<float> values(static_cast<float>(mean), 1);
  std::vector<float> drawn;
  for (int64_t i = 0; i < count; ++i) drawn.push_back(values(random));
  return {{"y", Tensor::Vector<float>(drawn)}};
}

TEST(AnswerDriftTest, PsiTellsAShiftFromChance) {
  std::mt19937 random(1);
  Fixture same, shifted;
  for (int i = 0; i < 50; ++i) {
    same.Compare(Normal(random, 0, 100), Normal(random, 0, 100));
    shifted.Compare(Normal(random, 0, 100), Normal(random, 1, 100));
  }
  EXPECT_LT(same.Measures().psi(), 0.02);
  // Two normal distributions one standard deviation apart have a divergence of 1 to both sides.
  EXPECT_NEAR(shifted.Measures().psi(), 1, 0.15);
}

TEST(AnswerDriftTest, PsiIsUnsetUntilThereAreEnoughValues) {
  constexpr int64_t kHalf = AnswerDrift::kValuesForBins / 2;
  std::mt19937 random(1);
  Fixture f;
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(f.Measures().has_psi()) << i;
    f.Compare(Normal(random, 0, kHalf), Normal(random, 0, kHalf));
  }
  EXPECT_TRUE(f.Measures().has_psi());
  EXPECT_FALSE(f.Measures(kNow + absl::Seconds(70)).has_psi());
}

TEST(AnswerDriftTest, PsiOfAValueThatIsAlwaysTheSame) {
  Fixture same, lower;
  const Tensor ones = Tensor::Vector<float>(std::vector<float>(1000, 1));
  const Tensor zeros = Tensor::Vector<float>(std::vector<float>(1000, 0));
  for (int i = 0; i < 3; ++i) {
    same.Compare({{"y", ones}}, {{"y", ones}});
    lower.Compare({{"y", ones}}, {{"y", zeros}});
  }
  EXPECT_EQ(same.Measures().psi(), 0);
  EXPECT_GT(lower.Measures().psi(), 1);
}

TEST(AnswerDriftTest, WindowsEndAndResetForgets) {
  Fixture f;
  f.Compare({{"y", Matrix(1, {0, 1})}}, {{"y", Matrix(1, {1, 0})}});
  const absl::Time later = kNow + absl::Seconds(70);
  EXPECT_FALSE(f.Measures(later).has_top1_agreement());
  f.Compare({{"y", Matrix(1, {0, 1})}}, {{"y", Matrix(1, {0, 1})}}, "", later);
  EXPECT_EQ(f.Measures(later).top1_agreement(), 1);
  f.drift.Reset();
  EXPECT_FALSE(f.Measures(later).has_top1_agreement());
}

}  // namespace
}  // namespace tessera::serving
