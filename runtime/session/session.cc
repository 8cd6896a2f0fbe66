#include "runtime/session/session.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/graph/function.h"
#include "runtime/graph/graph_import.h"
#include "runtime/graph/prune.h"
#include "runtime/session/compiled_step.h"
#include "runtime/session/partial_step.h"
#include "runtime/session/plan_sharing.h"
#include "runtime/session/session_state.h"
#include "runtime/session/step_cache.h"
#include "runtime/session/variable_writes.h"
#include "runtime/training/gradients/symbolic_gradient.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// A callable for a caller whose order is not the compiled one.
class ReorderedCallable final : public Callable, public FeedUploader, public PlacedRun {
 public:
  ReorderedCallable(std::shared_ptr<const OrderedStep> ordered, RunSignature signature)
      : ordered_(std::move(ordered)), signature_(std::move(signature)) {}

  absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                   std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata) const override {
    ASSIGN_OR_RETURN(const Feeds sorted, Sorted(feeds));
    std::vector<Tensor> results;
    RETURN_IF_ERROR(ordered_->step->Run(options, sorted, &results, metadata));
    if (fetches == nullptr) return absl::OkStatus();
    fetches->clear();
    for (int position : ordered_->fetches) fetches->push_back(std::move(results[position]));
    return absl::OkStatus();
  }
  const RunSignature& signature() const override { return signature_; }

  const RunPlacement& placement() const override { return ordered_->step->placement(); }

  bool UploadsFeeds() const override { return ordered_->step->UploadsFeeds(); }
  absl::StatusOr<std::vector<Tensor>> UploadFeeds(absl::Span<const Tensor> feeds) const override {
    ASSIGN_OR_RETURN(const auto sorted, Sorted(feeds));
    ASSIGN_OR_RETURN(const std::vector<Tensor> uploaded, ordered_->step->UploadFeeds(sorted));
    std::vector<Tensor> given;
    for (int position : ordered_->feeds) given.push_back(uploaded[position]);
    return given;
  }

 private:
  using Feeds = absl::InlinedVector<Tensor, 8>;

  // The feeds in the order in which the step takes them.
  absl::StatusOr<Feeds> Sorted(absl::Span<const Tensor> feeds) const {
    if (feeds.size() != ordered_->feeds.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the run takes ", ordered_->feeds.size(), " feeds, but ", feeds.size(), " are provided"));
    }
    Feeds sorted(feeds.size());
    for (size_t i = 0; i < feeds.size(); ++i) sorted[ordered_->feeds[i]] = feeds[i];
    return sorted;
  }

  const std::shared_ptr<const OrderedStep> ordered_;
  const RunSignature signature_;
};

class LocalSession final : public Session {
 public:
  LocalSession(const SessionOptions& options, std::vector<std::unique_ptr<Device>> devices,
               std::shared_ptr<PlanReuse> reuse)
      : state_(std::make_shared<SessionState>(options, std::move(devices), std::move(reuse))),
        graph_(std::make_shared<Graph>()) {}

  // Later runs use `graph`, which has all nodes of the graph before.
  absl::Status UseGraph(std::shared_ptr<const Graph> graph) {
    RETURN_IF_ERROR(state_->PlaceResourcesOf(*graph));
    absl::MutexLock lock(&mu_);
    graph_ = std::move(graph);
    return absl::OkStatus();
  }

  ~LocalSession() override {
    // Partial runs end before what they run on.
    absl::flat_hash_map<std::string, std::shared_ptr<PartialStep>> partial_runs;
    {
      absl::MutexLock lock(&mu_);
      partial_runs.swap(partial_runs_);
    }
  }

  absl::Status Extend(const tensorflow::GraphDef& graph_def) override {
    RETURN_IF_ERROR(CheckOpen());
    absl::MutexLock extend_lock(&extend_mu_);
    GraphImportOptions options;
    options.allow_unknown_ops = state_->options.allow_unknown_ops;
    // Runs go on with the graph they have; the new one is a copy that has more nodes.
    std::shared_ptr<const Graph> old = graph();
    tensorflow::GraphDef expanded;
    const bool expand = HasSymbolicGradient(graph_def);
    if (expand) {
      expanded = graph_def;
      ExpandSymbolicGradients(old->library(), &expanded);
    }
    const tensorflow::GraphDef& added = expand ? expanded : graph_def;
    std::unique_ptr<Graph> extended;
    if (old->num_nodes() == 0 && old->library() == nullptr) {
      ASSIGN_OR_RETURN(extended, ImportGraph(added, options));
    } else {
      extended = old->Clone();
      RETURN_IF_ERROR(ImportInto(added, options, extended.get()));
    }
    return UseGraph(std::move(extended));
  }

  absl::Status Run(const RunOptions& options, const std::vector<NamedTensor>& feeds,
                   const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
                   std::vector<Tensor>* outputs, tensorflow::RunMetadata* metadata) override {
    RunSignature signature;
    signature.fetches = fetches;
    signature.targets = targets;
    std::vector<Tensor> tensors;
    tensors.reserve(feeds.size());
    for (const auto& [name, tensor] : feeds) {
      signature.feeds.push_back(name);
      tensors.push_back(tensor);
    }
    ASSIGN_OR_RETURN(const std::shared_ptr<const Callable> callable, MakeCallable(signature));
    return callable->Run(options, tensors, outputs, metadata);
  }

  absl::StatusOr<std::shared_ptr<const Callable>> MakeCallable(
      const RunSignature& signature) override {
    RETURN_IF_ERROR(CheckOpen());
    ASSIGN_OR_RETURN(std::shared_ptr<const OrderedStep> ordered,
                     steps_.FindOrCompile(signature, [this](const RunSignature& sorted) {
                       return CompiledStep::Make(state_, *graph(), sorted);
                     }));
    if (ordered->same_order) return std::shared_ptr<const Callable>(ordered->step);
    return std::shared_ptr<const Callable>(
        std::make_shared<ReorderedCallable>(std::move(ordered), signature));
  }

  absl::StatusOr<std::string> PartialRunSetup(const RunSignature& signature) override {
    RETURN_IF_ERROR(CheckOpen());
    ASSIGN_OR_RETURN(std::shared_ptr<PartialStep> run,
                     PartialStep::Start(state_, *graph(), signature));
    absl::MutexLock lock(&mu_);
    std::string handle = absl::StrCat("partial_run;", ++num_partial_runs_);
    partial_runs_.emplace(handle, std::move(run));
    return handle;
  }

  absl::Status PartialRun(const std::string& handle, const std::vector<NamedTensor>& feeds,
                          const std::vector<std::string>& fetches,
                          std::vector<Tensor>* outputs) override {
    std::shared_ptr<PartialStep> run;
    {
      absl::MutexLock lock(&mu_);
      auto it = partial_runs_.find(handle);
      if (it == partial_runs_.end()) {
        return absl::InvalidArgumentError(absl::StrCat("there is no partial run '", handle,
                                                       "': it was never set up, or is over"));
      }
      run = it->second;
    }
    absl::Status status = run->Continue(feeds, fetches, outputs);
    if (run->IsOver()) {
      absl::MutexLock lock(&mu_);
      partial_runs_.erase(handle);
    }
    return status;
  }

  absl::Status FreezeVariables(const std::vector<RunSignature>& runs) override {
    RETURN_IF_ERROR(CheckOpen());
    KeptPlans* const kept =
        state_->plan_reuse == nullptr ? nullptr : state_->plan_reuse->plans.get();
    if (kept != nullptr && kept->frozen() != nullptr) return state_->Freeze(kept->frozen());
    auto writes = std::make_shared<VariableWrites>();
    const std::shared_ptr<const Graph> whole = graph();
    for (const RunSignature& run : runs) {
      const absl::StatusOr<PrunedGraph> pruned = Prune(*whole, run);
      if (pruned.ok()) RETURN_IF_ERROR(writes->Add(*pruned->graph));
    }
    auto is_frozen = std::make_shared<const KeptPlans::IsFrozen>(
        [writes](const Node& variable) { return !writes->MayWrite(variable); });
    if (kept != nullptr) kept->SetFrozen(is_frozen);
    return state_->Freeze(std::move(is_frozen));
  }

  std::vector<const Device*> ListDevices() const override {
    std::vector<const Device*> devices;
    for (const auto& device : state_->devices) devices.push_back(device.get());
    return devices;
  }

  ResourceManager& resources() override { return state_->resources; }

  absl::Status Close() override {
    state_->closed.store(true, std::memory_order_seq_cst);
    state_->running.CancelAll(absl::CancelledError("the session was closed"));
    return absl::OkStatus();
  }

 private:
  absl::Status CheckOpen() const {
    if (!state_->closed.load(std::memory_order_acquire)) return absl::OkStatus();
    return absl::FailedPreconditionError("the session is closed");
  }

  std::shared_ptr<const Graph> graph() const {
    absl::MutexLock lock(&mu_);
    return graph_;
  }

  const std::shared_ptr<SessionState> state_;
  StepCache steps_;
  absl::Mutex extend_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  mutable absl::Mutex mu_;
  std::shared_ptr<const Graph> graph_ ABSL_GUARDED_BY(mu_);
  int64_t num_partial_runs_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<std::string, std::shared_ptr<PartialStep>> partial_runs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Create(const SessionOptions& options,
                                                         std::shared_ptr<const Graph> graph) {
  return CreateSession(options, std::move(graph), nullptr);
}

absl::StatusOr<std::unique_ptr<Session>> CreateSession(const SessionOptions& options,
                                                       std::shared_ptr<const Graph> graph,
                                                       std::shared_ptr<PlanReuse> reuse) {
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Device>> devices, MakeDevices(options.devices));
  auto session = std::make_unique<LocalSession>(options, std::move(devices), std::move(reuse));
  if (graph != nullptr) RETURN_IF_ERROR(session->UseGraph(std::move(graph)));
  return session;
}

}  // namespace tessera
