#include "runtime/device/testing/deferred_kernel.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "runtime/device/testing/alias_view.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {

// The CPU's kernel of the node.
class DeferredKernel::HostKernel {
 public:
  explicit HostKernel(const KernelBuild& build)
      : node_name_(build.node_name()), output_types_(build.output_types()) {
    const KernelBuild host(build.op(), build.node_name(), build.attrs(), build.input_types(),
                           build.output_types(), /*device=*/nullptr, /*functions=*/nullptr);
    absl::StatusOr<std::unique_ptr<OpKernel>> kernel = CreateKernel(host);
    if (!kernel.ok()) {
      build.Fail(kernel.status());
      return;
    }
    kernel_ = *std::move(kernel);
    if (absl::Status status = kernel_->Prepare({}); !status.ok()) build.Fail(status);
  }

  // The outputs, in memory of the heap or of the inputs.
  absl::StatusOr<std::vector<Value>> Run(absl::Span<Value> inputs) const {
    ResourceManager resources;
    StepContext step;
    step.resources = step.step_resources = &resources;
    std::vector<KernelContext::InputSlot> slots;
    // A view of the accelerator's memory is another one in each run, also if it lies where an
    // earlier one lay: no kernel may keep what it made of an input, such as packed weights.
    for (uint32_t i = 0; i < inputs.size(); ++i) slots.push_back({i, /*last_use=*/1});
    std::vector<Value> outputs(output_types_.size());
    KernelContext ctx(step, /*device=*/nullptr);
    ctx.Bind(inputs.data(), slots, outputs.data(), output_types_);
    if (absl::Status status = kernel_->Compute(ctx); !status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("{{node ", node_name_, "}} ", status.message()));
    }
    return outputs;
  }

  absl::Status Error(absl::string_view text) const {
    return absl::InternalError(absl::StrCat("{{node ", node_name_, "}} ", text));
  }

 private:
  const std::string node_name_;
  const std::vector<DType> output_types_;
  std::unique_ptr<OpKernel> kernel_;
};

struct DeferredKernel::VariableInput {
  IntrusivePtr<Variable> variable;
  int input = 0;
  bool is_written = false;
  Tensor* value = nullptr;  // while the variable's lock is held
};

namespace {

bool IsVariable(DType input_type) { return IsRef(input_type) || input_type == DType::kResource; }

// Runs `body` with the locks of the variables from `next` on held.
template <typename VariableInput>
absl::Status WithLocks(absl::Span<VariableInput> variables,
                       absl::FunctionRef<absl::Status()> body) {
  if (variables.empty()) return body();
  return variables[0].variable->Update([&](Tensor& value) {
    variables[0].value = &value;
    return WithLocks(variables.subspan(1), body);
  });
}

}  // namespace

// One execution, enqueued.
struct DeferredKernel::Launch {
  struct Output {
    int index;
    Tensor memory;
  };
  struct Update {
    IntrusivePtr<Variable> variable;  // what the CPU's kernel works on in place of the node's
    Tensor old_value, new_value;
  };
  std::shared_ptr<HostKernel> host;
  std::vector<Value> inputs;
  std::vector<Output> outputs;
  std::vector<Update> updates;

  absl::Status Store(const Tensor& from, Tensor& to) const {
    if (from.dtype() != to.dtype() || !(from.shape() == to.shape())) {
      return host->Error(absl::StrCat("gave ", DTypeName(from.dtype()), from.shape().ToString(),
                                      " where ", DTypeName(to.dtype()), to.shape().ToString(),
                                      " was foreseen"));
    }
    if (from.size_bytes() > 0) std::memcpy(to.mutable_raw(), from.raw(), from.size_bytes());
    return absl::OkStatus();
  }

  absl::Status Run() {
    // The kernel works in the memory of a variable that it writes, and the old value must stay.
    // Captured work runs again, on what the old value's memory holds then.
    for (const Update& update : updates) {
      ASSIGN_OR_RETURN(Tensor copy, update.old_value.DeepCopy());
      update.variable->Assign(std::move(copy));
    }
    std::vector<Value> values = inputs;
    ASSIGN_OR_RETURN(const std::vector<Value> results, host->Run(absl::MakeSpan(values)));
    for (Output& output : outputs) {
      RETURN_IF_ERROR(Store(results[output.index].tensor, output.memory));
    }
    for (Update& update : updates) {
      RETURN_IF_ERROR(Store(update.variable->Read(), update.new_value));
    }
    return absl::OkStatus();
  }
};

DeferredKernel::DeferredKernel(const KernelBuild& build, ShapeFn shape_fn)
    : op_(build.op()),
      attrs_(build.attrs()),
      input_types_(build.input_types()),
      shape_fn_(shape_fn),
      host_(std::make_shared<HostKernel>(build)) {
  const auto memory_of_node = [&]() -> absl::StatusOr<KernelMemory> {
    ASSIGN_OR_RETURN(const KernelDef* def,
                     KernelRegistry::Global().Find(op_.name, kTestAccelerator, attrs_));
    return MemoryOf(*def, op_, attrs_, input_types_, build.output_types(), *build.device());
  };
  absl::StatusOr<KernelMemory> memory = memory_of_node();
  if (memory.ok()) {
    memory_ = *std::move(memory);
  } else {
    build.Fail(memory.status());
  }
}

absl::Status DeferredKernel::Compute(KernelContext& ctx) {
  ASSIGN_OR_RETURN(std::vector<VariableInput> variables, Variables(ctx));
  return WithLocks(absl::MakeSpan(variables),
                   [&] { return Enqueue(ctx, absl::MakeSpan(variables)); });
}

absl::StatusOr<std::vector<DeferredKernel::VariableInput>> DeferredKernel::Variables(
    const KernelContext& ctx) const {
  std::vector<VariableInput> variables;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!IsVariable(input_types_[i])) continue;
    ASSIGN_OR_RETURN(IntrusivePtr<Variable> variable, tessera::VariableInput(ctx, i));
    VariableInput& added = variables.emplace_back();
    added.variable = std::move(variable);
    added.input = i;
    added.is_written = InputUse(op_, attrs_, i) != ArgUse::kRead;
  }
  std::sort(variables.begin(), variables.end(),
            [](const auto& a, const auto& b) { return a.variable.get() < b.variable.get(); });
  for (size_t i = 1; i < variables.size(); ++i) {
    if (variables[i].variable == variables[i - 1].variable) {
      return absl::InvalidArgumentError("two inputs are the same variable");
    }
  }
  return variables;
}

absl::Status DeferredKernel::Enqueue(KernelContext& ctx,
                                     absl::Span<VariableInput> variables) const {
  LateStream& stream = StreamOf(ctx);
  auto launch = std::make_shared<Launch>();
  launch->host = host_;
  RETURN_IF_ERROR(SetInputs(ctx, variables, launch.get()));
  RETURN_IF_ERROR(SetOutputs(ctx, variables, launch.get()));
  std::vector<Tensor> new_values;
  for (const VariableInput& variable : variables) {
    if (!variable.is_written) continue;
    const Tensor& old = *variable.value;
    ASSIGN_OR_RETURN(Tensor value, ctx.AllocateState(old.dtype(), old.shape()));
    launch->updates[new_values.size()].new_value = AliasView(stream, value);
    new_values.push_back(std::move(value));
  }
  stream.Enqueue([launch] { return launch->Run(); });
  // Here the old values are released: their last use is enqueued.
  auto next = new_values.begin();
  for (const VariableInput& variable : variables) {
    if (variable.is_written) *variable.value = std::move(*next++);
  }
  return absl::OkStatus();
}

absl::Status DeferredKernel::SetInputs(const KernelContext& ctx,
                                       absl::Span<const VariableInput> variables,
                                       Launch* launch) const {
  const LateStream& stream = StreamOf(ctx);
  launch->inputs.resize(ctx.num_inputs());
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (IsVariable(input_types_[i])) continue;
    const Tensor& input = ctx.input(i);
    RETURN_IF_ERROR(CheckMemory(input, memory_.inputs[i], absl::StrCat("input ", i)));
    launch->inputs[i].tensor =
        IsHostAccessible(input.memory_kind()) ? input : AliasView(stream, input);
  }
  for (const VariableInput& variable : variables) {
    const Tensor& value = *variable.value;
    if (!value.has_value()) return UninitializedError(*variable.variable);
    RETURN_IF_ERROR(CheckMemory(value, MemoryKind::kDevice, variable.variable->DebugString()));
    auto scratch = MakeRefCounted<Variable>(value.dtype(), variable.variable->declared_shape());
    scratch->Assign(AliasView(stream, value));
    Value& input = launch->inputs[variable.input];
    if (IsRef(input_types_[variable.input])) {
      input.ref = scratch;
    } else {
      ResourceHandle handle;
      handle.type_name = std::string(Variable::kTypeName);
      handle.resource = scratch;
      input.tensor = Tensor::Scalar(std::move(handle));
    }
    if (!variable.is_written) continue;
    Launch::Update& update = launch->updates.emplace_back();
    update.old_value = scratch->Read();
    update.variable = std::move(scratch);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PartialShape>> DeferredKernel::OutputShapes(
    const KernelContext& ctx, absl::Span<const VariableInput> variables) const {
  std::vector<PartialShape> shapes;
  std::vector<const Tensor*> values;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    shapes.emplace_back(ctx.input(i).shape());
    const bool is_known = memory_.inputs[i] == MemoryKind::kHost && ctx.input(i).has_value();
    values.push_back(is_known ? &ctx.input(i) : nullptr);
  }
  for (const VariableInput& variable : variables) {
    shapes[variable.input] = PartialShape(variable.value->shape());
    values[variable.input] = nullptr;
  }
  ShapeContext context(op_, attrs_, std::move(shapes), std::move(values), ctx.num_outputs());
  RETURN_IF_ERROR(shape_fn_(context));
  return context.outputs();
}

absl::Status DeferredKernel::SetOutputs(KernelContext& ctx,
                                        absl::Span<const VariableInput> variables,
                                        Launch* launch) const {
  if (ctx.num_outputs() == 0) return absl::OkStatus();
  if (IsRef(ctx.output_type(0))) {
    ctx.set_ref_output(0, IntrusivePtr<Variable>(ctx.ref_input(0)));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<PartialShape> shapes, OutputShapes(ctx, variables));
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    if (!shapes[i].known_rank() || !shapes[i].IsFullyDefined()) {
      // Shape functions leave open what no valid input has.
      return absl::InvalidArgumentError(absl::StrCat("the shape function of ", op_.name, " gives ",
                                                     shapes[i].ToString(), " for output ", i));
    }
    ASSIGN_OR_RETURN(const Shape shape, shapes[i].AsShape());
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(i, shape));
    launch->outputs.push_back({i, AliasView(StreamOf(ctx), *output)});
  }
  return absl::OkStatus();
}

}  // namespace tessera
