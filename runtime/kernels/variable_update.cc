#include "runtime/kernels/variable_update.h"

#include <algorithm>
#include <numeric>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"

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

namespace {

// Locks the variables order[next], order[next + 1], ..., and runs `update` then.
absl::Status UpdateInOrder(KernelContext& ctx, absl::Span<const IntrusivePtr<Variable>> variables,
                           absl::Span<const size_t> order, absl::Span<Tensor*> values,
                           absl::FunctionRef<absl::Status(absl::Span<Tensor* const>)> update) {
  if (order.empty()) return update(values);
  return UpdateVariable(ctx, *variables[order[0]], [&](Tensor& value) {
    values[order[0]] = &value;
    return UpdateInOrder(ctx, variables, order.subspan(1), values, update);
  });
}

}  // namespace

absl::Status UpdateVariables(KernelContext& ctx, absl::Span<const IntrusivePtr<Variable>> variables,
                             absl::FunctionRef<absl::Status(absl::Span<Tensor* const>)> update) {
  // Everybody locks in the order of addresses, so that nobody waits in a circle.
  absl::InlinedVector<size_t, 4> order(variables.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return variables[a].get() < variables[b].get(); });
  for (size_t i = 1; i < order.size(); ++i) {
    if (variables[order[i]].get() == variables[order[i - 1]].get()) {
      return absl::InvalidArgumentError(
          absl::StrCat("two inputs are the same ", variables[order[i]]->DebugString()));
    }
  }
  absl::InlinedVector<Tensor*, 4> values(variables.size());
  return UpdateInOrder(ctx, variables, order, absl::MakeSpan(values), update);
}

absl::Status CheckVariableType(const Tensor& value, DType expected) {
  if (value.dtype() == expected) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the variable holds ", DTypeName(value.dtype()),
                                                 ", it is taken for ", DTypeName(expected)));
}

absl::Status UninitializedError(const Variable& variable) {
  return absl::FailedPreconditionError(
      absl::StrCat("the ", variable.DebugString(),
                   " has no value yet: run its initializer or restore it from a checkpoint"));
}

}  // namespace tessera
