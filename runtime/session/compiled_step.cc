#include "runtime/session/compiled_step.h"

#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/exec/step_stats.h"
#include "runtime/graph/partition.h"
#include "runtime/graph/placer.h"
#include "runtime/graph/prune.h"
#include "runtime/host/background.h"
#include "runtime/session/run_slots.h"
#include "tensorflow/core/framework/step_stats.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tessera {
namespace {

// A single device that takes whatever asks for another needs no placement.
bool NeedsPlacement(const SessionState& state) {
  return state.devices.size() > 1 || !state.options.allow_soft_placement;
}

absl::Status PlaceOn(const SessionState& state, Graph* graph) {
  std::vector<Device*> devices;
  for (const auto& device : state.devices) devices.push_back(device.get());
  PlacementOptions options;
  options.allow_soft_placement = state.options.allow_soft_placement;
  return Place(devices, options, graph);
}

// The device of every node, if all have the same; else null.
Device* OnlyDevice(const SessionState& state, const Graph& graph) {
  if (!NeedsPlacement(state)) return state.devices[0].get();
  const std::string* name = nullptr;
  for (const Node* node : graph.nodes()) {
    if (name != nullptr && *name != node->device()) return nullptr;
    name = &node->device();
  }
  for (const auto& device : state.devices) {
    if (name == nullptr || device->name().ToString() == *name) return device.get();
  }
  return nullptr;
}

}  // namespace

absl::Status CheckFeed(int index, const std::string& name, DType expected, const Tensor& given) {
  if (given.dtype() == expected) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("feed ", index, ": expects ", name, " to be ",
                                                 DTypeName(expected), " but ",
                                                 DTypeName(given.dtype()), " is provided"));
}

absl::Status PrepareGraph(SessionState& state, std::vector<Node*> preserved, Graph* graph) {
  const bool place = NeedsPlacement(state);
  if (place) RETURN_IF_ERROR(PlaceOn(state, graph));
  if (!state.options.optimize) return absl::OkStatus();
  OptimizationItem item;
  item.graph = graph;
  item.preserved = std::move(preserved);
  item.device = state.devices[0].get();
  item.pool = state.intra_op_pool.get();
  item.resources = &state.resources;
  item.is_frozen = state.IsFrozen();
  if (absl::Status status = Optimize(item, state.options.optimizer); !status.ok()) {
    LOG(WARNING) << "the graph runs less optimised than it could: " << status.ToString();
  }
  // Passes add nodes, which have no device yet.
  return place ? PlaceOn(state, graph) : absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const CompiledStep>> CompiledStep::Make(
    std::shared_ptr<SessionState> state, const Graph& graph, const RunSignature& signature) {
  ASSIGN_OR_RETURN(PrunedGraph pruned, Prune(graph, signature));
  std::shared_ptr<CompiledStep> step(new CompiledStep(std::move(state), signature));
  for (const Node* arg : pruned.args) step->feed_types_.push_back(arg->output_type(0));
  std::vector<Node*> preserved = pruned.args;
  preserved.insert(preserved.end(), pruned.results.begin(), pruned.results.end());
  preserved.insert(preserved.end(), pruned.targets.begin(), pruned.targets.end());
  RETURN_IF_ERROR(PrepareGraph(*step->state_, std::move(preserved), pruned.graph.get()));
  RETURN_IF_ERROR(step->CompileGraph(*pruned.graph));
  return step;
}

absl::Status CompiledStep::CompileGraph(Graph& graph) {
  CompileOptions options;
  options.kind = state_->options.executor;
  options.kernels = &state_->kernels;
  auto compile = [&](const Graph& part, Device* device) -> absl::Status {
    options.device = device;
    options.functions = state_->FunctionsFor(part.library(), device);
    ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Compile(part, options));
    parts_.push_back(std::move(executor));
    return absl::OkStatus();
  };
  if (Device* device = OnlyDevice(*state_, graph)) return compile(graph, device);
  std::map<std::string, std::unique_ptr<Graph>> by_device;
  ASSIGN_OR_RETURN(by_device, PartitionByDevice(graph));
  for (const auto& device : state_->devices) {
    auto it = by_device.find(device->name().ToString());
    if (it != by_device.end()) RETURN_IF_ERROR(compile(*it->second, device.get()));
  }
  return absl::OkStatus();
}

absl::Status CompiledStep::CheckFeeds(absl::Span<const Tensor> feeds) const {
  if (feeds.size() != feed_types_.size()) [[unlikely]] {
    return absl::InvalidArgumentError(absl::StrCat("the run takes ", feed_types_.size(),
                                                   " feeds, but ", feeds.size(), " are provided"));
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    RETURN_IF_ERROR(CheckFeed(static_cast<int>(i), signature_.feeds[i], feed_types_[i], feeds[i]));
  }
  return absl::OkStatus();
}

absl::Status CompiledStep::Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                               std::vector<Tensor>* fetches,
                               tensorflow::RunMetadata* metadata) const {
  RETURN_IF_ERROR(CheckFeeds(feeds));
  Step step(*state_, options);
  RETURN_IF_ERROR(step.CheckStart());
  absl::optional<StepStatsCollector> stats;
  if (options.collect_stats && metadata != nullptr) stats.emplace();
  std::vector<Tensor> unwanted;
  if (fetches == nullptr) fetches = &unwanted;
  fetches->clear();
  fetches->resize(signature_.fetches.size());
  RunArgs run;
  run.args = feeds;
  run.results = fetches;
  run.stats = stats.has_value() ? &*stats : nullptr;
  absl::Status status =
      parts_.size() == 1 ? RunInTurn(step.context(), run) : RunParts(step.context(), run);
  if (stats.has_value()) stats->WriteTo(metadata->mutable_step_stats());
  if (!status.ok()) fetches->clear();
  return status;
}

absl::Status CompiledStep::RunInTurn(StepContext& context, const RunArgs& run) const {
  const Executor& part = *parts_[0];
  // What is done in the background takes no turn from requests.
  if (part.may_wait() || BackgroundPool() != nullptr) return part.Run(context, run);
  RunSlots::Turn turn(RunSlots::OfProcess());
  const int64_t usual = usual_nanoseconds_.load(std::memory_order_relaxed);
  if (usual >= RunSlots::kLongNanoseconds) RETURN_IF_ERROR(turn.Await(context, usual));
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = part.Run(context, run);
  const int64_t taken = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  // No mean: it would call a program long that a busy machine holds up now and then. Short ones
  // seldom write, for other threads read this.
  if (status.ok() && (usual == 0 || taken < usual)) {
    usual_nanoseconds_.store(taken, std::memory_order_relaxed);
  } else if (status.ok() && taken >= RunSlots::kLongNanoseconds) {
    usual_nanoseconds_.store(usual + (taken - usual) / 64, std::memory_order_relaxed);
  }
  return status;
}

absl::Status CompiledStep::RunParts(StepContext& context, const RunArgs& run) const {
  struct State {
    absl::Mutex mu;
    int running ABSL_GUARDED_BY(mu) = 0;
    absl::Status status ABSL_GUARDED_BY(mu);
  } state;
  {
    absl::MutexLock lock(&state.mu);
    state.running = static_cast<int>(parts_.size());
  }
  for (const auto& part : parts_) {
    // Each goes as far as it can on this thread; what it waits for comes from the next ones.
    part->RunAsync(context, run, [&state](absl::Status status) {
      absl::MutexLock lock(&state.mu);
      if (state.status.ok()) state.status = std::move(status);
      --state.running;
    });
  }
  auto is_over = [&state]() ABSL_SHARED_LOCKS_REQUIRED(state.mu) { return state.running == 0; };
  const absl::Condition over(&is_over);
  {
    absl::MutexLock lock(&state.mu);
    if (!state.mu.AwaitWithDeadline(over, context.deadline)) {
      state.status = absl::DeadlineExceededError("the step ran longer than its timeout");
    }
  }
  if (context.deadline != absl::InfiniteFuture()) {
    absl::Status status;
    {
      absl::MutexLock lock(&state.mu);
      if (state.running > 0) status = state.status;
    }
    if (!status.ok()) {
      context.rendezvous->Abort(status);
      context.cancellation->Cancel();
    }
  }
  absl::MutexLock lock(&state.mu);
  state.mu.Await(over);
  return state.status;
}

}  // namespace tessera
