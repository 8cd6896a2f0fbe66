// The expected numbers are those of tf.keras.metrics (Keras 3.15 on TensorFlow 2.21).
#include "runtime/training/metrics/metric.h"

#include <limits>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tessera/training/data.pb.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr double kTolerance = 1e-6;

absl::StatusOr<std::unique_ptr<Metric>> TryMake(const std::string& text) {
  training::MetricSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return Metric::Make(spec);
}

Tensor Matrix(int64_t rows, std::initializer_list<float> values) {
  return Tensor::Of<float>(Shape{rows, static_cast<int64_t>(values.size()) / rows}, values);
}

// Of three classes.
const Tensor& Scores() {
  static const Tensor scores =
      Matrix(4, {.1F, .7F, .2F, .5F, .3F, .2F, .2F, .2F, .6F, .3F, .4F, .3F});
  return scores;
}
const Tensor& Classes() {
  static const Tensor classes = Tensor::Vector<int64_t>({1, 1, 2, 2});
  return classes;
}
const Tensor& OneHot() {
  static const Tensor one_hot = Matrix(4, {0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1});
  return one_hot;
}
const Tensor& Weights() {
  static const Tensor weights = Tensor::Vector<float>({1, 2, .5F, 3});
  return weights;
}
// Of one class.
const Tensor& Chances() {
  static const Tensor chances = Matrix(8, {.1F, .4F, .35F, .8F, .65F, .5F, 1, 0});
  return chances;
}
const Tensor& Truth() {
  static const Tensor truth = Tensor::Vector<int64_t>({0, 0, 1, 1, 0, 1, 1, 0});
  return truth;
}
const Tensor& ChanceWeights() {
  static const Tensor weights = Tensor::Vector<float>({1, 2, .5F, 3, 1, 1, .25F, 2});
  return weights;
}

double Measure(const std::string& spec, const Metric::Batch& batch) {
  auto metric = TryMake(spec);
  EXPECT_TRUE(metric.ok()) << metric.status();
  EXPECT_TRUE((*metric)->Update(batch).ok()) << (*metric)->Update(batch);
  return (*metric)->Result();
}

// The value without weights, and with them.
void ExpectOfClasses(const std::string& spec, const Tensor& labels, double plain, double weighted) {
  EXPECT_NEAR(Measure(spec, {.output = &Scores(), .label = &labels}), plain, kTolerance) << spec;
  EXPECT_NEAR(Measure(spec, {.output = &Scores(), .label = &labels, .weight = &Weights()}),
              weighted, kTolerance)
      << spec;
}
void ExpectOfChances(const std::string& spec, double plain, double weighted) {
  EXPECT_NEAR(Measure(spec, {.output = &Chances(), .label = &Truth()}), plain, kTolerance) << spec;
  EXPECT_NEAR(Measure(spec, {.output = &Chances(), .label = &Truth(), .weight = &ChanceWeights()}),
              weighted, kTolerance)
      << spec;
}

TEST(MetricTest, AccuracyTakesClassesAndOneHotRows) {
  ExpectOfClasses("type: 'accuracy'", Classes(), 0.5, 0.23076923191547394);
  ExpectOfClasses("type: 'accuracy'", OneHot(), 0.5, 0.23076923191547394);
}

template <typename T>
void ExpectAccuracyOfClassesAs() {
  const Tensor labels = Tensor::Vector<T>({1, 1, 2, 2});
  ExpectOfClasses("type: 'accuracy'", labels, 0.5, 0.23076923191547394);
}

TEST(MetricTest, ClassesMayBeIntegersOfAnySize) {
  ExpectAccuracyOfClassesAs<int8_t>();
  ExpectAccuracyOfClassesAs<uint8_t>();
  ExpectAccuracyOfClassesAs<int16_t>();
  ExpectAccuracyOfClassesAs<uint16_t>();
  ExpectAccuracyOfClassesAs<int32_t>();
  ExpectAccuracyOfClassesAs<uint32_t>();
  ExpectAccuracyOfClassesAs<uint64_t>();
}

TEST(MetricTest, LabelsThatAreNoClassesAreThoseOfNoRow) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  struct Case {
    std::vector<float> labels;
    double accuracy, top_1, top_2;
  };
  for (const Case& each : std::vector<Case>{{{1, 1, 2, nan}, 0.5, 0.5, 0.75},
                                            {{1.5F, 0, 2, -0.5F}, 0.5, 0.75, 1},
                                            {{infinity, 1, -infinity, 1e30F}, 0, 0, 0.25}}) {
    const Tensor labels = Tensor::Vector<float>(each.labels);
    const Metric::Batch batch = {.output = &Scores(), .label = &labels};
    EXPECT_NEAR(Measure("type: 'accuracy'", batch), each.accuracy, kTolerance);
    EXPECT_NEAR(Measure("type: 'top_k_accuracy' k: 1", batch), each.top_1, kTolerance);
    EXPECT_NEAR(Measure("type: 'top_k_accuracy' k: 2", batch), each.top_2, kTolerance);
  }
}

TEST(MetricTest, AccuracyOfOneColumnIsBinary) {
  ExpectOfChances("type: 'accuracy'", 0.625, 0.7674418687820435);
  ExpectOfChances("type: 'accuracy' threshold: 0.3", 0.75, 0.7209302186965942);
}

TEST(MetricTest, TopKCountsTiesIn) {
  ExpectOfClasses("type: 'top_k_accuracy' k: 2", Classes(), 1, 1);
  ExpectOfClasses("type: 'top_k_accuracy' k: 1", Classes(), 0.5, 0.23076923191547394);
}

TEST(MetricTest, PrecisionAndRecallOfOneClass) {
  for (const Tensor* labels : {&Classes(), &OneHot()}) {
    ExpectOfClasses("type: 'precision' class_id: 1 threshold: 0.35", *labels, 0.5, 0.25);
    ExpectOfClasses("type: 'recall' class_id: 1 threshold: 0.35", *labels, 0.5, 1.0 / 3);
  }
}

TEST(MetricTest, PrecisionAndRecallOfAllOutputs) {
  ExpectOfClasses("type: 'precision' threshold: 0.25", OneHot(), 0.5714285969734192,
                  0.4482758641242981);
  ExpectOfClasses("type: 'recall' threshold: 0.25", OneHot(), 1, 1);
  ExpectOfChances("type: 'precision'", 2.0 / 3, 0.7647058963775635);
  ExpectOfChances("type: 'recall'", 0.5, 0.6842105388641357);
}

TEST(MetricTest, AucHasKerasThresholds) {
  ExpectOfChances("type: 'auc'", 0.8125, 0.9122806787490845);
}

TEST(MetricTest, ErrorsAreMeansOfRows) {
  ExpectOfClasses("type: 'mean_squared_error'", OneHot(), 0.15833333134651184, 0.20717951655387878);
  ExpectOfClasses("type: 'mean_absolute_error'", OneHot(), 0.3500000238418579, 0.41025644540786743);
  ExpectOfChances("type: 'mean_squared_error'", 0.16312499344348907, 0.12406976521015167);
}

TEST(MetricTest, LossIsWeightedByTheRowsOfItsBatches) {
  auto metric = TryMake("type: 'loss'").value();
  const Tensor first = Tensor::Scalar(1.0F), second = Tensor::Scalar(4.0F);
  const Tensor many = Tensor::Scalar<int64_t>(3), one = Tensor::Scalar<int64_t>(1);
  ASSERT_TRUE(metric->Update({.output = &first, .weight = &many}).ok());
  ASSERT_TRUE(metric->Update({.output = &second, .weight = &one}).ok());
  EXPECT_EQ(metric->Result(), 1.75);
  EXPECT_FALSE(metric->higher_is_better());
}

TEST(MetricTest, GathersBatchesUntilItIsReset) {
  auto metric = TryMake("type: 'auc'").value();
  const Tensor truth = Truth();
  for (int64_t begin : {0, 3}) {
    const int64_t end = begin == 0 ? 3 : 8;
    const Tensor output = Chances().Slice(begin, end), label = truth.Slice(begin, end);
    ASSERT_TRUE(metric->Update({.output = &output, .label = &label}).ok());
  }
  EXPECT_NEAR(metric->Result(), 0.8125, kTolerance);
  metric->Reset();
  EXPECT_EQ(metric->Result(), 0);
}

TEST(MetricTest, RefusesWhatDoesNotFit) {
  auto accuracy = TryMake("type: 'accuracy'").value();
  EXPECT_THAT(accuracy->Update({.output = &Scores(), .label = &Truth()}).ToString(),
              HasSubstr("labels of shape [8] are no classes for outputs of shape [4,3]"));
  EXPECT_THAT(accuracy->Update({.output = &Scores()}).ToString(), HasSubstr("needs labels"));
  const Tensor three = Tensor::Vector<float>({1, 1, 1});
  EXPECT_THAT(
      accuracy->Update({.output = &Scores(), .label = &Classes(), .weight = &three}).ToString(),
      HasSubstr("weights of shape [3] do not fit 4 values"));
  EXPECT_EQ(accuracy->Result(), 0);
  auto auc = TryMake("type: 'auc'").value();
  const Tensor logit = Tensor::Vector<float>({1.5F}), label = Tensor::Vector<int64_t>({1});
  EXPECT_THAT(auc->Update({.output = &logit, .label = &label}).ToString(),
              HasSubstr("is no probability"));
  auto recall = TryMake("type: 'recall' class_id: 3").value();
  EXPECT_THAT(recall->Update({.output = &Scores(), .label = &Classes()}).ToString(),
              HasSubstr("class_id 3 is out of range"));
}

TEST(MetricTest, RefusesUnknownTypesAndOptions) {
  EXPECT_THAT(TryMake("type: 'f1'").status().ToString(), HasSubstr("'f1' does not exist"));
  EXPECT_THAT(TryMake("type: 'auc' k: 3").status().ToString(), HasSubstr("has no k"));
  EXPECT_THAT(TryMake("type: 'loss' threshold: 3").status().ToString(),
              HasSubstr("has no threshold"));
}

}  // namespace
}  // namespace tessera
