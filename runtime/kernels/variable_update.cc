#include "runtime/kernels/variable_update.h"

#include "runtime/kernels/primitives/numeric_type.h"

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

absl::Status AddInPlace(KernelContext& ctx, const Tensor& delta, bool subtract, Tensor* value) {
  if (delta.dtype() != value->dtype() || !(delta.shape() == value->shape())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a variable of ", DTypeName(value->dtype()), value->shape().ToString(),
                     " cannot be changed by ", DTypeName(delta.dtype()), delta.shape().ToString()));
  }
  return VisitNumericType(value->dtype(), [&]<typename T>() {
    T* const to = value->data<T>();
    const T* const by = delta.data<T>();
    ctx.ParallelFor(value->num_elements(), 0.5, [&](int64_t begin, int64_t end) {
      if (subtract) {
        for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(to[i] - by[i]);
      } else {
        for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(to[i] + by[i]);
      }
    });
    return absl::OkStatus();
  });
}

absl::Status UninitializedError(const Variable& variable) {
  return absl::FailedPreconditionError(
      absl::StrCat("the ", variable.DebugString(),
                   " has no value yet: run its initializer or restore it from a checkpoint"));
}

}  // namespace tessera
