#include "runtime/exec/captured_run.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/device/memory/allocation_label.h"
#include "runtime/exec/run_state.h"
#include "runtime/framework/kernel_call.h"

namespace tessera {
namespace {

std::vector<Shape> ShapesOf(absl::Span<const Tensor> args) {
  std::vector<Shape> shapes;
  for (const Tensor& arg : args) shapes.push_back(arg.shape());
  return shapes;
}

absl::StatusOr<IntrusivePtr<Variable>> VariableOf(const Tensor& handle, const StepContext& step) {
  if (handle.num_elements() != 1) return absl::InvalidArgumentError("the argument is no handle");
  return LookupResource<Variable>(*step.resources, handle.scalar<ResourceHandle>());
}

}  // namespace

CapturedRun::CapturedRun(Device& device, const StepContext& step, absl::Span<const Tensor> args)
    : device_(device), resources_(step.resources), shapes_(ShapesOf(args)) {}

std::shared_ptr<CapturedRun> CapturedRun::Make(const StraightProgram& program,
                                               const CapturePlan& plan, Device& device,
                                               StepContext& step, absl::Span<const Tensor> args) {
  std::shared_ptr<CapturedRun> run(new CapturedRun(device, step, args));
  run->status_ = run->Capture(program, plan, step, args);
  if (run->status_.ok()) return run;
  if (absl::IsUnavailable(run->status_)) return nullptr;
  // The failed one keeps no memory.
  std::shared_ptr<CapturedRun> failed(new CapturedRun(device, step, args));
  failed->status_ = absl::FailedPreconditionError(
      absl::StrCat("the work cannot be captured: ", run->status_.message()));
  return failed;
}

absl::Status CapturedRun::Capture(const StraightProgram& program, const CapturePlan& plan,
                                  StepContext& step, absl::Span<const Tensor> args) {
  waits_ = plan.boundary.results_on_host;
  RETURN_IF_ERROR(FindVariables(program, plan, step, args));
  RETURN_IF_ERROR(state_.Begin(device_));
  // Whatever happens from here on, End() follows.
  absl::Status status;
  std::unique_ptr<WorkCapture> capture;
  if (auto begun = dynamic_cast<CapturingDevice&>(device_).BeginCapture(); begun.ok()) {
    capture = *std::move(begun);
    capture_device_ = std::make_unique<CaptureDevice>(device_, capture->stream());
    status = RunNodes(program, plan, step, args);
  } else {
    status = begun.status();
  }
  KernelContext context(step, capture_device_ != nullptr ? capture_device_.get() : &device_);
  if (status.ok()) {
    status = state_.End(context);
  } else {
    state_.Abandon();
  }
  if (capture == nullptr) return status;
  absl::StatusOr<std::unique_ptr<CapturedWork>> work = capture->End();
  RETURN_IF_ERROR(status);
  ASSIGN_OR_RETURN(work_, std::move(work));
  return CheckCopies(program);
}

absl::Status CapturedRun::FindVariables(const StraightProgram& program, const CapturePlan& plan,
                                        StepContext& step, absl::Span<const Tensor> args) {
  for (const CapturePlan::Handle& handle : plan.handles) {
    if (handle.arg >= 0) {
      RETURN_IF_ERROR(state_.Add(args[handle.arg], *step.resources, handle.is_written));
      handle_args_.emplace_back(handle.arg, *VariableOf(args[handle.arg], step));
      continue;
    }
    // The node has no inputs, and may run once more.
    const StraightProgram::Node& node = program.nodes[handle.node];
    std::vector<Value> outputs(node.num_outputs);
    KernelContext context(step, &device_);
    context.Bind(nullptr, {}, outputs.data(), {node.output_types, node.num_outputs},
                 node.first_place, node.output_kinds);
    RETURN_IF_ERROR(AtNode(program.labels[handle.node].name, CallKernel(*node.kernel, context)));
    RETURN_IF_ERROR(state_.Add(outputs[handle.output].tensor, *step.resources, handle.is_written));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> CapturedRun::Upload(const Tensor& value) {
  // Not the capture's memory: the bytes stay, and come by the stream of the device.
  ASSIGN_OR_RETURN(Tensor on_device, Tensor::Allocate(value.dtype(), value.shape(),
                                                      device_.allocator(MemoryKind::kDevice)));
  if (value.num_elements() > 0) device_.stream()->Copy(value, &on_device);
  return on_device;
}

absl::Status CapturedRun::AddOutput(KernelContext& context, const Tensor& value,
                                    std::vector<int> results, MemoryKind kind) {
  ASSIGN_OR_RETURN(Tensor on_device, state_.Snapshot(context, value));
  outputs_.push_back({std::move(results), std::move(on_device), kind});
  return absl::OkStatus();
}

absl::Status CapturedRun::RunNodes(const StraightProgram& program, const CapturePlan& plan,
                                   StepContext& step, absl::Span<const Tensor> args) {
  std::vector<Value> values(program.num_slots);
  for (const StraightProgram::Constant& constant : program.constants) {
    values[constant.slot].tensor = constant.value;
  }
  for (const StraightProgram::Arg& arg : program.args) {
    Tensor& value = values[arg.slot].tensor;
    value = args[arg.index];
    if (plan.boundary.args_on_host || !IsTriviallyCopyable(value.dtype())) continue;
    ASSIGN_OR_RETURN(value, Upload(value));
    inputs_.push_back({arg.index, value});
  }
  KernelContext context(step, capture_device_.get());
  auto upload = plan.uploads.begin();
  auto download = plan.downloads.begin();
  for (uint32_t i = 0; i < program.nodes.size(); ++i) {
    const StraightProgram::Node& node = program.nodes[i];
    const uint32_t input = node.num_inputs == 0 ? 0 : program.inputs[node.first_input].index;
    if (upload != plan.uploads.end() && upload->node == i) {
      ASSIGN_OR_RETURN(Tensor on_device, Upload(values[input].tensor));
      values[node.first_output].tensor = on_device;
      if (upload->arg >= 0) {
        inputs_.push_back({upload->arg, std::move(on_device)});
      } else {
        uploads_.push_back(std::move(on_device));
      }
      ++upload;
    } else if (download != plan.downloads.end() && download->node == i) {
      RETURN_IF_ERROR(
          AddOutput(context, values[input].tensor, download->results, MemoryKind::kPinned));
      ++download;
    } else {
      context.Bind(values.data(), {program.inputs.data() + node.first_input, node.num_inputs},
                   &values[node.first_output], {node.output_types, node.num_outputs},
                   node.first_place, node.output_kinds);
      const AllocationLabel allocating(program.labels[i].name);
      RETURN_IF_ERROR(AtNode(program.labels[i].name, CallKernel(*node.kernel, context)));
    }
    for (int r = 0; r < node.num_releases; ++r) {
      Clear(values[program.releases[node.first_release + r]]);
    }
  }
  for (const StraightProgram::Result& result : program.results) {
    const Tensor& value = values[result.slot].tensor;
    // Empty where a download gives the result.
    if (!value.has_value()) continue;
    if (!plan.boundary.results_on_host && IsTriviallyCopyable(value.dtype())) {
      RETURN_IF_ERROR(AddOutput(context, value, {result.index}, MemoryKind::kDevice));
    } else {
      fixed_results_.push_back({result.index, value});
    }
  }
  return absl::OkStatus();
}

absl::Status CapturedRun::CheckCopies(const StraightProgram& program) const {
  // About what a GPU copies while it launches a kernel.
  constexpr size_t kBytesOfNode = size_t{4} << 20;
  if (waits_) return absl::OkStatus();  // what comes from the host and goes there is copied anyway
  size_t copied = 0;
  for (const Input& input : inputs_) copied += input.on_device.size_bytes();
  for (const Output& output : outputs_) copied += output.on_device.size_bytes();
  if (copied <= program.nodes.size() * kBytesOfNode) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(copied, " bytes of arguments and results would be copied"));
}

bool CapturedRun::HasVariablesOf(const StepContext& step, absl::Span<const Tensor> args) const {
  if (state_.empty()) return true;
  return step.resources == resources_ &&
         std::all_of(handle_args_.begin(), handle_args_.end(), [&](const auto& handle) {
           const auto variable = VariableOf(args[handle.first], step);
           return variable.ok() && *variable == handle.second;
         });
}

absl::Status CapturedRun::EnqueueAll(absl::Span<const Tensor> args, std::vector<Tensor>* outputs) {
  Stream& stream = *device_.stream();
  RETURN_IF_ERROR(work_->AwaitCopiesToHost());
  for (Input& input : inputs_) {
    if (input.on_device.num_elements() > 0) stream.Copy(args[input.arg], &input.on_device);
  }
  RETURN_IF_ERROR(capture_device_->UploadRunValues(stream));
  RETURN_IF_ERROR(work_->Enqueue());
  for (const Output& output : outputs_) {
    ASSIGN_OR_RETURN(Tensor result,
                     Tensor::Allocate(output.on_device.dtype(), output.on_device.shape(),
                                      device_.allocator(output.kind)));
    if (result.num_elements() > 0) stream.Copy(output.on_device, &result);
    outputs->push_back(std::move(result));
  }
  return absl::OkStatus();
}

absl::StatusOr<CapturedRun::Outcome> CapturedRun::Run(const StepContext& step,
                                                      absl::Span<const Tensor> args,
                                                      std::vector<Tensor>* results) {
  if (!status_.ok()) return status_;
  if (!HasVariablesOf(step, args)) return Outcome::kOutdated;
  std::vector<Tensor> outputs;
  absl::StatusOr<CapturedState::Change> change;
  {
    absl::MutexLock lock(&mu_);
    change = state_.IfUnchanged(
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return EnqueueAll(args, &outputs); });
  }
  if (change.ok() && *change != CapturedState::Change::kNone) {
    return *change == CapturedState::Change::kShared ? Outcome::kNotNow : Outcome::kOutdated;
  }
  // Also after an error: copies may be under way.
  if (waits_ || !change.ok()) RETURN_IF_ERROR(device_.stream()->Synchronize());
  RETURN_IF_ERROR(change.status());
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const int result : outputs_[i].results) (*results)[result] = outputs[i];
  }
  for (const FixedResult& fixed : fixed_results_) (*results)[fixed.result] = fixed.value;
  return Outcome::kDone;
}

}  // namespace tessera
