#include "runtime/kernels/control_flow/function_loop.h"

#include "absl/strings/str_cat.h"

namespace tessera {

std::vector<Tensor> TakeInputs(KernelContext& ctx, int first) {
  std::vector<Tensor> inputs;
  inputs.reserve(ctx.num_inputs() - first);
  for (int i = first; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.TakeInput(i));
  return inputs;
}

absl::Status PutOutputs(KernelContext& ctx, std::vector<Tensor>& values) {
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    if (values[i].dtype() != ctx.output_type(i)) {
      return absl::InvalidArgumentError(absl::StrCat("loop variable ", i, " became ",
                                                     DTypeName(values[i].dtype()), ", not ",
                                                     DTypeName(ctx.output_type(i))));
    }
    ctx.set_output(i, std::move(values[i]));
  }
  return absl::OkStatus();
}

// Makes calls until one of them does not end at once; its end goes on from here. A loop whose calls
// all end at once thus does not nest.
void AsyncCalls::RunCalls() {
  while (true) {
    phase_.store(Phase::kCalling, std::memory_order_relaxed);
    Start([this](absl::Status status) {
      status_ = std::move(status);
      if (phase_.exchange(Phase::kEnded, std::memory_order_acq_rel) == Phase::kReturned) {
        if (AdvanceOrEnd()) RunCalls();
      }
    });
    if (phase_.exchange(Phase::kReturned, std::memory_order_acq_rel) != Phase::kEnded) return;
    if (!AdvanceOrEnd()) return;
  }
}

// Returns false if the loop is over, and this object gone.
bool AsyncCalls::AdvanceOrEnd() {
  absl::Status status = std::exchange(status_, absl::OkStatus());
  if (status.ok()) {
    const absl::StatusOr<bool> has_next = Advance();
    if (has_next.ok() && *has_next) return true;
    status = has_next.status();
  }
  const AsyncOpKernel::DoneCallback done = std::move(done_);
  delete this;
  done(std::move(status));
  return false;
}

}  // namespace tessera
