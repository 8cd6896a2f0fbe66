#include "runtime/session/saved_model.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/exec/kept_plans.h"
#include "runtime/exec/missing_kernels.h"
#include "runtime/host/host.h"
#include "runtime/session/plan_sharing.h"
#include "runtime/session/restore_weights.h"
#include "runtime/session/weights_fit.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera {
namespace {

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

// The runs that bring a session to its first request, in order.
struct StartRun {
  std::string what, stage;
  std::vector<NamedTensor> feeds;
  std::string node;
  bool is_restore = false;
};

// The run that restores the variables beside a SavedModel. Without a value if it has no files of
// variables, or no op that restores them.
absl::StatusOr<std::optional<StartRun>> RestoreRun(const tensorflow::MetaGraphDef& meta_graph,
                                                   const std::string& directory,
                                                   std::vector<NamedTensor> feeds) {
  const std::string prefix = VariablesPrefix(directory);
  // A model without variables has neither index nor data, though it may have a saver. That of one
  // with variables which are not there is told by CheckVariablesHaveValues().
  if (!FileExists(absl::StrCat(prefix, ".index"))) {
    const auto files = ListDirectory(JoinPath(directory, "variables"));
    if (files.ok() && std::any_of(files->begin(), files->end(), [](const std::string& file) {
          return absl::StartsWith(file, "variables.data-");
        })) {
      return absl::NotFoundError(absl::StrCat("the checkpoint has data but no index: ", prefix,
                                              ".index is missing; was the model copied whole?"));
    }
    return std::nullopt;
  }
  const tensorflow::SaverDef& saver = meta_graph.saver_def();
  if (saver.restore_op_name().empty()) return std::nullopt;
  feeds.emplace_back(saver.filename_tensor_name(), Tensor::Scalar(prefix));
  return StartRun{"restoring variables", "restore_graph", std::move(feeds),
                  NodeOf(saver.restore_op_name()), true};
}

// The runs that restore, unless the variables have values by then, and initialise, in order.
absl::StatusOr<std::vector<StartRun>> StartRuns(const SavedModelGraph& graph, bool has_weights) {
  const tensorflow::MetaGraphDef& meta_graph = *graph.meta_graph;
  ASSIGN_OR_RETURN(const std::vector<NamedTensor> assets, AssetFeeds(meta_graph, graph.directory));
  std::vector<StartRun> runs;
  if (!has_weights) {
    ASSIGN_OR_RETURN(std::optional<StartRun> restore,
                     RestoreRun(meta_graph, graph.directory, assets));
    if (restore) runs.push_back(*std::move(restore));
  }
  if (!graph.init_node.empty()) {
    runs.push_back({"running the init op", "init_graph", assets, graph.init_node});
  }
  return runs;
}

RunSignature SignatureOf(const StartRun& run) {
  RunSignature signature;
  for (const auto& [name, tensor] : run.feeds) signature.feeds.push_back(name);
  signature.targets.push_back(run.node);
  return signature;
}

// Compiles steps, and gathers the ops that keep some from being compiled. Other errors wait for the
// run that meets them: a signature nobody calls must not keep a model from being served.
class StepCompiler {
 public:
  StepCompiler(Session& session, const absl::flat_hash_set<std::string>& unknown)
      : session_(session), unknown_(unknown) {}

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
  const absl::flat_hash_set<std::string>& unknown_;
  MissingKernels missing_;
};

// Makes a session whose variables come from the checkpoint of prefix `weights`, or from the
// SavedModel's own if that is null.
absl::StatusOr<SavedModelBundle> Load(std::shared_ptr<const SavedModelGraph> graph,
                                      const std::string* weights, const SessionOptions& options) {
  const std::string loading =
      absl::StrCat("cannot load ", weights == nullptr ? graph->directory : *weights, ": ");
  SavedModelBundle bundle;
  StageTimer timer(&bundle.stages);
  SessionOptions session_options = options;
  session_options.allow_unknown_ops = true;  // as the import did
  const auto reuse = std::make_shared<PlanReuse>();
  reuse->plans = graph->plans;
  absl::StatusOr<std::unique_ptr<Session>> session =
      CreateSession(session_options, graph->graph, reuse);
  if (!session.ok()) return Annotate(session.status(), loading);
  bundle.session = *std::move(session);
  bundle.signatures = graph->signatures;
  bundle.meta_graph = graph->meta_graph;

  std::vector<RunSignature> signatures;
  for (const auto& [name, signature] : bundle.signatures) signatures.push_back(signature.Run());
  ASSIGN_OR_RETURN(const std::vector<StartRun> runs, StartRuns(*graph, weights != nullptr));
  StepCompiler compiler(*bundle.session, graph->unknown_nodes);
  for (const StartRun& run : runs) {
    reuse->keeps = !run.is_restore;  // a session with other weights has no use for that
    compiler.Compile(SignatureOf(run));
  }
  reuse->keeps = true;
  timer.End(reuse->num_made > 0 ? "compile" : "prepare");
  if (compiler.missing().empty()) {
    if (weights != nullptr) {
      ThreadPool* const pool = options.host == nullptr ? nullptr : options.host->intra_op_pool();
      RETURN_IF_ERROR(Annotate(RestoreWeights(*graph, *weights, pool, *bundle.session), loading));
      timer.End("restore_graph");
    }
    for (const StartRun& run : runs) {
      if (run.is_restore) {
        RETURN_IF_ERROR(Annotate(
            CheckWeightsFit(VariablesPrefix(graph->directory), bundle.session->ListDevices()),
            loading));
      }
      absl::Status status = bundle.session->Run(run.feeds, {}, {run.node}, nullptr);
      if (status.ok() && run.is_restore) {
        status = RestoreOriginals(*graph, bundle.session->resources());
      }
      RETURN_IF_ERROR(Annotate(status, absl::StrCat(loading, run.what, ": ")));
      timer.End(run.stage);
    }
    const bool restored = weights != nullptr || (!runs.empty() && runs.front().is_restore);
    if (!restored && !graph->meta_graph->saver_def().restore_op_name().empty()) {
      RETURN_IF_ERROR(
          Annotate(CheckVariablesHaveValues(*graph, bundle.session->resources()), loading));
    }
    if (options.freeze_variables) {
      RETURN_IF_ERROR(Annotate(bundle.session->FreezeVariables(signatures), loading));
      timer.End("freeze");
    }
  }
  for (const RunSignature& signature : signatures) compiler.Compile(signature);
  reuse->keeps = false;  // callers may ask for any other runs
  timer.End(reuse->num_made > 0 ? "compile" : "prepare");
  if (absl::Status missing = compiler.missing().ToStatus(); !missing.ok()) {
    return absl::UnimplementedError(absl::StrCat(loading, missing.message(),
                                                 ". Run `tessera inspect --ops ", graph->directory,
                                                 "` for the list"));
  }
  bundle.graph = std::move(graph);
  return bundle;
}

}  // namespace

absl::StatusOr<SavedModelBundle> LoadSavedModel(std::shared_ptr<const SavedModelGraph> graph,
                                                const SessionOptions& options) {
  return Load(std::move(graph), nullptr, options);
}

absl::StatusOr<SavedModelBundle> LoadWeights(std::shared_ptr<const SavedModelGraph> graph,
                                             const std::string& prefix,
                                             const SessionOptions& options) {
  return Load(std::move(graph), &prefix, options);
}

absl::StatusOr<SavedModelBundle> LoadSavedModel(const std::string& directory,
                                                const std::set<std::string>& tags,
                                                const SessionOptions& options) {
  LoadStages import_stages;
  ASSIGN_OR_RETURN(std::shared_ptr<const SavedModelGraph> graph,
                   ImportSavedModel(directory, tags, &import_stages));
  ASSIGN_OR_RETURN(SavedModelBundle bundle, LoadSavedModel(std::move(graph), options));
  bundle.stages.insert(bundle.stages.begin(), import_stages.begin(), import_stages.end());
  return bundle;
}

}  // namespace tessera
