#include "runtime/kernels/random/generator_state.h"

#include "absl/strings/str_cat.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/random/philox_generator.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {

absl::Status CheckPhilox(const Tensor& algorithm) {
  ASSIGN_OR_RETURN(const int64_t number, ReadIndexScalar(algorithm, "algorithm"));
  if (number == kThreeFry) return absl::UnimplementedError("ThreeFry is not for CPUs");
  return IsPhilox(number) ? absl::OkStatus() : UnknownAlgorithm(number);
}

Philox AdvanceState(int64_t* words, uint64_t blocks) {
  const Philox current(words[2], words[0], words[1]);
  Philox next = current;
  next.Skip(blocks);
  words[0] = static_cast<int64_t>(next.counter_low());
  words[1] = static_cast<int64_t>(next.counter_high());
  return current;
}

absl::StatusOr<Philox> ReserveFromVariable(KernelContext& ctx, uint64_t blocks) {
  ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, 0));
  Philox current(0);
  RETURN_IF_ERROR(UpdateVariable(ctx, *variable, [&](Tensor& state) -> absl::Status {
    if (state.dtype() != DType::kInt64 || !state.shape().IsVector() || state.dim(0) < 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("the state of a random generator must be a vector of three int64 or more, ",
                       "is ", state.ToString()));
    }
    current = AdvanceState(state.data<int64_t>(), blocks);
    return absl::OkStatus();
  }));
  return current;
}

}  // namespace tessera
