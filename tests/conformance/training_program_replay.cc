// What `tessera train` makes of the recorded graphs: the losses must be TensorFlow's, whether the
// graph has its train op, is a SavedModel, or gets loss, gradients and optimizer from us.
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/framework/op.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/training/program/optimizer_types.h"
#include "runtime/training/program/training_program.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tests/conformance/read_message.h"
#include "tests/conformance/rounding_variables.h"
#include "tests/conformance/training_replay.h"

namespace tessera {
namespace {

using training::GraphSpec;

constexpr int64_t kSavedStep = 25;

ProgramOptions OptionsFor(const std::string& directory) {
  ProgramOptions options;
  options.base_folder = directory;
  options.session = TrainingSession();
  return options;
}

// The recorded feeds are named by tensors or inputs of signatures, and so are the batches' fields.
absl::StatusOr<std::vector<std::vector<NamedTensor>>> ReadFeeds(const std::string& directory,
                                                                const rapidjson::Document& info) {
  std::vector<std::vector<NamedTensor>> feeds(info["feeds"].GetInt());
  for (size_t k = 0; k < feeds.size(); ++k) {
    ASSIGN_OR_RETURN(feeds[k], ReadFeed(directory, static_cast<int64_t>(k)));
    for (auto& [name, tensor] : feeds[k]) name = name.substr(0, name.find(':'));
  }
  return feeds;
}

absl::StatusOr<std::vector<NamedTensor>> FeedsOf(const std::vector<BatchInput>& inputs,
                                                 const std::vector<NamedTensor>& batch) {
  const std::map<std::string, Tensor> fields(batch.begin(), batch.end());
  std::vector<NamedTensor> feeds;
  for (const BatchInput& input : inputs) {
    auto field = fields.find(input.field);
    if (field == fields.end()) {
      return absl::DataLossError(absl::StrCat("no feed for the field '", input.field, "'"));
    }
    feeds.emplace_back(input.tensor, field->second);
  }
  return feeds;
}

absl::Status Step(const TrainingProgram& program, const std::vector<NamedTensor>& batch,
                  Tensor* loss) {
  ASSIGN_OR_RETURN(const std::vector<NamedTensor> feeds, FeedsOf(program.inputs, batch));
  std::vector<Tensor> fetched;
  RETURN_IF_ERROR(program.session->Run(feeds, {program.loss}, program.train, &fetched));
  *loss = fetched[0];
  return absl::OkStatus();
}

absl::Status TrainSteps(const TrainingProgram& program,
                        const std::vector<std::vector<NamedTensor>>& batches,
                        const rapidjson::Document& losses, int64_t begin, int64_t end) {
  for (int64_t step = begin; step < end; ++step) {
    Tensor loss;
    RETURN_IF_ERROR(Step(program, batches[step % batches.size()], &loss));
    RETURN_IF_ERROR(
        CheckLoss(loss, losses[static_cast<rapidjson::SizeType>(step)].GetDouble(), step));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, Tensor>> State(const TrainingProgram& program) {
  ASSIGN_OR_RETURN(const auto state, ReadState(program));
  std::map<std::string, Tensor> values;
  for (const auto& [key, value] : state) values[key] = value;
  return values;
}

// Compares the variables with the recorded ones. Without `all`, some of these may be missing.
absl::Status CheckFinal(const TrainingProgram& program, const std::string& directory,
                        const rapidjson::Document& info, const std::string& optimizer, bool all) {
  ASSIGN_OR_RETURN(const auto rounding, RoundingVariables::Find(directory, info));
  ASSIGN_OR_RETURN(const auto got, State(program));
  ASSIGN_OR_RETURN(const std::vector<NamedTensor> want,
                   ReadAnswer(JoinPath(directory, absl::StrCat("final_", optimizer, ".pb"))));
  for (const auto& [name, value] : want) {
    auto it = got.find(name);
    if (it != got.end()) {
      RETURN_IF_ERROR(rounding.Check(name, it->second, value, 1e-2));
    } else if (all) {
      return absl::DataLossError(absl::StrCat("the program has no variable '", name, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status TrainAsRecorded(const GraphSpec& spec, const std::string& directory,
                             const rapidjson::Document& info, const std::string& optimizer,
                             bool all_variables) {
  ASSIGN_OR_RETURN(const TrainingProgram program, MakeTrainingProgram(spec, OptionsFor(directory)));
  RETURN_IF_ERROR(program.session->Run({}, {}, program.init, nullptr));
  ASSIGN_OR_RETURN(const auto batches, ReadFeeds(directory, info));
  ASSIGN_OR_RETURN(const rapidjson::Document losses,
                   ReadJson(JoinPath(directory, absl::StrCat("losses_", optimizer, ".json"))));
  RETURN_IF_ERROR(TrainSteps(program, batches, losses, 0, losses.Size()));
  return CheckFinal(program, directory, info, optimizer, all_variables);
}

// Returns the type of a recorded optimizer, whose name may tell more.
std::string TypeOf(const std::string& optimizer) {
  if (optimizer == "rmsprop_momentum") return "rmsprop";
  if (optimizer == "adam_decay_clip") return "adam";
  return optimizer;
}

// Sets the learning rate and the parameters that the recorded graph gives its optimizer. They may
// be computed behind updates that need a batch.
absl::Status ReadParameters(Session& session, const std::vector<NamedTensor>& batch,
                            const tensorflow::GraphDef& graph, const OptimizerType& type,
                            training::OptimizerSpec* spec) {
  for (const tensorflow::NodeDef& node : graph.node()) {
    const OpDef* const op = OpRegistry::Global().Find(node.op());
    if (op == nullptr || !absl::EndsWith(node.op(), absl::StrCat("Apply", type.rule))) continue;
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      std::string field = op->inputs[i].name == type.learning_rate ? "learning_rate" : "";
      for (const OptimizerParameter& parameter : type.parameters) {
        if (parameter.input == op->inputs[i].name) field = std::string(parameter.field);
      }
      if (field.empty()) continue;
      std::vector<Tensor> value;
      RETURN_IF_ERROR(session.Run(batch, {node.input(static_cast<int>(i))}, {}, &value));
      ASSIGN_OR_RETURN(const double parameter_value, RealScalar(value[0]));
      spec->GetReflection()->SetDouble(spec, spec->GetDescriptor()->FindFieldByName(field),
                                       parameter_value);
    }
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("the graph has no Apply", type.rule));
}

}  // namespace

bool IsOptimizerType(const std::string& optimizer) {
  return FindOptimizerType(TypeOf(optimizer)).ok();
}

absl::Status ReplayForwardProgram(const std::string& directory, const rapidjson::Document& info,
                                  const std::string& optimizer) {
  const auto& about = info["optimizers"][optimizer.c_str()];
  ASSIGN_OR_RETURN(const auto meta, ReadMessage<tensorflow::MetaGraphDef>(
                                        JoinPath(directory, about["meta"].GetString())));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create(TrainingSession()));
  RETURN_IF_ERROR(session->Extend(meta.graph_def()));
  RETURN_IF_ERROR(session->Run({}, {}, {about["init_op"].GetString()}, nullptr));

  GraphSpec spec;
  spec.set_meta_graph("forward.meta");
  spec.mutable_loss()->set_type("graph");
  spec.mutable_loss()->set_output(info["loss"].GetString());
  spec.mutable_optimizer()->set_type(TypeOf(optimizer));
  ASSIGN_OR_RETURN(const OptimizerType* const type, FindOptimizerType(spec.optimizer().type()));
  ASSIGN_OR_RETURN(const std::vector<NamedTensor> batch, ReadFeed(directory, 0));
  RETURN_IF_ERROR(
      ReadParameters(*session, batch, meta.graph_def(), *type, spec.mutable_optimizer()));
  if (absl::EndsWith(optimizer, "_decay_clip")) {
    spec.mutable_schedule()->set_type("exponential");
    spec.mutable_schedule()->set_decay_steps(10);
    spec.mutable_schedule()->set_decay_rate(0.9);
    spec.mutable_schedule()->set_staircase(true);
    spec.mutable_clip()->set_global_norm(1);
  }
  return TrainAsRecorded(spec, directory, info, optimizer, !absl::EndsWith(optimizer, "_clip"));
}

absl::Status ReplayMetaGraphProgram(const std::string& directory, const rapidjson::Document& info,
                                    const std::string& optimizer) {
  const auto& about = info["optimizers"][optimizer.c_str()];
  GraphSpec spec;
  spec.set_meta_graph(about["meta"].GetString());
  spec.set_loss_tensor(info["loss"].GetString());
  spec.set_train_op(about["train_op"].GetString());
  return TrainAsRecorded(spec, directory, info, optimizer, true);
}

absl::Status ReplaySavedModelProgram(const std::string& directory,
                                     const rapidjson::Document& info) {
  GraphSpec spec;
  spec.set_saved_model("1");
  ASSIGN_OR_RETURN(const TrainingProgram program, MakeTrainingProgram(spec, OptionsFor(directory)));
  ASSIGN_OR_RETURN(const auto batches, ReadFeeds(directory, info));
  ASSIGN_OR_RETURN(const rapidjson::Document losses, ReadJson(JoinPath(directory, "losses.json")));
  RETURN_IF_ERROR(program.session->Run({}, {}, program.init, nullptr));
  RETURN_IF_ERROR(TrainSteps(program, batches, losses, 0, kSavedStep));

  // The state has all variables of TensorFlow's checkpoint.
  const std::string saved = JoinPath(directory, absl::StrCat("step", kSavedStep));
  ASSIGN_OR_RETURN(const auto state, State(program));
  ASSIGN_OR_RETURN(const auto checkpoint, CheckpointReader::Open(saved));
  ASSIGN_OR_RETURN(const auto rounding, RoundingVariables::Find(directory, info));
  std::map<std::string, std::string> keys;  // by those of the checkpoint
  for (const auto& [key, other] : program.other_keys) keys[other] = key;
  for (const std::string& name : checkpoint->TensorNames()) {
    if (!keys.contains(name)) {
      return absl::DataLossError(absl::StrCat("the program has no variable '", name, "'"));
    }
    ASSIGN_OR_RETURN(const Tensor want, checkpoint->Read(name));
    RETURN_IF_ERROR(rounding.Check(name, state.at(keys[name]), want, 1e-2));
  }
  RETURN_IF_ERROR(TrainSteps(program, batches, losses, kSavedStep, losses.Size()));

  // TensorFlow's checkpoint goes on on the same curve.
  RETURN_IF_ERROR(RestoreState(program, saved));
  return Annotate(TrainSteps(program, batches, losses, kSavedStep, losses.Size()),
                  "after restoring the recorded checkpoint: ");
}

}  // namespace tessera
