#include "runtime/session/compiled_step.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/device/streams/stream_pool.h"
#include "runtime/exec/kept_plans.h"
#include "runtime/exec/partitioned_executor.h"
#include "runtime/exec/planner.h"
#include "runtime/exec/step_stats.h"
#include "runtime/graph/prune.h"
#include "runtime/host/share.h"
#include "runtime/host/yielding.h"
#include "runtime/session/step_cache.h"
#include "tensorflow/core/framework/step_stats.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tessera {

absl::Status CheckFeed(int index, const std::string& name, DType expected, const Tensor& given) {
  if (given.dtype() == expected) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("feed ", index, ": expects ", name, " to be ",
                                                 DTypeName(expected), " but ",
                                                 DTypeName(given.dtype()), " is provided"));
}

namespace {

// Puts the device of a part at the index of each argument that is copied to it, and has no other
// use.
void AddArgReaders(const Graph& part, Device* device, std::vector<Device*>* readers) {
  for (const Node* node : part.nodes()) {
    if (!node->IsOp("_Arg")) continue;
    const absl::StatusOr<int64_t> index = node->attr<int64_t>("index");
    if (!index.ok() || node->uses(0).empty()) continue;
    const bool is_read_here =
        std::all_of(node->uses(0).begin(), node->uses(0).end(),
                    [](const Use& use) { return use.node->IsOp("_CopyToDevice"); });
    if (readers->size() <= static_cast<size_t>(*index)) readers->resize(*index + 1, nullptr);
    if (is_read_here) (*readers)[*index] = device;
  }
}

// Returns whether a device has work with the node: the others are constants and edges of a part.
bool IsWork(const Node& node) {
  static constexpr absl::string_view kNoWork[] = {
      "Const", "NoOp", "_Arg", "_CopyToDevice", "_CopyToHost", "_Recv", "_Retval", "_Send"};
  return absl::c_none_of(kNoWork, [&](absl::string_view op) { return node.IsOp(op); });
}

RunPlacement PlacementOf(const Plan& plan) {
  RunPlacement placement;
  for (const Plan::Part& part : plan.parts) {
    std::map<std::string, int>& ops = placement[part.device];
    for (const Node* node : part.graph->nodes()) {
      if (IsWork(*node)) ++ops[node->op().name];
    }
  }
  return placement;
}

// A stream of the device that is used while runs go on, beside those that they take.
class CopyStream {
 public:
  explicit CopyStream(Device* device) : device_(device) {
    if (auto* const streams = dynamic_cast<MultiStreamDevice*>(device)) {
      pool_ = &streams->streams();
      number_ = pool_->size() - 1;
      pool_->Use(number_);
      device_ = pool_->device(number_);
    }
  }
  ~CopyStream() {
    if (pool_ != nullptr) pool_->Give(number_);
  }
  CopyStream(const CopyStream&) = delete;
  CopyStream& operator=(const CopyStream&) = delete;

  Device* device() const { return device_; }

 private:
  Device* device_;
  StreamPool* pool_ = nullptr;  // null: the device has one stream
  int number_ = 0;
};

}  // namespace

absl::StatusOr<PlannedExecutor> PlanAndCompile(SessionState& state, absl::string_view run,
                                               absl::FunctionRef<absl::StatusOr<PlanInput>()> input,
                                               ExecutorKind kind) {
  PlannedExecutor planned;
  const PlanOptions planning = state.Planning();
  const std::string key = run.empty() ? "" : PlanKey(run, planning);
  ASSIGN_OR_RETURN(Plan plan, FindOrMakePlan(key, planning, input));
  planned.arg_types = plan.arg_types;
  for (Device* device : planning.devices) {
    const auto is_there = [device](const Plan::Part& part) {
      return part.device == device->full_name();
    };
    if (device->stream() != nullptr &&
        std::any_of(plan.parts.begin(), plan.parts.end(), is_there)) {
      planned.devices.push_back(device);
    }
  }
  for (const Plan::Part& part : plan.parts) {
    for (Device* device : planned.devices) {
      if (part.device == device->full_name())
        AddArgReaders(*part.graph, device, &planned.arg_readers);
    }
  }
  planned.placement = PlacementOf(plan);
  planned.shares_state = SharesState(plan, planning.devices);
  CompileOptions options;
  options.kind = kind;
  options.functions = state.FunctionsFor(plan.library);
  options.kernels = &state.kernels;
  options.numerics = state.options.numerics;
  options.pool = state.host->intra_op_pool();
  ASSIGN_OR_RETURN(planned.executor,
                   CompilePlan(plan, planning.devices, PartsMeet::kInStep, options));
  KeepPlan(key, planning, std::move(plan));
  // Runs may use other streams than constants are uploaded on.
  for (Device* device : planned.devices) RETURN_IF_ERROR(device->stream()->Synchronize());
  return planned;
}

absl::StatusOr<std::shared_ptr<const CompiledStep>> CompiledStep::Make(
    std::shared_ptr<SessionState> state, const Graph& graph, const RunSignature& signature) {
  std::shared_ptr<CompiledStep> step(new CompiledStep(std::move(state), signature));
  const auto prune = [&]() -> absl::StatusOr<PlanInput> {
    ASSIGN_OR_RETURN(PrunedGraph pruned, Prune(graph, signature));
    return PlanInput{.graph = std::move(pruned.graph),
                     .args = std::move(pruned.args),
                     .results = std::move(pruned.results),
                     .targets = std::move(pruned.targets)};
  };
  ASSIGN_OR_RETURN(PlannedExecutor planned,
                   PlanAndCompile(*step->state_, "run\n" + KeyOf(signature), prune,
                                  step->state_->options.executor));
  step->feed_types_ = std::move(planned.arg_types);
  step->executor_ = std::move(planned.executor);
  step->devices_ = std::move(planned.devices);
  step->feed_readers_ = std::move(planned.arg_readers);
  step->feed_readers_.resize(step->feed_types_.size(), nullptr);
  step->shares_state_ = planned.shares_state;
  step->placement_ = std::move(planned.placement);
  return step;
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

bool CompiledStep::UploadsFeeds() const {
  return std::any_of(feed_readers_.begin(), feed_readers_.end(),
                     [](const Device* reader) { return reader != nullptr; });
}

absl::StatusOr<std::vector<Tensor>> CompiledStep::UploadFeeds(
    absl::Span<const Tensor> feeds) const {
  RETURN_IF_ERROR(CheckFeeds(feeds));
  std::vector<Tensor> uploaded(feeds.begin(), feeds.end());
  std::map<Device*, std::unique_ptr<CopyStream>> streams;
  for (size_t i = 0; i < uploaded.size(); ++i) {
    Device* const reader = feed_readers_[i];
    if (reader == nullptr || feeds[i].num_elements() == 0) continue;
    std::unique_ptr<CopyStream>& stream = streams[reader];
    if (stream == nullptr) stream = std::make_unique<CopyStream>(reader);
    Device& device = *stream->device();
    ASSIGN_OR_RETURN(uploaded[i], Tensor::Allocate(feeds[i].dtype(), feeds[i].shape(),
                                                   device.allocator(MemoryKind::kDevice)));
    device.stream()->Copy(feeds[i], &uploaded[i]);
  }
  for (const auto& [reader, stream] : streams) {
    RETURN_IF_ERROR(stream->device()->stream()->Synchronize());
  }
  return uploaded;
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
  StepContext& context = step.context();
  // What a stream's thread wakes goes on elsewhere: that thread must not be held up.
  absl::Status status;
  if (devices_.empty()) {
    status = RunInTurn(context, run);
  } else {
    context.inter_op_pool = &state_->host->inter_op_pool();
    ASSIGN_OR_RETURN(const IntrusivePtr<StepStreams> streams, TakeStreams(step));
    status = RunInTurn(context, run);
    // A step ends when its work is done.
    for (Stream* stream : streams->streams()) {
      const absl::Status end = stream->Synchronize();
      if (status.ok()) status = end;
    }
  }
  if (stats.has_value()) stats->WriteTo(metadata->mutable_step_stats());
  if (!status.ok()) fetches->clear();
  return status;
}

absl::Status CompiledStep::RunInTurn(StepContext& context, const RunArgs& run) const {
  using Clock = std::chrono::steady_clock;
  const Share* const share = state_->options.share;
  const auto begin = [share] {
    const auto now = Clock::now();
    if (share != nullptr) share->NoteRun(std::chrono::nanoseconds(now.time_since_epoch()).count());
    return now;
  };
  // What is done in the background takes no turn from requests, and turns are for cores: a device
  // with a stream orders its work itself.
  if (InBackground()) return executor_->Run(context, run);
  if (executor_->may_wait() || !devices_.empty()) {
    begin();
    return executor_->Run(context, run);
  }
  RunSlots::Turn turn(state_->host->run_slots(), share);
  const int64_t usual = usual_nanoseconds_.load(std::memory_order_relaxed);
  if (usual >= RunSlots::kLongNanoseconds) {
    RETURN_IF_ERROR(turn.Await(usual, context.deadline, context.cancellation));
  }
  const auto start = begin();
  const absl::Status status = executor_->Run(context, run);
  const int64_t taken = std::chrono::nanoseconds(Clock::now() - start).count();
  // No mean: it would call a program long that a busy machine holds up now and then. Short ones
  // seldom write, for other threads read this.
  if (status.ok() && (usual == 0 || taken < usual)) {
    usual_nanoseconds_.store(taken, std::memory_order_relaxed);
  } else if (status.ok() && taken >= RunSlots::kLongNanoseconds) {
    usual_nanoseconds_.store(usual + (taken - usual) / 64, std::memory_order_relaxed);
  }
  return status;
}

absl::StatusOr<IntrusivePtr<StepStreams>> CompiledStep::TakeStreams(Step& step) const {
  auto streams = MakeRefCounted<StepStreams>();
  for (Device* device : devices_) streams->Take(device, shares_state_);
  RETURN_IF_ERROR(step.context().step_resources->Create("", StepStreams::kTypeName, "", streams));
  return streams;
}

}  // namespace tessera
