#include "runtime/kernels/testing/kernel_runner.h"

#include <utility>

#include "runtime/device/cpu/cpu_device.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// Adds what the inputs say of the op's attributes.
void InferAttrs(const OpDef& op, absl::Span<const Tensor> inputs, AttrMap* attrs) {
  size_t next = 0;
  for (size_t a = 0; a < op.inputs.size() && next < inputs.size(); ++a) {
    const ArgDef& arg = op.inputs[a];
    size_t count = 1;
    if (!arg.number_attr.empty()) {
      count = inputs.size() - next - (op.inputs.size() - a - 1);
      attrs->try_emplace(arg.number_attr, static_cast<int64_t>(count));
    }
    if (!arg.type_attr.empty()) attrs->try_emplace(arg.type_attr, inputs[next].dtype());
    next += count;
  }
}

}  // namespace

absl::StatusOr<KernelRunner> KernelRunner::Create(absl::string_view op,
                                                  absl::Span<const Tensor> inputs, AttrMap attrs,
                                                  const Options& options) {
  const OpDef* def = OpRegistry::Global().Find(op);
  if (def == nullptr) return absl::NotFoundError(absl::StrCat("no op '", op, "'"));
  InferAttrs(*def, inputs, &attrs);
  RETURN_IF_ERROR(CompleteAttrs(*def, &attrs));
  ASSIGN_OR_RETURN(std::vector<DType> input_types, InputTypes(*def, attrs));
  KernelRunner runner;
  ASSIGN_OR_RETURN(runner.output_types_, OutputTypes(*def, attrs));
  ASSIGN_OR_RETURN(DeviceName name,
                   DeviceName::Parse("/job:localhost/replica:0/task:0/device:CPU:0"));
  runner.device_ = std::make_unique<CpuDevice>(std::move(name));
  runner.resources_ = std::make_unique<ResourceManager>();
  for (uint32_t i = 0; i < inputs.size(); ++i) runner.slots_.push_back({i, 1});
  KernelBuild::Surroundings surroundings{.constant_inputs = {}, .numerics = options.numerics};
  surroundings.constant_inputs.resize(inputs.size(), nullptr);
  for (const int i : options.constants) {
    surroundings.constant_inputs[i] = &inputs[i];
    runner.slots_[i].last_use = 0;
  }
  const KernelBuild build(*def, op, attrs, std::move(input_types), runner.output_types_,
                          runner.device_.get(), nullptr, std::move(surroundings));
  ASSIGN_OR_RETURN(runner.kernel_, CreateKernel(build));
  RETURN_IF_ERROR(runner.kernel_->Prepare({.device = runner.device_.get()}));
  runner.outputs_.resize(runner.output_types_.size());
  return runner;
}

absl::Status KernelRunner::RunInPlace(absl::Span<Value> inputs, ThreadPool* pool) {
  StepContext step;
  step.resources = resources_.get();
  step.step_resources = resources_.get();
  step.intra_op_pool = pool;
  KernelContext ctx(step, device_.get());
  ctx.Bind(inputs.data(), slots_, outputs_.data(), output_types_);
  return kernel_->Compute(ctx);
}

absl::StatusOr<std::vector<Tensor>> KernelRunner::Run(std::vector<Tensor> inputs,
                                                      ThreadPool* pool) {
  std::vector<Value> values;
  for (Tensor& input : inputs) values.push_back({std::move(input), nullptr});
  RETURN_IF_ERROR(RunInPlace(absl::MakeSpan(values), pool));
  std::vector<Tensor> results;
  for (Value& output : outputs_) results.push_back(std::exchange(output, Value()).tensor);
  return results;
}

absl::StatusOr<Tensor> RunOp(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs,
                             ThreadPool* pool) {
  ASSIGN_OR_RETURN(KernelRunner runner, KernelRunner::Create(op, inputs, std::move(attrs)));
  ASSIGN_OR_RETURN(std::vector<Tensor> results, runner.Run(std::move(inputs), pool));
  if (results.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(op, " has ", results.size(), " outputs"));
  }
  return std::move(results[0]);
}

}  // namespace tessera
