#include "runtime/exec/straight_executor.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/flushed_denormals.h"
#include "runtime/base/status.h"
#include "runtime/device/memory/allocation_label.h"
#include "runtime/exec/captured_run.h"
#include "runtime/exec/memory_plan.h"
#include "runtime/exec/memory_recorder.h"
#include "runtime/exec/object_pool.h"
#include "runtime/exec/planned_memory.h"
#include "runtime/exec/run_state.h"
#include "runtime/exec/shape_cache.h"
#include "runtime/exec/step_stats.h"
#include "runtime/exec/step_streams.h"
#include "runtime/framework/kernel_call.h"
#include "runtime/tensor/large_blocks.h"

namespace tessera {
namespace {

class StraightExecutor final : public Executor {
 public:
  StraightExecutor(StraightProgram program, Device* device, std::optional<CapturePlan> capture)
      : program_(std::move(program)), device_(device), capture_plan_(std::move(capture)) {
    if (!capture_plan_.has_value()) return;
    auto* const streams = dynamic_cast<MultiStreamDevice*>(device);
    const int count = streams == nullptr ? 1 : streams->streams().size();
    for (int i = 0; i < count; ++i) {
      auto& captured = captured_.emplace_back(std::make_unique<CapturedRuns>());
      captured->device = streams == nullptr ? device : streams->streams().device(i);
    }
  }

  void RunAsync(StepContext& step, const RunArgs& run, DoneCallback done) const override {
    done(Run(step, run));
  }

  absl::Status Run(StepContext& step, const RunArgs& run) const override {
    const FlushedDenormals flushed;
    absl::Status status = CheckArgs(run);
    if (status.ok()) status = CheckGoingOn(step);
    Device* const device = StreamDevice(step, device_);
    bool is_done = !status.ok();
    if (const auto captured = is_done ? nullptr : FindCaptured(step, device, run)) {
      if (num_results() > 0) {
        run.results->resize(std::max<size_t>(run.results->size(), num_results()));
      }
      const absl::StatusOr<CapturedRun::Outcome> outcome =
          captured->Run(step, Args(run), run.results);
      status = outcome.status();
      is_done = !outcome.ok() || *outcome == CapturedRun::Outcome::kDone;
      if (outcome.ok() && *outcome == CapturedRun::Outcome::kOutdated) {
        Forget(device, captured.get());
      }
    }
    if (!is_done) {
      std::unique_ptr<Slots> slots = TakeSlots();
      if (program_.num_places < kMinPlaces) {
        status = RunIn(step, device, run, nullptr, slots->values.get());
      } else {
        status = RunByPlan(step, device, run, slots.get());
      }
      pool_.Give(std::move(slots));
    }
    if (!status.ok()) FailStep(step, status);
    return status;
  }

  bool may_wait() const override { return false; }
  int num_args() const override { return program_.num_args; }
  int num_results() const override { return program_.num_results; }

 private:
  // Between runs, all slots but those of constants are empty.
  struct Slots {
    std::unique_ptr<Value[]> values;
    std::unique_ptr<PlannedMemory> memory;  // for arguments of the last run's shapes
  };
  // On one stream of the device: captured work belongs to the stream that it is enqueued on.
  struct CapturedRuns {
    Device* device = nullptr;
    ShapeCache<CapturedRun> by_shape;
    std::atomic<int> num_outdated{0};
  };
  // A program whose variables keep moving is not captured any more.
  static constexpr int kMaxOutdated = 16;
  // A plan is not worth while for programs with fewer outputs.
  static constexpr uint32_t kMinPlaces = 8;

  absl::Status CheckArgs(const RunArgs& run) const {
    const size_t given = run.consumed_args.empty() ? run.args.size() : run.consumed_args.size();
    if (given >= static_cast<size_t>(program_.num_args)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the graph takes ", program_.num_args, " arguments, got ", given));
  }

  static absl::Span<const Tensor> Args(const RunArgs& run) {
    return run.consumed_args.empty() ? run.args : run.consumed_args;
  }

  // Returns null if the run goes kernel by kernel.
  std::shared_ptr<CapturedRun> FindCaptured(StepContext& step, Device* device,
                                            const RunArgs& run) const {
    // Statistics are of kernels.
    if (!capture_plan_.has_value() || run.stats != nullptr) return nullptr;
    const absl::Span<const Tensor> args = Args(run).first(program_.num_args);
    CapturedRuns& captured = CapturedOn(device);
    if (captured.num_outdated >= kMaxOutdated) return nullptr;
    ShapeCache<CapturedRun>::Choice choice = captured.by_shape.Choose(args);
    if (choice.make) {
      choice.found = CapturedRun::Make(program_, *capture_plan_, *device, step, args);
      if (choice.found != nullptr) captured.by_shape.Add(choice.found);
    }
    const bool is_possible = choice.found != nullptr && choice.found->is_possible();
    return is_possible ? std::move(choice.found) : nullptr;
  }

  CapturedRuns& CapturedOn(Device* device) const {
    const auto is_of_device = [device](const auto& runs) { return runs->device == device; };
    return **std::find_if(captured_.begin(), captured_.end(), is_of_device);
  }

  void Forget(Device* device, const CapturedRun* captured) const {
    CapturedRuns& runs = CapturedOn(device);
    runs.by_shape.Remove(captured);
    ++runs.num_outdated;
  }

  std::unique_ptr<Slots> TakeSlots() const {
    if (std::unique_ptr<Slots> slots = pool_.Take()) return slots;
    auto slots = std::make_unique<Slots>();
    slots->values = std::make_unique<Value[]>(program_.num_slots);
    for (const StraightProgram::Constant& constant : program_.constants) {
      slots->values[constant.slot].tensor = constant.value;
    }
    return slots;
  }

  absl::Status RunByPlan(StepContext& step, Device* device, const RunArgs& run,
                         Slots* slots) const {
    const absl::Span<const Tensor> args = Args(run);
    if (slots->memory == nullptr || !slots->memory->plan().Fits(args)) {
      const ShapeCache<const MemoryPlan>::Choice choice = plans_.Choose(args);
      if (choice.make) return RunRecorded(step, device, run, args, slots->values.get());
      slots->memory = choice.found == nullptr
                          ? nullptr
                          : std::make_unique<PlannedMemory>(choice.found, IdleMemory());
    }
    PlannedMemory* const memory = slots->memory.get();
    // If there is no memory for one large block, there may be some for many small ones.
    if (memory == nullptr || memory->plan().size() == 0 ||
        !memory->Begin(AllocatorOf(device)).ok()) {
      return RunIn(step, device, run, nullptr, slots->values.get());
    }
    const absl::Status status = RunIn(step, device, run, memory, slots->values.get());
    memory->End();
    return status;
  }

  absl::Status RunRecorded(StepContext& step, Device* device, const RunArgs& run,
                           absl::Span<const Tensor> args, Value* values) const {
    std::vector<Shape> shapes;
    for (const Tensor& arg : args) shapes.push_back(arg.shape());
    const absl::Time start = absl::Now();
    MemoryRecorder recorder(program_.num_places, AllocatorOf(device));
    RETURN_IF_ERROR(RunIn(step, device, run, &recorder, values));
    auto plan = std::make_shared<const MemoryPlan>(std::move(shapes), recorder.Uses());
    // The next run takes one block, so the blocks of this run will not be reused.
    if (plan->size() > 0) ReleaseBlocksFreedSince(start);
    plans_.Add(std::move(plan));
    return absl::OkStatus();
  }

  // Leaves all slots empty. Outputs come from `memory`, or from the device's allocator if it is
  // null.
  absl::Status RunIn(StepContext& step, Device* device, const RunArgs& run, OutputMemory* memory,
                     Value* values) const {
    PlaceArgs(run, values);
    absl::Status status = run.stats == nullptr ? RunNodes<false>(step, device, run, memory, values)
                                               : RunNodes<true>(step, device, run, memory, values);
    if (status.ok()) status = HandOutResults(run, values);
    if (!status.ok()) ClearAll(values);
    return status;
  }

  void PlaceArgs(const RunArgs& run, Value* values) const {
    for (const StraightProgram::Arg& arg : program_.args) {
      values[arg.slot].tensor =
          run.consumed_args.empty() ? run.args[arg.index] : std::move(run.consumed_args[arg.index]);
    }
  }

  template <bool kWithStats>
  absl::Status RunNodes(StepContext& step, Device* device, const RunArgs& run, OutputMemory* memory,
                        Value* values) const {
    KernelContext context(step, device);
    context.set_output_memory(memory);
    const bool has_device_memory = memory_kind() == MemoryKind::kDevice;
    const StraightProgram::Node* const end = program_.nodes.data() + program_.nodes.size();
    for (const StraightProgram::Node* node = program_.nodes.data(); node != end; ++node) {
      if (node->is_expensive) {
        if (absl::Status status = CheckGoingOn(step); !status.ok()) [[unlikely]]
          return status;
      }
      if (node->num_refs > 0) [[unlikely]] {
        absl::Status status = PrepareRefs(*node, values);
        if (!status.ok()) return AtNode(label(node).name, status);
      }
      Value* const outputs = values + node->first_output;
      context.Bind(values, {program_.inputs.data() + node->first_input, node->num_inputs}, outputs,
                   {node->output_types, node->num_outputs}, node->first_place, node->output_kinds);
      [[maybe_unused]] const int64_t start = kWithStats ? StepStatsCollector::Now() : 0;
      absl::Status status =
          has_device_memory ? ComputeWithLabel(*node, context) : CallKernel(*node->kernel, context);
      if (!status.ok()) [[unlikely]]
        return AtNode(label(node).name, status);
      if constexpr (kWithStats) {
        run.stats->Record(device_ == nullptr ? "" : device_->name().ToString(), label(node).name,
                          label(node).op, start, start, StepStatsCollector::Now(),
                          {outputs, node->num_outputs});
      }
      for (int i = 0; i < node->num_outputs; ++i) {
        if (!HasValue(outputs[i])) [[unlikely]] {
          absl::Status unset = CheckUnset(*node, i);
          if (!unset.ok()) return unset;
        }
      }
      const uint32_t* const releases = program_.releases.data() + node->first_release;
      for (int i = 0; i < node->num_releases; ++i) Clear(values[releases[i]]);
      if (node->num_refs > 0) [[unlikely]]
        DropRefReads(*node, values);
    }
    return absl::OkStatus();
  }

  // Runs a kernel whose allocations of device memory are held in the name of its node.
  absl::Status ComputeWithLabel(const StraightProgram::Node& node, KernelContext& context) const {
    const AllocationLabel allocating(label(&node).name);
    return CallKernel(*node.kernel, context);
  }

  absl::Status PrepareRefs(const StraightProgram::Node& node, Value* values) const {
    for (int i = 0; i < node.num_refs; ++i) {
      const StraightProgram::RefInput& ref = program_.refs[node.first_ref + i];
      absl::Status status = PrepareRefInput(values[ref.slot], ref.read, ref.may_be_uninitialized);
      if (!status.ok()) return Annotate(status, absl::StrCat("input ", ref.input, ": "));
    }
    return absl::OkStatus();
  }

  // Drops the shares in variables that reads took, because with them the next write would copy.
  void DropRefReads(const StraightProgram::Node& node, Value* values) const {
    for (int i = 0; i < node.num_refs; ++i) {
      const StraightProgram::RefInput& ref = program_.refs[node.first_ref + i];
      if (ref.read) values[ref.slot].tensor = Tensor();
    }
  }

  // An output without a value is an error unless nobody reads it.
  absl::Status CheckUnset(const StraightProgram::Node& node, int output) const {
    const uint32_t slot = node.first_output + output;
    for (int i = 0; i < node.num_releases; ++i) {
      if (program_.releases[node.first_release + i] == slot) return absl::OkStatus();
    }
    return AtNode(label(&node).name,
                  absl::InternalError(absl::StrCat("the kernel of op ", label(&node).op,
                                                   " gave no value for output ", output)));
  }

  absl::Status HandOutResults(const RunArgs& run, Value* values) const {
    if (program_.results.empty()) return absl::OkStatus();
    std::vector<Tensor>& results = *run.results;
    if (results.size() < static_cast<size_t>(program_.num_results)) {
      results.resize(program_.num_results);
    }
    for (const StraightProgram::Result& result : program_.results) {
      Value& value = values[result.slot];
      if (result.read_ref) {
        absl::Status status = PrepareRefInput(value, /*read=*/true, false);
        if (!status.ok()) return AtNode(result.node_name, status);
        results[result.index] = std::move(value.tensor);
        if (result.last_use) Clear(value);
      } else if (result.last_use) {
        results[result.index] = std::move(value.tensor);
      } else {
        results[result.index] = value.tensor;
      }
    }
    return absl::OkStatus();
  }

  // Empties all slots after an error, which may leave values in any of them.
  void ClearAll(Value* values) const {
    for (uint32_t i = static_cast<uint32_t>(program_.constants.size()); i < program_.num_slots;
         ++i) {
      Clear(values[i]);
    }
  }

  // The kernel's zeroing of fresh pages would take a tenth of a training step. Memory of a device
  // comes from an allocator that keeps it anyway.
  PlannedMemory::Idle IdleMemory() const {
    const bool is_kept = program_.writes_state && memory_kind() == MemoryKind::kHost;
    return is_kept ? PlannedMemory::Idle::kKeep : PlannedMemory::Idle::kGiveBack;
  }

  Allocator* AllocatorOf(Device* device) const {
    return device == nullptr ? HeapAllocator() : device->allocator(memory_kind());
  }
  // The kind of memory that is planned. On an accelerator the few outputs in host memory come from
  // the heap.
  MemoryKind memory_kind() const {
    return device_ == nullptr ? MemoryKind::kHost : device_->memory_kind();
  }

  const NodeLabel& label(const StraightProgram::Node* node) const {
    return program_.labels[node - program_.nodes.data()];
  }

  const StraightProgram program_;
  Device* const device_;
  mutable ObjectPool<Slots> pool_;
  mutable ShapeCache<const MemoryPlan> plans_;
  // Without a value: the device captures no work, or the program's work cannot be captured.
  const std::optional<CapturePlan> capture_plan_;
  std::vector<std::unique_ptr<CapturedRuns>> captured_;  // one a stream of the device
};

}  // namespace

std::unique_ptr<Executor> MakeStraightExecutor(StraightProgram program, Device* device,
                                               std::optional<CapturePlan> capture) {
  return std::make_unique<StraightExecutor>(std::move(program), device, std::move(capture));
}

}  // namespace tessera
