#include "runtime/session/saved_model.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/exec/missing_kernels.h"
#include "runtime/framework/op.h"
#include "runtime/session/pure_runs.h"
#include "runtime/session/canonical_signature.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera {
namespace {

constexpr absl::string_view kInitOpSignature = "__saved_model_init_op";

std::string NodeOf(absl::string_view tensor_name) {
  return std::string(tensor_name.substr(0, tensor_name.find(':')));
}

const tensorflow::CollectionDef* FindCollection(const tensorflow::MetaGraphDef& meta_graph,
                                                const std::string& name) {
  auto it = meta_graph.collection_def().find(name);
  return it == meta_graph.collection_def().end() ? nullptr : &it->second;
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

// The tensors that hold paths of the model's assets, with the paths of this directory.
absl::StatusOr<std::vector<NamedTensor>> AssetFeeds(const tensorflow::MetaGraphDef& meta_graph,
                                                    const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<tensorflow::AssetFileDef> assets, ReadAssets(meta_graph));
  std::vector<NamedTensor> feeds;
  for (const tensorflow::AssetFileDef& asset : assets) {
    feeds.emplace_back(asset.tensor_info().name(),
                       Tensor::Scalar(JoinPath(JoinPath(directory, "assets"), asset.filename())));
  }
  return feeds;
}

// The node to run after the variables are restored; empty if there is none.
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

// The runs that bring a session to its first request, in order.
struct StartRun {
  std::string what, stage;
  std::vector<NamedTensor> feeds;
  std::string node;
};

absl::StatusOr<std::vector<StartRun>> StartRuns(const tensorflow::MetaGraphDef& meta_graph,
                                                const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<NamedTensor> assets, AssetFeeds(meta_graph, directory));
  std::vector<StartRun> runs;
  const std::string prefix = JoinPath(JoinPath(directory, "variables"), "variables");
  const tensorflow::SaverDef& saver = meta_graph.saver_def();
  // A model without variables has neither index nor data, though it may have a saver.
  if (!FileExists(absl::StrCat(prefix, ".index"))) {
    if (auto files = ListDirectory(JoinPath(directory, "variables"));
        files.ok() && !files->empty()) {
      return absl::NotFoundError(absl::StrCat("the checkpoint has data but no index: ", prefix,
                                              ".index is missing; was the model copied whole?"));
    }
  }
  if (!saver.restore_op_name().empty() && FileExists(absl::StrCat(prefix, ".index"))) {
    StartRun restore{"restoring variables", "restore_graph", assets,
                     NodeOf(saver.restore_op_name())};
    restore.feeds.emplace_back(saver.filename_tensor_name(), Tensor::Scalar(prefix));
    runs.push_back(std::move(restore));
  }
  const std::string init = InitNode(meta_graph);
  if (!init.empty()) runs.push_back({"running the init op", "init_graph", assets, init});
  return runs;
}

RunSignature SignatureOf(const StartRun& run) {
  RunSignature signature;
  for (const auto& [name, tensor] : run.feeds) signature.feeds.push_back(name);
  signature.targets.push_back(run.node);
  return signature;
}

RunSignature SignatureOf(const Signature& signature) {
  RunSignature result;
  absl::flat_hash_set<std::string> seen;
  for (const auto& [alias, tensor] : signature.inputs) {
    if (!tensor.run_name.empty() && seen.insert(tensor.run_name).second) {
      result.feeds.push_back(tensor.run_name);
    }
  }
  for (const auto& [alias, tensor] : signature.outputs) {
    if (!tensor.run_name.empty()) result.fetches.push_back(tensor.run_name);
  }
  return result;
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
    const RunSignature run = SignatureOf(signature);
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

// Adds up how long the stages of a load take.
class StageTimer {
 public:
  explicit StageTimer(std::vector<std::pair<std::string, absl::Duration>>* stages)
      : stages_(*stages) {}
  // What happened since the last call was `stage`, or more of it.
  void End(absl::string_view stage) {
    const absl::Time now = absl::Now();
    auto found = std::find_if(stages_.begin(), stages_.end(),
                              [&](const auto& known) { return known.first == stage; });
    if (found == stages_.end()) {
      found = stages_.insert(found, {std::string(stage), absl::ZeroDuration()});
    }
    found->second += now - start_;
    start_ = now;
  }

 private:
  std::vector<std::pair<std::string, absl::Duration>>& stages_;
  absl::Time start_ = absl::Now();
};

// Nodes of ops that neither the registry nor the graph's library knows.
using UnknownNodes = absl::flat_hash_set<std::string>;

UnknownNodes FindUnknownNodes(const tensorflow::GraphDef& graph) {
  absl::flat_hash_set<absl::string_view> functions;
  for (const auto& function : graph.library().function()) {
    functions.insert(function.signature().name());
  }
  UnknownNodes unknown;
  for (const tensorflow::NodeDef& node : graph.node()) {
    if (OpRegistry::Global().Find(node.op()) == nullptr && !functions.contains(node.op())) {
      unknown.insert(node.name());
    }
  }
  return unknown;
}

// Compiles steps, and gathers the ops that keep some from being compiled. Other errors wait for the
// run that meets them: a signature nobody calls must not keep a model from being served.
class StepCompiler {
 public:
  StepCompiler(Session& session, UnknownNodes unknown)
      : session_(session), unknown_(std::move(unknown)) {}

  void Compile(RunSignature signature) {
    // How many outputs a node of an unknown op has is not known if nothing in the graph uses them:
    // it cannot be fetched, but as a target it is found with all that it depends on.
    const auto is_unknown = [&](const std::string& fetch) {
      return unknown_.contains(NodeOf(fetch));
    };
    auto& fetches = signature.fetches;
    const auto unknown =
        std::stable_partition(fetches.begin(), fetches.end(), std::not_fn(is_unknown));
    for (auto it = unknown; it != fetches.end(); ++it) signature.targets.push_back(NodeOf(*it));
    fetches.erase(unknown, fetches.end());
    missing_.Merge(session_.MakeCallable(signature).status());
  }
  const MissingKernels& missing() const { return missing_; }

 private:
  Session& session_;
  const UnknownNodes unknown_;
  MissingKernels missing_;
};

}  // namespace

absl::StatusOr<SavedModelBundle> LoadSavedModel(const std::string& directory,
                                                const std::set<std::string>& tags,
                                                const SessionOptions& options) {
  SavedModelBundle bundle;
  bundle.directory = directory;
  StageTimer timer(&bundle.stages);
  ASSIGN_OR_RETURN(bundle.meta_graph, ReadMetaGraph(directory, tags));
  timer.End("read");
  const std::string loading = absl::StrCat("cannot load ", directory, ": ");

  SessionOptions session_options = options;
  session_options.allow_unknown_ops = true;  // those that nothing runs are no obstacle
  ASSIGN_OR_RETURN(bundle.session, Session::Create(session_options));
  RETURN_IF_ERROR(Annotate(bundle.session->Extend(bundle.meta_graph->graph_def()), loading));
  UnknownNodes unknown = FindUnknownNodes(bundle.meta_graph->graph_def());
  const PureRuns pure_runs(bundle.meta_graph->graph_def());

  for (const auto& [name, def] : bundle.meta_graph->signature_def()) {
    if (name == kInitOpSignature) continue;
    absl::StatusOr<Signature> signature = ReadSignature(def);
    if (!signature.ok()) {
      return Annotate(signature.status(), absl::StrCat(loading, "signature '", name, "': "));
    }
    signature->is_pure = pure_runs.IsPure(SignatureOf(*signature));
    bundle.signatures.emplace(name, *std::move(signature));
  }
  ShareRuns(bundle.meta_graph->graph_def(), &bundle.signatures);
  bundle.meta_graph->clear_graph_def();
  timer.End("import");
  std::vector<RunSignature> signatures;
  for (const auto& [name, signature] : bundle.signatures) {
    signatures.push_back(SignatureOf(signature));
  }
  ASSIGN_OR_RETURN(const std::vector<StartRun> runs, StartRuns(*bundle.meta_graph, directory));
  StepCompiler compiler(*bundle.session, std::move(unknown));
  for (const StartRun& run : runs) compiler.Compile(SignatureOf(run));
  timer.End("compile");
  if (compiler.missing().empty()) {
    for (const StartRun& run : runs) {
      const absl::Status status = bundle.session->Run(run.feeds, {}, {run.node}, nullptr);
      RETURN_IF_ERROR(Annotate(status, absl::StrCat(loading, run.what, ": ")));
      timer.End(run.stage);
    }
    if (options.freeze_variables) {
      RETURN_IF_ERROR(Annotate(bundle.session->FreezeVariables(signatures), loading));
      timer.End("freeze");
    }
  }
  for (const RunSignature& signature : signatures) compiler.Compile(signature);
  timer.End("compile");
  if (absl::Status missing = compiler.missing().ToStatus(); !missing.ok()) {
    return absl::UnimplementedError(absl::StrCat(
        loading, missing.message(), ". Run `tessera inspect --ops ", directory, "` for the list"));
  }
  return bundle;
}

}  // namespace tessera
