// Updates from gradients of several steps, and with a loss scale, against TensorFlow 2.21: on the
// CPU, on the accelerator for tests, and by the GPU's kernels, which the host runs.
#include "runtime/training/program/gradient_sums.h"

#include <fstream>
#include <limits>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/graph/graph_export.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pair;

// A linear model, "prediction" = x * w, whose w starts as [.5, -.3].
training::GraphSpec SpecFor(const std::string& optimizer, bool is_resource = true) {
  Graph graph;
  GraphBuilder build(&graph, "model");
  Node* const x = *graph.AddNode("x", "Placeholder",
                                 {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 2})}});
  const Expr first = build.Constant(Tensor::Of<float>({2, 1}, {.5, -.3}));
  Node* const w = AddVariable(&graph, "w", is_resource, PartialShape({2, 1}), first)->variable;
  EXPECT_TRUE(graph
                  .AddNode("prediction", "MatMul", {{"T", DType::kFloat}},
                           {{x, 0}, ReadVariable(build, w).endpoint()})
                  .ok());
  tensorflow::GraphDef graph_def;
  ExportGraph(graph, &graph_def);
  const std::string path = testing::TempDir() + "/sums_model.pb";
  std::ofstream(path, std::ios::binary) << graph_def.SerializeAsString();
  training::GraphSpec spec;
  spec.set_forward(path);
  spec.mutable_loss()->set_type("mean_squared_error");
  spec.mutable_loss()->set_output("prediction");
  spec.mutable_loss()->set_label("y");
  spec.mutable_optimizer()->set_type(optimizer);
  spec.mutable_optimizer()->set_learning_rate(.1);
  return spec;
}

struct Batch {
  Tensor x, y;
};
const Batch kBoth = {Tensor::Of<float>({2, 2}, {1, 2, 3, -1}), Tensor::Of<float>({2}, {1, 0})};
const Batch kFirst = {Tensor::Of<float>({1, 2}, {1, 2}), Tensor::Of<float>({1}, {1})};
const Batch kSecond = {Tensor::Of<float>({1, 2}, {3, -1}), Tensor::Of<float>({1}, {0})};

// The type of device on which the tests run what they can.
class GradientSumsTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { Device() = GetParam(); }

 public:
  static std::string& Device() {
    static auto* const device = new std::string;
    return *device;
  }
  static ProgramOptions On(ProgramOptions options) {
    options.session.devices.count["ACCEL"] = Device() == "ACCEL" ? 1 : 0;
    options.session.devices.count["EMULATED_GPU"] = Device() == "EMULATED_GPU" ? 1 : 0;
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, GradientSumsTest, testing::Values("CPU", "ACCEL", "EMULATED_GPU"),
                         [](const auto& info) { return info.param; });

// A program that is stepped as TrainingProgram::Update says.
class Stepper {
 public:
  Stepper(const training::GraphSpec& spec, const ProgramOptions& options)
      : program_(*MakeTrainingProgram(spec, GradientSumsTest::On(options))) {
    EXPECT_TRUE(program_.session->Run({}, {}, program_.init, nullptr).ok());
  }

  // Returns the loss and the scale with which its gradients were computed.
  std::pair<float, float> Step(const Batch& batch) {
    const TrainingProgram::Update& update = *program_.update;
    const float scale =
        update.loss_scale.empty() ? 1 : Fetch({}, update.loss_scale, {})[0].scalar<float>();
    std::vector<NamedTensor> feeds;
    for (const BatchInput& input : program_.inputs) {
      feeds.emplace_back(input.tensor, input.field == "x" ? batch.x : batch.y);
    }
    std::vector<Tensor> fetched;
    const absl::Status status =
        program_.session->Run(feeds, {program_.loss, update.num_added}, program_.train, &fetched);
    EXPECT_TRUE(status.ok()) << status;
    if (fetched[1].scalar<int64_t>() >= update.every) {
      const bool is_finite =
          update.is_finite.empty() || Fetch({}, update.is_finite, {})[0].scalar<bool>();
      const absl::Status updated =
          program_.session->Run({}, {}, is_finite ? update.apply : update.skip, nullptr);
      EXPECT_TRUE(updated.ok()) << updated;
    }
    return {fetched[0].scalar<float>(), scale};
  }
  Tensor Value(const std::string& key) {
    const auto state = ReadState(program_);
    EXPECT_TRUE(state.ok()) << state.status();
    for (const auto& [name, value] : *state) {
      if (name == key) return value;
    }
    ADD_FAILURE() << "no variable " << key;
    return Tensor();
  }
  std::vector<float> w() {
    const Tensor value = Value("w");
    return {value.flat<float>().begin(), value.flat<float>().end()};
  }
  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const StateVariable& variable : program_.variables) keys.push_back(variable.key);
    return keys;
  }

 private:
  std::vector<Tensor> Fetch(const std::vector<NamedTensor>& feeds, const std::string& tensor,
                            const std::vector<std::string>& targets) {
    std::vector<Tensor> fetched;
    EXPECT_TRUE(program_.session->Run(feeds, {tensor}, targets, &fetched).ok());
    return fetched;
  }

  TrainingProgram program_;
};

auto Near(float loss, float scale) { return Pair(FloatNear(loss, 2e-3f * loss), scale); }

// The curve of MixedPrecisionLossScaleOptimizer(DynamicLossScale(2 ** 17, increment_period=3)) in
// tf.compat.v1.mixed_precision, with the product between casts to half. The first gradients are too
// large for half until the scale has halved four times.
TEST_P(GradientSumsTest, LossScaleMovesAsThatOfTensorFlow) {
  const ProgramOptions options = {.precision = "float16",
                                  .scales_loss = true,
                                  .first_loss_scale = 131072,
                                  .loss_scale_growth_steps = 3};
  for (const bool is_resource : {true, false}) {
    Stepper sgd(SpecFor("sgd", is_resource), options);
    std::vector<std::pair<float, float>> curve;
    for (int i = 0; i < 10; ++i) curve.push_back(sgd.Step(kBoth));
    EXPECT_THAT(curve,
                ElementsAre(Near(2.2247558, 131072), Near(2.2247558, 65536), Near(2.2247558, 32768),
                            Near(2.2247558, 16384), Near(2.2247558, 8192), Near(.27247071, 8192),
                            Near(.07333464, 8192), Near(.01978028, 16384), Near(.00534583, 16384),
                            Near(.00144429, 16384)));
    EXPECT_THAT(sgd.w(), ElementsAre(FloatNear(.1404419f, 2e-4f), FloatNear(.41616213f, 2e-4f)));
    EXPECT_EQ(sgd.Value("loss_scale/current_loss_scale").scalar<float>(), 32768);
    EXPECT_EQ(sgd.Value("global_step").scalar<int64_t>(), 6) << "skipped updates do not count";
  }
  // Skipped updates leave moments and powers as they were.
  Stepper adam(SpecFor("adam"), options);
  std::vector<std::pair<float, float>> curve;
  for (int i = 0; i < 10; ++i) curve.push_back(adam.Step(kBoth));
  EXPECT_THAT(curve,
              ElementsAre(Near(2.2247558, 131072), Near(2.2247558, 65536), Near(2.2247558, 32768),
                          Near(2.2247558, 16384), Near(2.2247558, 8192), Near(1.4791799, 8192),
                          Near(.9106788, 8192), Near(.5148049, 16384), Near(.2775642, 16384),
                          Near(.1717221, 16384)));
  EXPECT_THAT(adam.w(), ElementsAre(FloatNear(-.01003049f, 2e-4f), FloatNear(.27100307f, 2e-4f)));
}

TEST_P(GradientSumsTest, AFixedScaleStays) {
  Stepper model(SpecFor("sgd"), {.precision = "float16",
                                 .scales_loss = true,
                                 .first_loss_scale = 131072,
                                 .loss_scale_growth_steps = 0});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(model.Step(kBoth).second, 131072);
  EXPECT_THAT(model.w(), ElementsAre(.5f, -.3f)) << "no gradient was finite";
}

TEST_P(GradientSumsTest, ScaleNeverFallsBelowOne) {
  Stepper model(SpecFor("sgd"), {.scales_loss = true, .first_loss_scale = 4});
  const Batch bad = {Tensor::Of<float>({1, 2}, {1, std::numeric_limits<float>::infinity()}),
                     Tensor::Of<float>({1}, {1})};
  for (const float scale : {4.f, 2.f, 1.f, 1.f}) EXPECT_EQ(model.Step(bad).second, scale);
  EXPECT_THAT(model.w(), ElementsAre(.5f, -.3f));
}

// Two steps of one row each update as one step of two rows does.
TEST_P(GradientSumsTest, StepsThatAreAddedUpAreAsOneOfAllTheirRows) {
  for (const char* optimizer : {"sgd", "adam"}) {
    Stepper whole(SpecFor(optimizer), {.scales_loss = true});
    Stepper halves(SpecFor(optimizer), {.accumulate = 2});
    for (int i = 0; i < 4; ++i) {
      whole.Step(kBoth);
      const std::vector<float> before = halves.w();
      halves.Step(kFirst);
      EXPECT_EQ(halves.w(), before) << "half of an update";
      halves.Step(kSecond);
      const std::vector<float> w = whole.w();
      EXPECT_THAT(halves.w(), ElementsAre(FloatNear(w[0], 1e-6f), FloatNear(w[1], 1e-6f)));
    }
    EXPECT_EQ(halves.Value("global_step").scalar<int64_t>(), 4);
  }
}

// A resumed run needs what was added so far, and the scale.
TEST_P(GradientSumsTest, SumsAndScaleAreStateOfTheProgram) {
  Stepper model(SpecFor("sgd"), {.accumulate = 3, .scales_loss = true});
  EXPECT_THAT(model.Keys(),
              ElementsAre("global_step", "loss_scale/current_loss_scale", "loss_scale/good_steps",
                          "training/num_added", "w", "w/gradient_sum"));
  model.Step(kBoth);
  EXPECT_EQ(model.Value("training/num_added").scalar<int64_t>(), 1);
  EXPECT_NE(model.Value("w/gradient_sum").flat<float>()[0], 0);
  model.Step(kBoth);
  model.Step(kBoth);
  EXPECT_EQ(model.Value("training/num_added").scalar<int64_t>(), 0);
  EXPECT_EQ(model.Value("w/gradient_sum").flat<float>()[0], 0);
}

TEST_P(GradientSumsTest, WhatCannotBeIsRefused) {
  const auto refused = [](const ProgramOptions& options) {
    return std::string(MakeTrainingProgram(SpecFor("sgd"), options).status().message());
  };
  EXPECT_THAT(refused({.scales_loss = true, .first_loss_scale = .5}),
              HasSubstr("loss_scale.initial is 0.5"));
  EXPECT_THAT(refused({.precision = "flot16"}), HasSubstr("did you mean 'float16'?"));
}

}  // namespace
}  // namespace tessera
