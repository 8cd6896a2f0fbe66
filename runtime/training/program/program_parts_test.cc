// Losses, schedules, clipping and fixed values by themselves, against numbers that TensorFlow 2.21
// computed.
#include <functional>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_export.h"
#include "runtime/session/session.h"
#include "runtime/training/gradients/gradients.h"
#include "runtime/training/program/clipping.h"
#include "runtime/training/program/fixed_values.h"
#include "runtime/training/program/losses.h"
#include "runtime/training/program/schedules.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using testing::HasSubstr;
using training::ClipSpec;
using training::LossSpec;
using training::ScheduleSpec;

// Runs the nodes that `build` adds, and returns what the result is.
absl::StatusOr<Tensor> Evaluate(
    const std::function<absl::StatusOr<Expr>(GraphBuilder& build)>& build) {
  Graph graph;
  GraphBuilder builder(&graph, "test");
  absl::StatusOr<Expr> result = build(builder);
  if (!result.ok()) return result.status();
  if (!builder.status().ok()) return builder.status();
  const std::string name = TensorName(result->endpoint());
  auto session = Session::Create({}, graph.Clone());
  std::vector<Tensor> outputs;
  if (absl::Status run = (*session)->Run({}, {name}, {}, &outputs); !run.ok()) return run;
  return outputs[0];
}

struct LossCase {
  std::string type;
  double want;
  double label_smoothing = 0;
  std::vector<float> weights = {};
  double huber_delta = 0;
};

class LossTest : public testing::TestWithParam<LossCase> {};

TEST_P(LossTest, IsThatOfTensorFlow) {
  const LossCase& c = GetParam();
  LossSpec spec;
  spec.set_type(c.type);
  spec.set_label_smoothing(c.label_smoothing);
  spec.set_huber_delta(c.huber_delta);
  const auto loss = Evaluate([&](GraphBuilder& build) {
    const Expr output = build.Constant(Tensor::Of<float>({2, 3}, {1, 2, -1, .5, -.5, 3}));
    const Expr labels = c.type == "sparse_softmax_cross_entropy"
                            ? build.Constant(Tensor::Vector<int64_t>({1, 0}))
                            : build.Constant(Tensor::Of<float>({2, 3}, {0, 1, 0, 1, 0, 0}));
    const Expr weights =
        c.weights.empty() ? Expr() : build.Constant(Tensor::Vector<float>(c.weights));
    return AddLoss(spec, build, output, labels, weights);
  });
  ASSERT_TRUE(loss.ok()) << loss.status();
  EXPECT_NEAR(loss->scalar<float>(), c.want, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    All, LossTest,
    testing::Values(LossCase{"sparse_softmax_cross_entropy", 1.4777131},
                    LossCase{"sparse_softmax_cross_entropy", 1.5193799, .1},
                    LossCase{"sparse_softmax_cross_entropy", 1.0006157, 0, {2, .5}},
                    LossCase{"sparse_softmax_cross_entropy", .6980243, 0, {2, 0}},
                    LossCase{"softmax_cross_entropy", 1.4777131},
                    LossCase{"softmax_cross_entropy", 1.5193799, .1},
                    LossCase{"sigmoid_cross_entropy", .9583654},
                    LossCase{"sigmoid_cross_entropy", .9583654, .1},
                    LossCase{"sigmoid_cross_entropy", .9175456, 0, {2, .5}},
                    LossCase{"sigmoid_cross_entropy", 1.1689676, 0, {2, 0}},
                    LossCase{"mean_squared_error", 2.0833333},
                    LossCase{"mean_absolute_error", 1.1666666}, LossCase{"huber", .7083333},
                    LossCase{"huber", .9583333, 0, {}, 2}, LossCase{"hinge", 1.1666666}));

// The losses of logits that are 0, as those of a model whose weights are, have a slope.
TEST(LossGradientTest, ALogitOfZeroMovesTowardsItsLabel) {
  LossSpec spec;
  spec.set_type("sigmoid_cross_entropy");
  const auto gradient = Evaluate([&](GraphBuilder& build) -> absl::StatusOr<Expr> {
    const Expr logits = build.Constant(Tensor::Vector<float>({0, 0, -1, 1}));
    const Expr labels = build.Constant(Tensor::Vector<float>({0, 1, 1, 0}));
    ASSIGN_OR_RETURN(const Expr loss, AddLoss(spec, build, logits, labels, Expr()));
    ASSIGN_OR_RETURN(const auto gradients,
                     AddGradients(build.graph(), {loss.endpoint()}, {logits.endpoint()}));
    return build.Of(gradients[0].values);
  });
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  const auto values = gradient->flat<float>();
  EXPECT_FLOAT_EQ(values[0], .125);
  EXPECT_FLOAT_EQ(values[1], -.125);
  EXPECT_FLOAT_EQ(values[2], -.18276466);
  EXPECT_FLOAT_EQ(values[3], .18276466);
}

TEST(LossErrorTest, NamesTheNearestTypeAndWhatIsMissing) {
  const auto with = [](const std::string& type, const std::string& output,
                       const std::string& label) {
    LossSpec spec;
    spec.set_type(type);
    spec.set_output(output);
    spec.set_label(label);
    return std::string(CheckLoss(spec).message());
  };
  EXPECT_EQ(with("huber", "x", "y"), "");
  EXPECT_EQ(with("graph", "x", ""), "");
  EXPECT_THAT(with("mean_square_error", "x", "y"), HasSubstr("did you mean 'mean_squared_error'?"));
  EXPECT_THAT(with("huber", "x", ""), HasSubstr("graph.loss.label"));
  EXPECT_THAT(with("graph", "x", "y"), HasSubstr("remove graph.loss.label"));
  EXPECT_THAT(with("huber", "", "y"), HasSubstr("graph.loss.output names no tensor"));
}

TEST(LossErrorTest, IntegersAreNoOutput) {
  LossSpec spec;
  spec.set_type("huber");
  const auto loss = Evaluate([&](GraphBuilder& build) {
    return AddLoss(spec, build, build.Scalar(DType::kInt64, 1), build.Scalar(DType::kInt64, 1),
                   Expr());
  });
  EXPECT_THAT(loss.status().message(), HasSubstr("is int64"));
}

struct ScheduleCase {
  std::string type;
  std::vector<double> want;  // at the steps below
  bool staircase = false;
  int64_t warmup = 0;
};
constexpr int64_t kSteps[] = {0, 5, 10, 11, 25, 40, 100};

ScheduleSpec SpecOf(const ScheduleCase& c) {
  ScheduleSpec spec;
  spec.set_type(c.type);
  spec.set_staircase(c.staircase);
  spec.set_warmup_steps(c.warmup);
  if (c.type == "exponential" || c.type == "inverse_time") {
    spec.set_decay_rate(.5);
    spec.set_decay_steps(10);
  } else if (c.type == "polynomial" || c.type == "cosine") {
    spec.set_end_learning_rate(.01);
    spec.set_power(2);
  } else if (c.type == "piecewise") {
    spec.add_boundaries(10);
    spec.add_boundaries(30);
    for (const double value : {.1, .05, .01}) spec.add_values(value);
  }
  return spec;
}

class ScheduleTest : public testing::TestWithParam<ScheduleCase> {};

TEST_P(ScheduleTest, IsThatOfTensorFlow) {
  const ScheduleCase& c = GetParam();
  for (size_t i = 0; i < c.want.size(); ++i) {
    // The whole job is the warm-up and 40 steps.
    const auto rate = Evaluate([&](GraphBuilder& build) {
      return AddLearningRate(SpecOf(c), .1, 40 + c.warmup, build,
                             build.Scalar(DType::kInt64, static_cast<double>(kSteps[i])));
    });
    ASSERT_TRUE(rate.ok()) << rate.status();
    EXPECT_NEAR(rate->scalar<float>(), c.want[i], 1e-6) << "step " << kSteps[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ScheduleTest,
    testing::Values(
        ScheduleCase{"constant", {.1, .1, .1, .1, .1, .1, .1}},
        ScheduleCase{"constant", {0, .05, .1, .1, .1, .1, .1}, false, 10},
        ScheduleCase{"exponential", {.1, .07071068, .05, .04665165, .01767767, .00625, .00009766}},
        ScheduleCase{"exponential", {.1, .1, .05, .05, .025, .00625, .00009766}, true},
        ScheduleCase{"inverse_time", {.1, .08, .0666667, .0645161, .0444444, .0333333, .0166667}},
        ScheduleCase{"inverse_time", {.1, .1, .0666667, .0666667, .05, .0333333, .0166667}, true},
        ScheduleCase{"polynomial", {.1, .0789063, .060625, .0573063, .0226563, .01, .01}},
        ScheduleCase{"cosine", {.1, .0965746, .0868198, .0842252, .0377792, .01, .01}},
        ScheduleCase{"cosine", {0, .05, .1, .0998613, .0722208, .0231802, .01}, false, 10},
        ScheduleCase{"piecewise", {.1, .1, .1, .05, .05, .01, .01}}));

TEST(ScheduleErrorTest, NamesWhatIsMissing) {
  const auto with = [](const ScheduleSpec& spec) {
    const auto rate = Evaluate([&](GraphBuilder& build) {
      return AddLearningRate(spec, .1, 0, build, build.Scalar(DType::kInt64, 0));
    });
    return std::string(rate.status().message());
  };
  ScheduleSpec spec;
  spec.set_type("cosin");
  EXPECT_THAT(with(spec), HasSubstr("did you mean 'cosine'?"));
  spec.set_type("cosine");
  EXPECT_THAT(with(spec), HasSubstr("needs decay_steps"));
  spec.set_type("exponential");
  spec.set_decay_steps(3);
  EXPECT_THAT(with(spec), HasSubstr("needs decay_rate"));
  spec.set_type("piecewise");
  spec.add_boundaries(3);
  EXPECT_THAT(with(spec), HasSubstr("0 values and 1 boundaries"));
}

// The clipped gradients [3, 4] and [12], one after the other.
std::vector<float> Clipped(const ClipSpec& spec) {
  std::vector<float> all;
  for (const int which : {0, 1}) {
    const auto clipped = Evaluate([&](GraphBuilder& build) -> absl::StatusOr<Expr> {
      std::vector<Gradient> gradients = {
          {.values = build.Constant(Tensor::Vector<float>({3, 4})).endpoint()},
          {.values = build.Constant(Tensor::Vector<float>({12})).endpoint()}};
      if (absl::Status status = ClipGradients(spec, build, &gradients); !status.ok()) return status;
      return build.Of(gradients[which].values);
    });
    EXPECT_TRUE(clipped.ok()) << clipped.status();
    if (!clipped.ok()) return {};
    const auto values = clipped->flat<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(ClippingTest, IsThatOfTensorFlow) {
  using testing::ElementsAre;
  using testing::FloatNear;
  ClipSpec spec;
  spec.set_global_norm(6.5);
  EXPECT_THAT(Clipped(spec), ElementsAre(1.5, 2, 6));
  spec.set_global_norm(20);
  EXPECT_THAT(Clipped(spec),
              ElementsAre(FloatNear(3, 1e-5), FloatNear(4, 1e-5), FloatNear(12, 1e-5)));
  spec.set_norm(2);
  EXPECT_THAT(Clipped(spec), ElementsAre(FloatNear(1.2, 1e-6), FloatNear(1.6, 1e-6), 2));
  spec.set_norm(20);
  EXPECT_THAT(Clipped(spec), ElementsAre(3, 4, 12));
  spec.set_value(3.5);
  EXPECT_THAT(Clipped(spec), ElementsAre(3, 3.5, 3.5));
}

// What the text gives as the value of a placeholder.
absl::StatusOr<Tensor> FixedValue(DType dtype, const std::string& text) {
  google::protobuf::Map<std::string, std::string> texts;
  texts["x"] = text;
  std::vector<NamedTensor> constants;
  const absl::StatusOr<bool> taken =
      FixedValues{texts, "train_values"}.Take("x", {.tensor = "x:0", .dtype = dtype}, &constants);
  if (!taken.ok()) return taken.status();
  return constants[0].second;
}

template <typename T>
void ExpectFixedValue(const std::string& text, T want) {
  const absl::StatusOr<Tensor> value = FixedValue(DTypeOf<T>, text);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->scalar<T>(), want);
}

TEST(FixedValuesTest, AreOfAnyRealDType) {
  ExpectFixedValue<bool>("true", true);
  ExpectFixedValue<double>("0.5", 0.5);
  ExpectFixedValue<Eigen::half>("0.5", Eigen::half(0.5F));
  ExpectFixedValue<Eigen::bfloat16>("-2", Eigen::bfloat16(-2.0F));
  ExpectFixedValue<int8_t>("-128", -128);
  ExpectFixedValue<uint16_t>("65535", 65535);
  ExpectFixedValue<uint64_t>("18446744073709551615", ~uint64_t{0});
}

TEST(FixedValuesTest, MustFitTheDType) {
  for (const auto& [dtype, text] :
       {std::pair(DType::kInt8, "128"), std::pair(DType::kUint8, "-1"),
        std::pair(DType::kInt32, "2147483648"), std::pair(DType::kHalf, "half"),
        std::pair(DType::kUint64, "-1")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(FixedValue(dtype, text).status())) << text;
  }
}

}  // namespace
}  // namespace tessera
