#include "runtime/exec/captured_run.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/device/memory/allocation_label.h"
#include "runtime/exec/run_state.h"

namespace tessera {
namespace {

std::vector<Shape> ShapesOf(absl::Span<const Tensor> args) {
  std::vector<Shape> shapes;
  for (const Tensor& arg : args) shapes.push_back(arg.shape());
  return shapes;
}

}  // namespace

CapturedRun::CapturedRun(Device& device, absl::Span<const Tensor> args)
    : device_(device), shapes_(ShapesOf(args)) {}

std::shared_ptr<CapturedRun> CapturedRun::Make(const StraightProgram& program,
                                               const CapturePlan& plan, Device& device,
                                               StepContext& step, absl::Span<const Tensor> args) {
  std::shared_ptr<CapturedRun> run(new CapturedRun(device, args));
  run->status_ = run->Capture(program, plan, step, args);
  if (run->status_.ok()) return run;
  // The failed one keeps no memory.
  std::shared_ptr<CapturedRun> failed(new CapturedRun(device, args));
  failed->status_ = absl::FailedPreconditionError(
      absl::StrCat("the work cannot be captured: ", run->status_.message()));
  return failed;
}

absl::Status CapturedRun::Capture(const StraightProgram& program, const CapturePlan& plan,
                                  StepContext& step, absl::Span<const Tensor> args) {
  ASSIGN_OR_RETURN(const std::unique_ptr<WorkCapture> capture,
                   dynamic_cast<CapturingDevice&>(device_).BeginCapture());
  capture_device_ = std::make_unique<CaptureDevice>(device_, capture->stream());
  const absl::Status status = RunNodes(program, plan, step, args);
  absl::StatusOr<std::unique_ptr<CapturedWork>> work = capture->End();
  RETURN_IF_ERROR(status);
  ASSIGN_OR_RETURN(work_, std::move(work));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> CapturedRun::Upload(const Tensor& value) {
  // Not the capture's memory: the bytes stay, and come by the stream of the device.
  ASSIGN_OR_RETURN(Tensor on_device, Tensor::Allocate(value.dtype(), value.shape(),
                                                      device_.allocator(MemoryKind::kDevice)));
  if (value.num_elements() > 0) device_.stream()->Copy(value, &on_device);
  return on_device;
}

absl::Status CapturedRun::RunNodes(const StraightProgram& program, const CapturePlan& plan,
                                   StepContext& step, absl::Span<const Tensor> args) {
  std::vector<Value> values(program.num_slots);
  for (const StraightProgram::Constant& constant : program.constants) {
    values[constant.slot].tensor = constant.value;
  }
  for (const StraightProgram::Arg& arg : program.args) values[arg.slot].tensor = args[arg.index];
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
      outputs_.push_back({download->results, values[input].tensor});
      ++download;
    } else {
      context.Bind(values.data(), {program.inputs.data() + node.first_input, node.num_inputs},
                   &values[node.first_output], {node.output_types, node.num_outputs},
                   node.first_place, node.output_kinds);
      const AllocationLabel allocating(program.labels[i].name);
      RETURN_IF_ERROR(AtNode(program.labels[i].name, node.kernel->Compute(context)));
    }
    for (int r = 0; r < node.num_releases; ++r) {
      Clear(values[program.releases[node.first_release + r]]);
    }
  }
  for (const StraightProgram::Result& result : program.results) {
    const Tensor& value = values[result.slot].tensor;
    // Empty where a download gives the result.
    if (value.has_value()) fixed_results_.push_back({result.index, value});
  }
  return absl::OkStatus();
}

absl::Status CapturedRun::EnqueueAll(absl::Span<const Tensor> args, std::vector<Tensor>* outputs) {
  absl::MutexLock lock(&mu_);
  Stream& stream = *device_.stream();
  for (Input& input : inputs_) {
    if (input.on_device.num_elements() > 0) stream.Copy(args[input.arg], &input.on_device);
  }
  RETURN_IF_ERROR(work_->Enqueue());
  for (const Output& output : outputs_) {
    ASSIGN_OR_RETURN(Tensor on_host,
                     Tensor::Allocate(output.on_device.dtype(), output.on_device.shape(),
                                      device_.allocator(MemoryKind::kPinned)));
    if (on_host.num_elements() > 0) stream.Copy(output.on_device, &on_host);
    outputs->push_back(std::move(on_host));
  }
  return absl::OkStatus();
}

absl::Status CapturedRun::Run(absl::Span<const Tensor> args, std::vector<Tensor>* results) {
  if (!status_.ok()) return status_;
  std::vector<Tensor> outputs;
  const absl::Status enqueued = EnqueueAll(args, &outputs);
  // Also after an error: copies may be under way.
  RETURN_IF_ERROR(device_.stream()->Synchronize());
  RETURN_IF_ERROR(enqueued);
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const int result : outputs_[i].results) (*results)[result] = outputs[i];
  }
  for (const FixedResult& fixed : fixed_results_) (*results)[fixed.result] = fixed.value;
  return absl::OkStatus();
}

}  // namespace tessera
