#include "runtime/session/saved_model_graph.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_match.h"
#include "runtime/exec/kept_plans.h"
#include "runtime/framework/op.h"
#include "runtime/graph/graph_import.h"
#include "runtime/session/canonical_signature.h"
#include "runtime/session/preferred_functions.h"
#include "runtime/session/run_traits.h"
#include "runtime/session/saved_model.h"
#include "runtime/stablehlo/expand_call_modules.h"
#include "runtime/tensor/tensor_proto.h"
#include "runtime/training/gradients/symbolic_gradient.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera {
namespace {

// The name under which a meta graph has its init op among its signatures.
constexpr absl::string_view kInitOpSignature = "__saved_model_init_op";

const tensorflow::CollectionDef* FindCollection(const tensorflow::MetaGraphDef& meta_graph,
                                                const std::string& name) {
  auto it = meta_graph.collection_def().find(name);
  return it == meta_graph.collection_def().end() ? nullptr : &it->second;
}

std::string InitNode(const tensorflow::MetaGraphDef& meta_graph) {
  auto it = meta_graph.signature_def().find(std::string(kInitOpSignature));
  if (it != meta_graph.signature_def().end()) {
    auto output = it->second.outputs().find(std::string(kInitOpSignature));
    if (output != it->second.outputs().end()) return NodeOf(output->second.name());
  }
  for (const char* name : {"saved_model_main_op", "legacy_init_op"}) {
    const tensorflow::CollectionDef* collection = FindCollection(meta_graph, name);
    if (collection != nullptr && collection->node_list().value_size() > 0) {
      return NodeOf(collection->node_list().value(0));
    }
  }
  return "";
}

absl::StatusOr<SignatureTensor> ReadTensorInfo(const tensorflow::TensorInfo& info) {
  SignatureTensor tensor;
  tensor.tensor_name = info.name();
  tensor.run_name = info.name();
  tensor.dtype = static_cast<DType>(info.dtype());
  if (info.has_tensor_shape()) {
    ASSIGN_OR_RETURN(tensor.shape, PartialShapeFromProto(info.tensor_shape()));
  }
  return tensor;
}

absl::StatusOr<Signature> ReadSignature(const tensorflow::SignatureDef& def) {
  Signature signature;
  signature.method_name = def.method_name();
  for (const auto& [alias, info] : def.inputs()) {
    ASSIGN_OR_RETURN(signature.inputs[alias], ReadTensorInfo(info));
  }
  for (const auto& [alias, info] : def.outputs()) {
    ASSIGN_OR_RETURN(signature.outputs[alias], ReadTensorInfo(info));
  }
  for (const auto& [alias, value] : def.defaults()) {
    ASSIGN_OR_RETURN(signature.defaults[alias], TensorFromProto(value));
  }
  return signature;
}

void CopyRunNames(const std::map<std::string, SignatureTensor>& from,
                  std::map<std::string, SignatureTensor>* to) {
  auto source = from.begin();
  for (auto& [alias, tensor] : *to) tensor.run_name = (source++)->second.run_name;
}

// Lets pure signatures that do the same be one run.
void ShareRuns(const tensorflow::GraphDef& graph, std::map<std::string, Signature>* signatures) {
  if (signatures->size() < 2) return;
  CanonicalSignatures canonical(graph);
  absl::flat_hash_map<std::string, const Signature*> by_key;
  for (auto& [name, signature] : *signatures) {
    const RunSignature run = signature.Run();
    // Feeds and fetches must stand for inputs and outputs by position.
    if (!signature.is_pure || run.feeds.size() != signature.inputs.size() ||
        run.fetches.size() != signature.outputs.size()) {
      continue;
    }
    const std::string key = canonical.CanonicalKey(run);
    if (key.empty()) continue;
    const auto [first, is_new] = by_key.emplace(key, &signature);
    if (is_new) continue;
    CopyRunNames(first->second->inputs, &signature.inputs);
    CopyRunNames(first->second->outputs, &signature.outputs);
  }
}

absl::flat_hash_set<std::string> FindUnknownNodes(const tensorflow::GraphDef& graph) {
  absl::flat_hash_set<absl::string_view> functions;
  for (const auto& function : graph.library().function()) {
    functions.insert(function.signature().name());
  }
  absl::flat_hash_set<std::string> unknown;
  for (const tensorflow::NodeDef& node : graph.node()) {
    if (OpRegistry::Global().Find(node.op()) == nullptr && !functions.contains(node.op())) {
      unknown.insert(node.name());
    }
  }
  return unknown;
}

std::string OwnObjectGraph(const std::string& directory) {
  const auto checkpoint = CheckpointReader::Open(VariablesPrefix(directory));
  return checkpoint.ok() ? ReadObjectGraph(**checkpoint).value_or("") : "";
}

}  // namespace

RunSignature Signature::Run() const {
  RunSignature run;
  absl::flat_hash_set<absl::string_view> seen;
  for (const auto& [alias, tensor] : inputs) {
    if (!tensor.run_name.empty() && seen.insert(tensor.run_name).second) {
      run.feeds.push_back(tensor.run_name);
    }
  }
  for (const auto& [alias, tensor] : outputs) {
    if (!tensor.run_name.empty()) run.fetches.push_back(tensor.run_name);
  }
  return run;
}

std::string NodeOf(absl::string_view tensor_name) {
  return std::string(tensor_name.substr(0, tensor_name.find(':')));
}

std::string VariablesPrefix(const std::string& directory) {
  return JoinPath(JoinPath(directory, "variables"), "variables");
}

absl::StatusOr<std::shared_ptr<const SavedModelGraph>> ImportSavedModel(
    const std::string& directory, const std::set<std::string>& tags, LoadStages* stages) {
  StageTimer timer(stages);
  auto result = std::make_shared<SavedModelGraph>();
  result->directory = directory;
  result->plans = std::make_shared<KeptPlans>();
  ASSIGN_OR_RETURN(std::unique_ptr<tensorflow::MetaGraphDef> meta_graph,
                   ReadMetaGraph(directory, tags));
  timer.End("read");

  const std::string loading = absl::StrCat("cannot load ", directory, ": ");
  CallPreferredFunctions(meta_graph->mutable_graph_def());
  stablehlo::ExpandCallModules(meta_graph->mutable_graph_def());
  ExpandSymbolicGradients(nullptr, meta_graph->mutable_graph_def());
  const tensorflow::GraphDef& graph_def = meta_graph->graph_def();
  // Unknown ops that nothing runs are no obstacle.
  absl::StatusOr<std::unique_ptr<Graph>> graph =
      ImportGraph(graph_def, {.allow_unknown_ops = true});
  if (!graph.ok()) return Annotate(graph.status(), loading);
  result->graph = *std::move(graph);
  result->unknown_nodes = FindUnknownNodes(graph_def);
  const RunTraits traits(graph_def);
  for (const auto& [name, def] : meta_graph->signature_def()) {
    if (name == kInitOpSignature) continue;
    absl::StatusOr<Signature> signature = ReadSignature(def);
    if (!signature.ok()) {
      return Annotate(signature.status(), absl::StrCat(loading, "signature '", name, "': "));
    }
    const RunSignature run = signature->Run();
    signature->is_pure = traits.IsPure(run);
    signature->is_open_ended = traits.IsOpenEnded(run);
    result->signatures.emplace(name, *std::move(signature));
  }
  ShareRuns(graph_def, &result->signatures);
  meta_graph->clear_graph_def();
  result->init_node = InitNode(*meta_graph);
  result->meta_graph = std::move(meta_graph);
  result->object_graph = OwnObjectGraph(directory);
  timer.End("import");
  return std::shared_ptr<const SavedModelGraph>(std::move(result));
}

}  // namespace tessera
