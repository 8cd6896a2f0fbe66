#include "runtime/exec/dataflow_run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/flushed_denormals.h"
#include "runtime/base/status.h"
#include "runtime/device/memory/allocation_label.h"
#include "runtime/exec/run_state.h"
#include "runtime/exec/step_stats.h"
#include "runtime/exec/step_streams.h"
#include "runtime/framework/kernel_call.h"

namespace tessera {
namespace {

// The number of cheap nodes between two checks of deadline and cancellation.
constexpr int kNodesBetweenChecks = 64;

}  // namespace

// An asynchronous kernel whose callback has not run yet.
struct DataflowRun::AsyncNode {
  AsyncNode(DataflowRun* run, const Ready& ready)
      : run(run), ready(ready), outputs(ready.node->num_outputs) {}

  DataflowRun* const run;
  const Ready ready;
  std::vector<Value> outputs;
  absl::optional<KernelContext> context;
  absl::Status status;
  int64_t start = 0;
  // Set by the first of two events: ComputeAsync() returns, and the kernel calls back. The second
  // one continues the run, so that a kernel which calls back at once does not run its successors
  // deeper on the stack.
  std::atomic<bool> one_is_through{false};
};

// Updates that several threads run. Each takes the next one when it has run its last.
struct DataflowRun::SharedUpdates {
  explicit SharedUpdates(ReadyList list) : nodes(std::move(list)) {}

  const ReadyList nodes;
  std::atomic<size_t> next{0};
};

DataflowRun::DataflowRun(const DataflowProgram& program, Device* device)
    : program_(program), program_device_(device), frames_(program) {
  caller_.outputs.resize(program.max_outputs);
  for (const DataflowProgram::Node& node : program.nodes) {
    num_retvals_ += node.role == NodeRole::kRetval ? 1 : 0;
  }
}

absl::Status DataflowRun::RunHere(StepContext& step, const RunArgs& run) {
  has_waiter_ = true;
  Begin(step, run);
  Work(caller_);
  if (!EndActivity()) WaitUntilOver();
  absl::MutexLock lock(&mu_);
  return Conclude();
}

void DataflowRun::RunAsync(StepContext& step, const RunArgs& run, DoneCallback done) {
  has_waiter_ = false;
  done_ = std::move(done);
  Begin(step, run);
  Work(caller_);
  if (EndActivity()) Finish();
}

void DataflowRun::Begin(StepContext& step, const RunArgs& run) {
  step_ = &step;
  device_ = StreamDevice(step, program_device_);
  run_ = run;
  is_alone_ = step.inter_op_pool == nullptr && !program_.may_wait;
  activities_.store(1, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  results_put_.store(0, std::memory_order_relaxed);
  caller_.nodes_run = 0;
  if (run.results != nullptr && run.results->size() < static_cast<size_t>(program_.num_results)) {
    run.results->resize(program_.num_results);
  }
  {
    FrameLock lock(*this);
    over_ = false;
    FrameState* frame = frames_.NewFrame(0, nullptr);
    frame->last = 0;
    root_ = frames_.NewIteration(frame, 0);
    frame->At(0) = root_;
  }
  absl::Status status = CheckGoingOn(step);
  const size_t given = run.consumed_args.empty() ? run.args.size() : run.consumed_args.size();
  if (status.ok() && given < static_cast<size_t>(program_.num_args)) {
    status = absl::InvalidArgumentError(
        absl::StrCat("the graph takes ", program_.num_args, " arguments, got ", given));
  }
  if (!status.ok()) {
    Fail(status);
    return;
  }
  // Nodes are taken from the end of the list, and the first node should run first.
  for (auto it = program_.start.rbegin(); it != program_.start.rend(); ++it) {
    caller_.ready.push_back({&program_.nodes[*it], root_, false});
  }
}

bool DataflowRun::GoesOn() {
  const absl::Status status = CheckGoingOn(*step_);
  if (status.ok()) [[likely]]
    return true;
  Fail(status);
  return false;
}

void DataflowRun::Work(Worker& worker) {
  const FlushedDenormals flushed;
  WorkUpToUpdates(worker);
  while (!worker.updates.empty()) {
    ShareUpdates(worker);
    WorkUpToUpdates(worker);
  }
}

void DataflowRun::WorkUpToUpdates(Worker& worker) {
  while (!worker.ready.empty()) {
    const Ready ready = worker.ready.back();
    worker.ready.pop_back();
    if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
      continue;
    if (ready.node->is_update && step_->inter_op_pool != nullptr) {
      worker.updates.push_back(ready);
      continue;
    }
    if (ready.node->is_expensive || ++worker.nodes_run % kNodesBetweenChecks == 0) {
      if (!GoesOn()) [[unlikely]]
        continue;
      if (ready.node->is_expensive && !worker.ready.empty() && step_->inter_op_pool != nullptr) {
        activities_.fetch_add(1, std::memory_order_relaxed);
        Schedule({ready});
        continue;
      }
    }
    RunNode(ready, worker);
  }
}

void DataflowRun::ShareUpdates(Worker& worker) {
  const auto shared = std::make_shared<SharedUpdates>(std::exchange(worker.updates, {}));
  const int threads = step_->inter_op_pool->num_threads();
  const int helpers = static_cast<int>(std::min<size_t>(threads, shared->nodes.size())) - 1;
  activities_.fetch_add(helpers, std::memory_order_relaxed);
  for (int i = 0; i < helpers; ++i) {
    step_->inter_op_pool->Schedule([this, shared] {
      {
        Worker helper;
        helper.outputs.resize(program_.max_outputs);
        RunUpdates(*shared, helper);
        Work(helper);
      }
      if (EndActivity()) Finish();
    });
  }
  RunUpdates(*shared, worker);
}

void DataflowRun::RunUpdates(SharedUpdates& shared, Worker& worker) {
  const ReadyList& nodes = shared.nodes;
  for (size_t i = shared.next.fetch_add(1, std::memory_order_relaxed); i < nodes.size();
       i = shared.next.fetch_add(1, std::memory_order_relaxed)) {
    if (failed_.load(std::memory_order_relaxed) || !GoesOn()) [[unlikely]]
      continue;
    RunNode(nodes[i], worker);
  }
}

void DataflowRun::Schedule(ReadyList ready) {
  step_->inter_op_pool->Schedule(
      [this, ready = std::move(ready)]() mutable { WorkAndEnd(std::move(ready)); });
}

void DataflowRun::WorkAndEnd(ReadyList ready) {
  {
    Worker worker;
    worker.ready = std::move(ready);
    worker.outputs.resize(program_.max_outputs);
    Work(worker);
  }
  if (EndActivity()) Finish();
}

void DataflowRun::HandOver(ReadyList ready) {
  if (!ready.empty() && step_->inter_op_pool != nullptr) {
    // This thread takes part until Schedule() has returned, because the owner of the step may
    // destroy the pool once the step has ended.
    activities_.fetch_add(1, std::memory_order_relaxed);
    Schedule(std::move(ready));
    if (EndActivity()) Finish();
  } else if (!ready.empty() && has_waiter_) {
    absl::MutexLock lock(&mu_);
    handed_over_.insert(handed_over_.end(), ready.begin(), ready.end());
    ++parts_handed_over_;
  } else {
    WorkAndEnd(std::move(ready));
  }
}

void DataflowRun::WaitUntilOver() {
  absl::Time deadline = step_->deadline;
  while (true) {
    int parts = 0;
    {
      auto wake = [this]()
                      ABSL_SHARED_LOCKS_REQUIRED(mu_) { return over_ || parts_handed_over_ > 0; };
      absl::MutexLock lock(&mu_);
      if (mu_.AwaitWithDeadline(absl::Condition(&wake), deadline)) {
        if (parts_handed_over_ == 0) return;
        parts = std::exchange(parts_handed_over_, 0);
        caller_.ready.swap(handed_over_);
      }
    }
    if (parts == 0) {
      // This wakes kernels that wait, and their callbacks end the run.
      Fail(absl::DeadlineExceededError("the step ran longer than its timeout"));
      deadline = absl::InfiniteFuture();
      continue;
    }
    Work(caller_);
    if (activities_.fetch_sub(parts, std::memory_order_acq_rel) == parts) return;
  }
}

void DataflowRun::Finish() {
  absl::Status status;
  {
    absl::MutexLock lock(&mu_);
    if (has_waiter_) {
      over_ = true;
      return;
    }
    status = Conclude();
  }
  // From here on the object may be in use by another run.
  const DoneCallback done = std::exchange(done_, nullptr);
  done(std::move(status));
}

absl::Status DataflowRun::Conclude() {
  const bool failed = failed_.load(std::memory_order_acquire);
  absl::Status status = std::exchange(status_, absl::OkStatus());
  if (!failed && results_put_.load(std::memory_order_relaxed) < num_retvals_) {
    status = absl::InternalError(
        "the step ended before all results were there: some node never got its inputs");
  }
  // A loop that is not well formed may have Enters that never run, and so never ends.
  const std::vector<FrameState*>& loops = root_->children;
  const bool is_over = std::all_of(loops.begin(), loops.end(),
                                   [](const FrameState* loop) { return loop == nullptr; });
  if (status.ok() && is_over) {
    FrameState* const frame = root_->frame;
    frames_.Recycle(root_);
    frames_.Recycle(frame);
  } else {
    caller_.ready.clear();
    frames_.Reset();
  }
  root_ = nullptr;
  return status;
}

void DataflowRun::RunNode(const Ready& ready, Worker& worker) {
  const DataflowProgram::Node& node = *ready.node;
  Value* const outputs = worker.outputs.data();
  absl::Status status;
  if (ready.is_dead && node.role != NodeRole::kTransfer) {
    if (node.role == NodeRole::kRetval) {
      status = absl::InvalidArgumentError(
          "the result has no value: it comes from a branch that was not taken");
    }
  } else {
    switch (node.role) {
      case NodeRole::kConst:
        outputs[0].tensor = program_.constants[node.index];
        break;
      case NodeRole::kArg:
        outputs[0].tensor = run_.consumed_args.empty() ? run_.args[node.index]
                                                       : std::move(run_.consumed_args[node.index]);
        break;
      case NodeRole::kRetval:
        status = PutResult(ready);
        break;
      case NodeRole::kNoOp:
      case NodeRole::kControlTrigger:
        break;
      default:
        if (node.num_refs > 0 && !ready.is_dead) status = PrepareRefs(node, *ready.iteration);
        if (status.ok() && !TakeShortcut(ready, outputs)) {
          if (node.is_async) {
            StartAsync(ready, worker);
            return;
          }
          status = RunKernel(ready, outputs);
        }
    }
  }
  EndNode(ready, outputs, status, worker.ready);
}

bool DataflowRun::TakeShortcut(const Ready& ready, Value* outputs) const {
  using Shortcut = DataflowProgram::Shortcut;
  const DataflowProgram::Node& node = *ready.node;
  if (node.shortcut == Shortcut::kNone || run_.stats != nullptr) return false;
  Value* const values = ready.iteration->values.get();
  Value* const own = values + node.first_slot;
  switch (node.shortcut) {
    case Shortcut::kForward:
      outputs[0] = std::move(own[0]);
      return true;
    case Shortcut::kMerge:
      for (int i = 0; i < node.num_slots; ++i) {
        if (!HasValue(own[i])) continue;
        outputs[0] = std::move(own[i]);
        return true;
      }
      return false;
    default: {
      const Tensor& choice = values[program_.inputs[node.first_input + 1].index].tensor;
      if (choice.num_elements() != 1) return false;  // the kernel says so
      outputs[choice.scalar<bool>() ? 1 : 0] = std::move(own[0]);
      return true;
    }
  }
}

KernelContext DataflowRun::MakeContext(const Ready& ready, Value* outputs) const {
  const DataflowProgram::Node& node = *ready.node;
  KernelContext context(*step_, device_);
  context.Bind(ready.iteration->values.get(),
               {program_.inputs.data() + node.first_input, node.num_inputs}, outputs,
               {node.output_types, node.num_outputs}, /*first_place=*/0, node.output_kinds);
  context.set_frame(ready.iteration->frame->id, ready.iteration->number, ready.is_dead);
  return context;
}

absl::Status DataflowRun::RunKernel(const Ready& ready, Value* outputs) {
  const DataflowProgram::Node& node = *ready.node;
  KernelContext context = MakeContext(ready, outputs);
  std::optional<AllocationLabel> allocating;
  if (device_ != nullptr && device_->memory_kind() == MemoryKind::kDevice) {
    allocating.emplace(label(node).name);
  }
  if (run_.stats == nullptr) {
    RETURN_IF_ERROR(CallKernel(*node.kernel, context));
  } else {
    const int64_t start = StepStatsCollector::Now();
    RETURN_IF_ERROR(CallKernel(*node.kernel, context));
    RecordStats(node, start, outputs);
  }
  return CheckOutputs(node, outputs);
}

void DataflowRun::RecordStats(const DataflowProgram::Node& node, int64_t start,
                              const Value* outputs) const {
  run_.stats->Record(device_ == nullptr ? "" : device_->name().ToString(), label(node).name,
                     label(node).op, start, start, StepStatsCollector::Now(),
                     {outputs, node.num_outputs});
}

absl::Status DataflowRun::CheckOutputs(const DataflowProgram::Node& node,
                                       const Value* outputs) const {
  if (node.may_skip_outputs) return absl::OkStatus();
  for (int i = 0; i < node.num_outputs; ++i) {
    if (HasValue(outputs[i])) [[likely]]
      continue;
    for (uint32_t e = 0; e < node.num_edges; ++e) {
      const DataflowProgram::Edge& edge = program_.edges[node.first_edge + e];
      if (edge.slot != DataflowProgram::kControl && edge.output == i) {
        return absl::InternalError(
            absl::StrCat("the kernel of op ", label(node).op, " gave no value for output ", i));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status DataflowRun::PrepareRefs(const DataflowProgram::Node& node,
                                      Iteration& iteration) const {
  for (int i = 0; i < node.num_refs; ++i) {
    const DataflowProgram::RefInput& ref = program_.refs[node.first_ref + i];
    Value& value = iteration.values[ref.slot];
    if (node.role == NodeRole::kMerge && !value.ref) continue;  // the input that is not live
    absl::Status status = PrepareRefInput(value, ref.read, ref.may_be_uninitialized);
    if (!status.ok()) return Annotate(status, absl::StrCat("input ", ref.input, ": "));
    // From here on it is a plain tensor, also for nodes that the kernel passes it to.
    if (ref.read) value.ref.reset();
  }
  return absl::OkStatus();
}

void DataflowRun::StartAsync(const Ready& ready, Worker& worker) {
  auto owner = std::make_unique<AsyncNode>(this, ready);
  AsyncNode* const node = owner.release();  // owned by whoever is through second
  node->context.emplace(MakeContext(ready, node->outputs.data()));
  if (run_.stats != nullptr) node->start = StepStatsCollector::Now();
  activities_.fetch_add(1, std::memory_order_relaxed);
  static_cast<AsyncOpKernel*>(ready.node->kernel)
      ->ComputeAsync(*node->context, [node](absl::Status status) {
        node->status = std::move(status);
        if (!node->one_is_through.exchange(true, std::memory_order_acq_rel)) return;
        DataflowRun* const run = node->run;
        const auto end = [node] { node->run->EndAsync(std::unique_ptr<AsyncNode>(node)); };
        // The thread may belong to the stream of the device. It must not run what comes next, which
        // may include the caller's continuation of this run.
        const bool is_on_stream = run->device_ != nullptr && run->device_->stream() != nullptr;
        if (is_on_stream && run->step_->inter_op_pool != nullptr) {
          run->step_->inter_op_pool->Schedule(end);
        } else {
          end();
        }
      });
  if (!node->one_is_through.exchange(true, std::memory_order_acq_rel)) return;
  owner.reset(node);
  ConcludeAsync(*node, worker.ready);
  activities_.fetch_sub(1, std::memory_order_relaxed);  // this thread still takes part
}

void DataflowRun::EndAsync(std::unique_ptr<AsyncNode> node) {
  ReadyList ready;
  ConcludeAsync(*node, ready);
  node.reset();
  HandOver(std::move(ready));
}

void DataflowRun::ConcludeAsync(AsyncNode& node, ReadyList& out) {
  const DataflowProgram::Node& program_node = *node.ready.node;
  Value* const outputs = node.outputs.data();
  if (run_.stats != nullptr && node.status.ok()) RecordStats(program_node, node.start, outputs);
  if (node.status.ok()) node.status = CheckOutputs(program_node, outputs);
  EndNode(node.ready, outputs, node.status, out);
}

absl::Status DataflowRun::PutResult(const Ready& ready) {
  const DataflowProgram::Node& node = *ready.node;
  if (node.num_refs > 0) RETURN_IF_ERROR(PrepareRefs(node, *ready.iteration));
  const KernelContext::InputSlot input = program_.inputs[node.first_input];
  Value& value = ready.iteration->values[input.index];
  Tensor& result = (*run_.results)[node.index];
  if (value.ref) {
    result = value.ref->Read();
  } else if (input.last_use) {
    result = std::move(value.tensor);
  } else {
    result = value.tensor;
  }
  results_put_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

void DataflowRun::Fail(const absl::Status& status) {
  {
    absl::MutexLock lock(&mu_);
    AddError(status, &status_);
    if (failed_.exchange(true, std::memory_order_acq_rel)) return;
  }
  FailStep(*step_, status);
}

}  // namespace tessera
