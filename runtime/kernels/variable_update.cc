#include "runtime/kernels/variable_update.h"

namespace tessera {

absl::StatusOr<IntrusivePtr<Variable>> VariableInput(const KernelContext& ctx, int i) {
  if (ctx.has_ref(i)) return IntrusivePtr<Variable>(ctx.ref_input(i));
  return ctx.Resource<Variable>(i);
}

absl::StatusOr<Tensor> ReadVariable(const KernelContext& ctx, int i) {
  ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, i));
  Tensor value = variable->Read();
  if (!value.has_value()) return UninitializedError(*variable);
  return value;
}

absl::Status MakeWritable(KernelContext& ctx, Tensor* tensor) {
  if (tensor->CanWriteInPlace()) return absl::OkStatus();
  ASSIGN_OR_RETURN(*tensor, ctx.CopyOf(*tensor));
  return absl::OkStatus();
}

absl::Status UpdateVariable(KernelContext& ctx, Variable& variable,
                            absl::FunctionRef<absl::Status(Tensor& value)> update) {
  return variable.Update([&](Tensor& value) -> absl::Status {
    if (!value.has_value()) return UninitializedError(variable);
    RETURN_IF_ERROR(MakeWritable(ctx, &value));
    return update(value);
  });
}

absl::Status UninitializedError(const Variable& variable) {
  return absl::FailedPreconditionError(
      absl::StrCat("the ", variable.DebugString(),
                   " has no value yet: run its initializer or restore it from a checkpoint"));
}

}  // namespace tessera
