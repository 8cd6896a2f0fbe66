// The first steps of every kernel that writes into a variable, whether it holds a reference (v1) or
// a handle.
//
//   ASSIGN_OR_RETURN(IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
//   RETURN_IF_ERROR(UpdateVariable(ctx, *variable, [&](Tensor& value) { ... value.flat<T>() ...
//   }));
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The variable at input i: that of a reference edge, or the one a handle names.
// Errors: NOT_FOUND or INVALID_ARGUMENT for a handle that names none.
absl::StatusOr<IntrusivePtr<Variable>> VariableInput(const KernelContext& ctx, int i);

// The value of that variable, shared.
// Errors: as above; FAILED_PRECONDITION if it has none yet.
absl::StatusOr<Tensor> ReadVariable(const KernelContext& ctx, int i);

// Replaces *tensor by a copy unless it may be written in place.
absl::Status MakeWritable(KernelContext& ctx, Tensor* tensor);

// Runs `update` under the variable's lock on its value, which is made writable before: readers keep
// the value they read.
// Errors: FAILED_PRECONDITION if the variable has no value yet; those of `update`.
absl::Status UpdateVariable(KernelContext& ctx, Variable& variable,
                            absl::FunctionRef<absl::Status(Tensor& value)> update);

// The same with several variables at once; values[i] belongs to variables[i]. Errors: those above;
// INVALID_ARGUMENT if a variable stands there twice.
absl::Status UpdateVariables(KernelContext& ctx, absl::Span<const IntrusivePtr<Variable>> variables,
                             absl::FunctionRef<absl::Status(absl::Span<Tensor* const>)> update);

// Checks that a variable's value is of the type that an op takes it for: a handle does not tell.
// Errors: INVALID_ARGUMENT.
absl::Status CheckVariableType(const Tensor& value, DType expected);

// FAILED_PRECONDITION, saying that the variable must be initialised first.
absl::Status UninitializedError(const Variable& variable);

}  // namespace tessera
