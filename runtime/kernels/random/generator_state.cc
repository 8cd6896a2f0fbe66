#include "runtime/kernels/random/generator_state.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "runtime/kernels/random/philox_generator.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

// Runs `update` on the value of the variable at input 0. Errors: those of ReserveFromVariable().
absl::Status UpdateState(KernelContext& ctx, absl::FunctionRef<absl::Status(Tensor&)> update) {
  ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
  return UpdateVariable(ctx, *variable, [&](Tensor& state) -> absl::Status {
    if (state.dtype() == DType::kInt64 && state.shape().IsVector() && state.dim(0) >= 3) {
      return update(state);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "the state of a random generator must be a vector of three int64 or more, is of ",
        DTypeName(state.dtype()), " and shape ", state.shape().ToString()));
  });
}

}  // namespace

absl::Status CheckPhilox(const Tensor& algorithm) {
  ASSIGN_OR_RETURN(const int64_t number, ReadIntegerOfScalar(algorithm, "algorithm"));
  return CheckPhilox(number);
}

absl::Status CheckPhilox(int64_t algorithm) {
  if (algorithm == kThreeFry) return absl::UnimplementedError("ThreeFry is not for CPUs");
  return IsPhilox(algorithm) ? absl::OkStatus() : UnknownAlgorithm(algorithm);
}

absl::StatusOr<Philox> ReserveFromVariable(KernelContext& ctx, uint64_t blocks) {
  Philox current(0);
  RETURN_IF_ERROR(UpdateState(ctx, [&](Tensor& state) {
    current = AdvanceState(state.data<int64_t>(), blocks);
    return absl::OkStatus();
  }));
  return current;
}

absl::Status GeneratorVariable::Reserve(KernelContext& ctx, uint64_t blocks, Tensor* before) const {
  return UpdateState(ctx, [&](Tensor& state) { return advance_(ctx, blocks, &state, before); });
}

absl::StatusOr<PhiloxSource> GeneratorVariable::Reserve(KernelContext& ctx, uint64_t blocks) const {
  ASSIGN_OR_RETURN(Tensor before, ctx.AllocateTemp(DType::kUint64, Shape{3}));
  RETURN_IF_ERROR(Reserve(ctx, blocks, &before));
  return PhiloxSource(before.Slice(2, 3), before.Slice(0, 2));
}

}  // namespace tessera
