#include "runtime/training/program/training_program.h"

#include <cmath>
#include <fstream>
#include <limits>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/graph/graph_export.h"
#include "runtime/graph/graph_import.h"
#include "runtime/training/program/training_variables.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using training::GraphSpec;

// A linear model, "prediction" = x * w, without a loss. w starts as [.5, -.3].
struct Model {
  bool is_resource = false;
  bool has_initializer = true;
  bool is_random = false;  // w is drawn at random
};

std::string WriteGraph(const Model& model) {
  Graph graph;
  GraphBuilder build(&graph, "model");
  Node* const x = *graph.AddNode("x", "Placeholder",
                                 {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 2})}});
  const Expr first = model.is_random ? Call("RandomStandardNormal", {build.Ints({2, 1})},
                                            {{"dtype", DType::kFloat}})
                                     : build.Constant(Tensor::Of<float>({2, 1}, {.5, -.3}));
  Node* const w =
      AddVariable(&graph, "w", model.is_resource, PartialShape({2, 1}), first)->variable;
  if (!model.has_initializer) graph.Remove(graph.FindNode("w/Assign"));
  EXPECT_TRUE(graph
                  .AddNode("prediction", "MatMul", {{"T", DType::kFloat}},
                           {{x, 0}, ReadVariable(build, w).endpoint()})
                  .ok());
  tensorflow::GraphDef graph_def;
  ExportGraph(graph, &graph_def);
  const std::string path = testing::TempDir() + "/model.pb";
  std::ofstream(path, std::ios::binary) << graph_def.SerializeAsString();
  return path;
}

GraphSpec SpecFor(const std::string& path, const std::string& optimizer) {
  GraphSpec spec;
  spec.set_forward(path);
  spec.mutable_loss()->set_type("mean_squared_error");
  spec.mutable_loss()->set_output("prediction");
  spec.mutable_loss()->set_label("y");
  spec.mutable_optimizer()->set_type(optimizer);
  spec.mutable_optimizer()->set_learning_rate(.1);
  return spec;
}

std::string ErrorOf(const GraphSpec& spec, const ProgramOptions& options = {}) {
  const auto program = MakeTrainingProgram(spec, options);
  return program.ok() ? "" : std::string(program.status().message());
}

absl::Status Train(const TrainingProgram& program, int steps, std::vector<float>* losses) {
  std::vector<NamedTensor> feeds;
  for (const BatchInput& input : program.inputs) {
    feeds.emplace_back(input.tensor, input.field == "x" ? Tensor::Of<float>({2, 2}, {1, 2, 3, -1})
                                                        : Tensor::Of<float>({2}, {1, 0}));
  }
  for (int i = 0; i < steps; ++i) {
    std::vector<Tensor> loss;
    if (absl::Status run = program.session->Run(feeds, {program.loss}, program.train, &loss);
        !run.ok()) {
      return run;
    }
    losses->push_back(loss[0].scalar<float>());
  }
  return absl::OkStatus();
}

std::map<std::string, std::vector<float>> FloatState(const TrainingProgram& program) {
  const auto state = ReadState(program);
  EXPECT_TRUE(state.ok()) << state.status();
  std::map<std::string, std::vector<float>> values;
  if (!state.ok()) return values;
  for (const auto& [key, value] : *state) {
    if (value.dtype() != DType::kFloat) continue;
    values[key] = {value.flat<float>().begin(), value.flat<float>().end()};
  }
  return values;
}

// w after three steps, and all losses.
struct Trained {
  std::vector<float> w, losses;
};

Trained TrainModel(const Model& model, const GraphSpec& spec, const ProgramOptions& options = {}) {
  Trained trained;
  const auto program = MakeTrainingProgram(spec, options);
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return trained;
  absl::Status status = program->session->Run({}, {}, program->init, nullptr);
  if (status.ok()) status = Train(*program, 3, &trained.losses);
  EXPECT_TRUE(status.ok()) << status;
  if (status.ok()) trained.w = FloatState(*program)["w"];
  return trained;
}

struct OptimizerCase {
  std::string type;
  float w[2];
  double weight_decay = 0;
};

class OptimizerTest : public testing::TestWithParam<OptimizerCase> {};

// The optimizers that scripts/check_training has no curves of: numbers of Keras 3, and, for
// add_sign and power_sign, of the formulas in https://arxiv.org/abs/1709.07417.
TEST_P(OptimizerTest, TakesTheStepsOfTensorFlow) {
  for (const bool is_resource : {false, true}) {
    const Model model = {.is_resource = is_resource};
    GraphSpec spec = SpecFor(WriteGraph(model), GetParam().type);
    if (GetParam().weight_decay > 0) {
      spec.mutable_optimizer()->set_weight_decay(GetParam().weight_decay);
    }
    EXPECT_THAT(TrainModel(model, spec).w,
                ElementsAre(FloatNear(GetParam().w[0], 2e-6), FloatNear(GetParam().w[1], 2e-6)))
        << (is_resource ? "resource" : "reference");
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerTest,
                         testing::Values(OptimizerCase{"adamw", {.20728816f, -.00273510f}},
                                         OptimizerCase{"adamax", {.23938942f, -.02320184f}},
                                         OptimizerCase{"amsgrad", {.20774147f, -.00296950f}},
                                         OptimizerCase{"lamb", {.38799974f, -.18770373f}},
                                         OptimizerCase{"lamb", {.38684011f, -.18713798f}, .01},
                                         OptimizerCase{"add_sign", {-.36f, .532f}},
                                         OptimizerCase{"power_sign", {-2.3498333f, .7397987f}}));

TEST(TrainingProgramTest, NamesSlotsAsTensorFlowDoes) {
  const GraphSpec spec = SpecFor(WriteGraph({.is_resource = true}), "adam");
  const auto program = MakeTrainingProgram(spec, {});
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<std::string> keys;
  for (const StateVariable& variable : program->variables) {
    keys.push_back(variable.key);
    EXPECT_EQ(variable.trainable, variable.key == "w");
  }
  EXPECT_THAT(keys,
              ElementsAre("beta1_power", "beta2_power", "global_step", "w", "w/Adam", "w/Adam_1"));
  ASSERT_EQ(program->inputs.size(), 2u);
  EXPECT_EQ(program->graph->FindNode("w/Adam"), nullptr);  // what is exported has no slots
}

TEST(TrainingProgramTest, CountsStepsAndTellsTheLearningRate) {
  GraphSpec spec = SpecFor(WriteGraph({}), "sgd");
  spec.mutable_schedule()->set_type("exponential");
  spec.mutable_schedule()->set_decay_steps(1);
  spec.mutable_schedule()->set_decay_rate(.5);
  const auto program = MakeTrainingProgram(spec, {});
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_TRUE(program->session->Run({}, {}, program->init, nullptr).ok());
  std::vector<float> losses;
  ASSERT_TRUE(Train(*program, 2, &losses).ok());
  EXPECT_GT(losses[0], losses[1]);
  std::vector<Tensor> fetched;
  ASSERT_TRUE(
      program->session->Run({}, {program->learning_rate, program->global_step}, {}, &fetched).ok());
  EXPECT_FLOAT_EQ(fetched[0].scalar<float>(), .025);
  EXPECT_EQ(fetched[1].scalar<int64_t>(), 2);
}

TEST(TrainingProgramTest, InitialisesVariablesThatOnlyOutputsRead) {
  tensorflow::GraphDef graph_def;
  const std::string path = WriteGraph({});
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(graph_def.ParseFromIstream(&file));
  const std::unique_ptr<Graph> graph = ImportGraph(graph_def).value();
  GraphBuilder build(graph.get(), "more");
  ASSERT_TRUE(
      AddVariable(graph.get(), "unused", false, PartialShape({}), build.Scalar(DType::kFloat, 7))
          .ok());
  ExportGraph(*graph, &graph_def);
  std::ofstream(path, std::ios::binary) << graph_def.SerializeAsString();
  GraphSpec spec = SpecFor(path, "sgd");
  (*spec.mutable_outputs())["seven"] = "unused:0";
  const auto program = MakeTrainingProgram(spec, {});
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_TRUE(program->session->Run({}, {}, program->init, nullptr).ok());
  EXPECT_THAT(FloatState(*program)["unused"], ElementsAre(7));
}

TEST(TrainingProgramTest, AddsHalfTheSquaresOfTheWeights) {
  GraphSpec spec = SpecFor(WriteGraph({}), "sgd");
  const float without = TrainModel({}, spec).losses[0];
  spec.mutable_loss()->set_l2(2);
  EXPECT_NEAR(TrainModel({}, spec).losses[0], without + .25 + .09, 1e-6);
}

TEST(TrainingProgramTest, TheSameSeedDrawsTheSameWeights) {
  const Model model = {.is_random = true};
  const GraphSpec spec = SpecFor(WriteGraph(model), "sgd");
  const auto losses = [&](int64_t seed) { return TrainModel(model, spec, {.seed = seed}).losses; };
  EXPECT_EQ(losses(1), losses(1));
  EXPECT_NE(losses(1), losses(2));
}

TEST(TrainingProgramTest, Bfloat16ProductsTrainFloatVariables) {
  const GraphSpec spec = SpecFor(WriteGraph({}), "sgd");
  const Trained exact = TrainModel({}, spec);
  const Trained rounded = TrainModel({}, spec, {.precision = "bfloat16"});
  ASSERT_EQ(rounded.w.size(), 2u);
  EXPECT_NE(rounded.w, exact.w);
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(rounded.w[i], exact.w[i], .02);
  EXPECT_THAT(ErrorOf(spec, {.precision = "bfloat"}), HasSubstr("did you mean 'bfloat16'?"));
}

TEST(TrainingProgramTest, RecomputesWhatIsNamed) {
  GraphSpec spec = SpecFor(WriteGraph({}), "sgd");
  const Trained kept = TrainModel({}, spec);
  spec.add_recompute("predic.*");
  EXPECT_EQ(TrainModel({}, spec).w, kept.w);
  spec.set_recompute(0, "predict");
  EXPECT_THAT(ErrorOf(spec), HasSubstr("graph.recompute matches no node"));
  spec.add_recompute("(");
  EXPECT_THAT(ErrorOf(spec), HasSubstr("graph.recompute has '('"));
}

TEST(TrainingProgramTest, SaysWhatIsWrongWithASpec) {
  const std::string path = WriteGraph({});
  const GraphSpec good = SpecFor(path, "sgd");
  EXPECT_EQ(ErrorOf(good), "");

  GraphSpec spec = SpecFor(path, "adams");
  EXPECT_THAT(ErrorOf(spec), HasSubstr("did you mean 'adam'?"));
  spec = good;
  spec.mutable_optimizer()->set_momentum(.9);
  EXPECT_THAT(ErrorOf(spec), HasSubstr("'sgd' has no momentum"));
  spec = good;
  spec.mutable_optimizer()->clear_learning_rate();
  EXPECT_THAT(ErrorOf(spec), HasSubstr("learning_rate is 0, but must be over 0"));
  spec.mutable_optimizer()->set_learning_rate(std::numeric_limits<double>::infinity());
  EXPECT_THAT(ErrorOf(spec), HasSubstr("learning_rate is inf"));
  spec = SpecFor(path, "adam");
  spec.mutable_optimizer()->set_beta1(0);
  EXPECT_EQ(ErrorOf(spec), "");
  spec.mutable_optimizer()->set_beta1(1);
  EXPECT_THAT(ErrorOf(spec), HasSubstr("beta1 is 1, but must be at least 0 and below 1"));
  spec.mutable_optimizer()->set_beta1(std::nan(""));
  EXPECT_THAT(ErrorOf(spec), HasSubstr("beta1 is nan"));
  spec = SpecFor(path, "ftrl");
  spec.mutable_optimizer()->set_learning_rate_power(.5);
  EXPECT_THAT(ErrorOf(spec), HasSubstr("learning_rate_power is 0.5, but must be at most 0"));
  spec = good;
  spec.mutable_loss()->set_output("predicton:0");
  EXPECT_THAT(ErrorOf(spec), HasSubstr("did you mean 'prediction'?"));
  spec = good;
  spec.mutable_loss()->clear_label();
  EXPECT_THAT(ErrorOf(spec), HasSubstr("graph.loss.label"));
  spec = good;
  spec.mutable_loss()->set_label("w");
  EXPECT_THAT(ErrorOf(spec), HasSubstr("feeds no placeholder"));
  spec = good;
  spec.mutable_loss()->set_output("x:0");
  EXPECT_THAT(ErrorOf(spec), HasSubstr("depends on none of the trained variables ('w')"));
  spec = good;
  spec.add_trainable("ww");
  EXPECT_THAT(ErrorOf(spec), HasSubstr("did you mean 'w'?"));
  spec = good;
  (*spec.mutable_inputs())["xx"] = "image";
  EXPECT_THAT(ErrorOf(spec), HasSubstr("did you mean 'x'?"));
  spec = good;
  spec.clear_optimizer();
  EXPECT_THAT(ErrorOf(spec), HasSubstr("add graph.optimizer, or name its train op"));
  spec = good;
  spec.set_train_op("train");
  EXPECT_THAT(ErrorOf(spec), HasSubstr("remove either"));
  spec = good;
  spec.set_init_op("prediction");
  EXPECT_THAT(ErrorOf(spec), HasSubstr("'prediction' (op MatMul), which initialises nothing"));
  spec.set_init_op("w/Assign");
  EXPECT_EQ(ErrorOf(spec), "");
  EXPECT_THAT(ErrorOf(SpecFor(WriteGraph({.has_initializer = false}), "sgd")),
              HasSubstr("variable 'w' has no initializer"));
}

TEST(TrainingProgramTest, SaysAllThatIsWrongWithWhatIsAdded) {
  GraphSpec spec = SpecFor("nowhere", "adams");
  EXPECT_EQ(CheckAddedTraining(SpecFor("nowhere", "adam"), {}).size(), 0u);
  spec.mutable_loss()->set_type("hubert");
  spec.mutable_schedule()->set_type("cosine");
  spec.mutable_clip()->set_norm(-1);
  std::vector<std::string> messages;
  for (const absl::Status& error : CheckAddedTraining(spec, {})) {
    messages.emplace_back(error.message());
  }
  EXPECT_THAT(messages, ElementsAre(HasSubstr("'huber'?"), HasSubstr("'adam'?"),
                                    HasSubstr("needs decay_steps"), HasSubstr("is -1")));
  EXPECT_EQ(CheckAddedTraining(spec, {.steps = 8}).size(), 3u) << "the schedule ends with the job";
}

}  // namespace
}  // namespace tessera
