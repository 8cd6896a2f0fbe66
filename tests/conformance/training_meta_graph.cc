// TF1 graphs, whose variables the graph's own saver names.
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/tensor_slice.h"
#include "runtime/graph/graph_export.h"
#include "runtime/graph/graph_import.h"
#include "runtime/tensor/tensor_proto.h"
#include "runtime/training/gradients/gradients.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tests/conformance/read_message.h"
#include "tests/conformance/rounding_variables.h"
#include "tests/conformance/training_replay.h"

namespace tessera {
namespace {

// The variables of a graph as its saver sees them: element i of each list belongs to one of them.
struct SavedVariables {
  std::string saver;                  // the scope of its nodes, such as "save"
  std::vector<std::string> names;     // in checkpoints
  std::vector<std::string> slices;    // of these names; empty for whole tensors
  std::vector<std::string> values;    // tensors that give the values
  std::vector<std::string> nodes;     // those that hold the values
  std::vector<std::string> restored;  // outputs of RestoreV2, which are assigned to the variables
};

absl::StatusOr<std::vector<std::string>> ConstStrings(const tensorflow::NodeDef& node) {
  ASSIGN_OR_RETURN(const Tensor value, TensorFromProto(node.attr().at("value").tensor()));
  const auto strings = value.flat<std::string>();
  return std::vector<std::string>(strings.begin(), strings.end());
}

// Returns the node of the variable that a tensor is read from.
std::string HolderOf(absl::string_view tensor,
                     const std::map<std::string, const tensorflow::NodeDef*>& nodes) {
  std::string name(tensor.substr(0, tensor.find(':')));
  for (auto node = nodes.find(name); node != nodes.end() && node->second->input_size() > 0;
       node = nodes.find(name)) {
    const std::string& input = node->second->input(0);
    if (absl::StartsWith(input, "^")) break;
    name = input.substr(0, input.find(':'));
  }
  return name;
}

absl::StatusOr<SavedVariables> FindVariables(const tensorflow::GraphDef& graph,
                                             const rapidjson::Document& info) {
  SavedVariables variables;
  const std::string restore_op = info["saver"]["restore"].GetString();
  variables.saver = restore_op.substr(0, restore_op.rfind('/'));
  std::map<std::string, const tensorflow::NodeDef*> nodes;
  for (const tensorflow::NodeDef& node : graph.node()) nodes[node.name()] = &node;
  auto save = nodes.find(absl::StrCat(variables.saver, "/SaveV2"));
  auto restore = nodes.find(absl::StrCat(variables.saver, "/RestoreV2"));
  if (save == nodes.end() || restore == nodes.end()) {
    return absl::DataLossError("the graph has no saver");
  }
  ASSIGN_OR_RETURN(variables.names, ConstStrings(*nodes.at(save->second->input(1))));
  ASSIGN_OR_RETURN(variables.slices, ConstStrings(*nodes.at(save->second->input(2))));
  for (size_t i = 0; i < variables.names.size(); ++i) {
    variables.values.push_back(save->second->input(static_cast<int>(i) + 3));
    variables.restored.push_back(absl::StrCat(restore->first, ":", i));
    variables.nodes.push_back(HolderOf(variables.values[i], nodes));
  }
  return variables;
}

absl::StatusOr<Tensor> ReadVariable(const CheckpointReader& checkpoint, const std::string& name,
                                    const std::string& slice) {
  if (slice.empty()) return checkpoint.Read(name);
  ASSIGN_OR_RETURN(const ShapeAndSlice part, ShapeAndSlice::Parse(slice));
  return checkpoint.ReadSlice(name, part.slice);
}

// Runs the graph's initialiser and then sets the variables that the checkpoint `init` has.
absl::Status Initialise(Session& session, const std::string& init_op,
                        const SavedVariables& variables, const std::string& checkpoint) {
  RETURN_IF_ERROR(session.Run({}, {}, {init_op}, nullptr));
  std::vector<Tensor> values;
  RETURN_IF_ERROR(session.Run({}, variables.values, {}, &values));
  ASSIGN_OR_RETURN(const auto initial, CheckpointReader::Open(checkpoint));
  std::vector<NamedTensor> feeds;
  for (size_t i = 0; i < values.size(); ++i) {
    if (initial->Contains(variables.names[i])) {
      ASSIGN_OR_RETURN(values[i], ReadVariable(*initial, variables.names[i], variables.slices[i]));
    }
    feeds.emplace_back(variables.restored[i], values[i]);
  }
  return session.Run(feeds, {}, {absl::StrCat(variables.saver, "/restore_all")}, nullptr);
}

// Finds the recorded value of variable `i`. It has the variable's name in checkpoints or, of a part
// of a partitioned variable, the name of the part's node.
std::map<std::string, Tensor>::const_iterator FindRecorded(
    const std::map<std::string, Tensor>& recorded, const SavedVariables& variables, size_t i) {
  const auto found = recorded.find(variables.names[i]);
  const bool is_part = !variables.slices[i].empty();
  return found == recorded.end() && is_part ? recorded.find(variables.nodes[i]) : found;
}

absl::StatusOr<std::unique_ptr<Session>> Open(const tensorflow::MetaGraphDef& meta) {
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(TrainingSession()));
  RETURN_IF_ERROR(session->Extend(meta.graph_def()));
  return session;
}

}  // namespace

absl::Status ReplayMetaGraph(const std::string& directory, const rapidjson::Document& info,
                             const std::string& optimizer) {
  const auto& about = info["optimizers"][optimizer.c_str()];
  ASSIGN_OR_RETURN(const auto meta, ReadMessage<tensorflow::MetaGraphDef>(
                                        JoinPath(directory, about["meta"].GetString())));
  ASSIGN_OR_RETURN(const SavedVariables variables, FindVariables(meta.graph_def(), info));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Open(meta));
  RETURN_IF_ERROR(
      Initialise(*session, about["init_op"].GetString(), variables, JoinPath(directory, "init")));

  ASSIGN_OR_RETURN(const rapidjson::Document losses,
                   ReadJson(JoinPath(directory, absl::StrCat("losses_", optimizer, ".json"))));
  std::vector<std::vector<NamedTensor>> feeds(info["feeds"].GetInt());
  for (size_t k = 0; k < feeds.size(); ++k) {
    ASSIGN_OR_RETURN(feeds[k], ReadFeed(directory, static_cast<int64_t>(k)));
  }
  for (rapidjson::SizeType step = 0; step < losses.Size(); ++step) {
    const std::vector<NamedTensor>& feed = feeds[step % feeds.size()];
    std::vector<Tensor> loss;
    RETURN_IF_ERROR(session->Run(feed, {info["loss"].GetString()}, {}, &loss));
    RETURN_IF_ERROR(CheckLoss(loss[0], losses[step].GetDouble(), step));
    RETURN_IF_ERROR(session->Run(feed, {}, {about["train_op"].GetString()}, nullptr));
  }

  std::vector<Tensor> values;
  RETURN_IF_ERROR(session->Run({}, variables.values, {}, &values));
  ASSIGN_OR_RETURN(const std::vector<NamedTensor> final_values,
                   ReadAnswer(JoinPath(directory, absl::StrCat("final_", optimizer, ".pb"))));
  std::map<std::string, Tensor> want(final_values.begin(), final_values.end());
  ASSIGN_OR_RETURN(const auto rounding, RoundingVariables::Find(directory, info));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto it = FindRecorded(want, variables, i);
    if (it == want.end()) continue;
    RETURN_IF_ERROR(rounding.Check(it->first, values[i], it->second, 1e-2));
    want.erase(it);
  }
  if (want.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the saver lacks '", want.begin()->first, "'"));
}

absl::Status ReplayForward(const std::string& directory, const rapidjson::Document& info) {
  ASSIGN_OR_RETURN(const auto meta,
                   ReadMessage<tensorflow::MetaGraphDef>(JoinPath(directory, "forward.meta")));
  ASSIGN_OR_RETURN(const SavedVariables variables, FindVariables(meta.graph_def(), info));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Open(meta));
  RETURN_IF_ERROR(
      Initialise(*session, info["init_op"].GetString(), variables, JoinPath(directory, "init")));
  for (int k = 0; k < info["feeds"].GetInt(); ++k) {
    ASSIGN_OR_RETURN(const std::vector<NamedTensor> feed, ReadFeed(directory, k));
    ASSIGN_OR_RETURN(const std::vector<NamedTensor> answer,
                     ReadAnswer(JoinPath(directory, absl::StrCat("grads_", k, ".pb"))));
    for (const auto& [name, want] : answer) {
      if (name != "loss" && name != "pred") continue;
      std::vector<Tensor> got;
      RETURN_IF_ERROR(session->Run(feed, {info[name.c_str()].GetString()}, {}, &got));
      RETURN_IF_ERROR(
          Annotate(CheckTensor(name, got[0], want, 1e-4), absl::StrCat("feed ", k, ": ")));
    }
  }
  return absl::OkStatus();
}

namespace {

// The gradients of a graph's loss with respect to the variables of an answer, which names them.
struct AddedGradients {
  std::vector<std::string> variables;
  std::vector<std::string> fetches;                  // dense gradients
  std::map<std::string, std::string> sparse_values;  // of those that are sparse, by variable
};

absl::StatusOr<AddedGradients> AddGradientsOf(const std::vector<NamedTensor>& answer,
                                              const std::string& loss, Graph* graph) {
  AddedGradients added;
  std::vector<Endpoint> xs;
  for (const auto& [name, value] : answer) {
    if (name == "loss" || name == "pred" || absl::EndsWith(name, "/indices") ||
        absl::EndsWith(name, "/values")) {
      continue;
    }
    ASSIGN_OR_RETURN(const Endpoint variable, graph->FindEndpoint(name));
    xs.push_back(variable);
    added.variables.push_back(name);
  }
  ASSIGN_OR_RETURN(const Endpoint y, graph->FindEndpoint(loss));
  ASSIGN_OR_RETURN(const std::vector<Gradient> gradients, AddGradients(graph, {y}, xs));
  for (size_t i = 0; i < xs.size(); ++i) {
    if (gradients[i].is_none()) {
      return absl::DataLossError(absl::StrCat("'", added.variables[i], "' has no gradient"));
    }
    if (gradients[i].is_sparse()) {
      added.sparse_values[added.variables[i]] = TensorName(gradients[i].values);
    }
    ASSIGN_OR_RETURN(const Endpoint dense, AddDenseGradient(graph, gradients[i]));
    added.fetches.push_back(TensorName(dense));
  }
  return added;
}

// A gradient that TensorFlow keeps sparse must be sparse, with as many slices.
absl::Status CheckSlices(Session& session, const std::vector<NamedTensor>& feed,
                         const std::vector<NamedTensor>& answer, const AddedGradients& added) {
  for (const auto& [name, want] : answer) {
    if (!absl::EndsWith(name, "/values")) continue;
    const auto values = added.sparse_values.find(std::string(absl::StripSuffix(name, "/values")));
    if (values == added.sparse_values.end()) {
      return absl::DataLossError(absl::StrCat("there is no '", name, "': the gradient is dense"));
    }
    std::vector<Tensor> got;
    RETURN_IF_ERROR(session.Run(feed, {values->second}, {}, &got));
    if (got[0].shape() != want.shape()) {
      return absl::DataLossError(absl::StrCat(name, " has the shape ", got[0].shape().ToString(),
                                              ", not ", want.shape().ToString()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReplayGradients(const std::string& directory, const rapidjson::Document& info) {
  ASSIGN_OR_RETURN(auto meta,
                   ReadMessage<tensorflow::MetaGraphDef>(JoinPath(directory, "forward.meta")));
  ASSIGN_OR_RETURN(const SavedVariables variables, FindVariables(meta.graph_def(), info));
  ASSIGN_OR_RETURN(const auto first, ReadAnswer(JoinPath(directory, "grads_0.pb")));
  ASSIGN_OR_RETURN(const auto rounding, RoundingVariables::Find(directory, info));
  ASSIGN_OR_RETURN(const std::unique_ptr<Graph> graph, ImportGraph(meta.graph_def()));
  ASSIGN_OR_RETURN(AddedGradients added,
                   AddGradientsOf(first, info["loss"].GetString(), graph.get()));
  ExportGraph(*graph, meta.mutable_graph_def());
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Open(meta));
  RETURN_IF_ERROR(
      Initialise(*session, info["init_op"].GetString(), variables, JoinPath(directory, "init")));
  for (int k = 0; k < info["feeds"].GetInt(); ++k) {
    ASSIGN_OR_RETURN(const std::vector<NamedTensor> feed, ReadFeed(directory, k));
    ASSIGN_OR_RETURN(const std::vector<NamedTensor> answer,
                     ReadAnswer(JoinPath(directory, absl::StrCat("grads_", k, ".pb"))));
    const std::map<std::string, Tensor> want(answer.begin(), answer.end());
    std::vector<Tensor> got;
    RETURN_IF_ERROR(session->Run(feed, added.fetches, {}, &got));
    for (size_t i = 0; i < got.size(); ++i) {
      const std::string& name = added.variables[i];
      RETURN_IF_ERROR(Annotate(rounding.CheckGradient(name, got[i], want.at(name), 1e-4),
                               absl::StrCat("gradient, feed ", k, ": ")));
    }
    RETURN_IF_ERROR(CheckSlices(*session, feed, answer, added));
  }
  return absl::OkStatus();
}

}  // namespace tessera
