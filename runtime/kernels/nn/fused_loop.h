// The base of kernels that run a loop of a recurrent network over a sequence as one op; the pass
// fuse_recurrence makes them of While loops.
#pragma once

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/matmul.h"

namespace tessera {

// Inputs: `x` [time, batch, inputs]; `kernel`, at most one [inputs, gates * units]; `bias`, at most
// one [gates * units] and none without a kernel; `recurrent` [units, gates * units]; others of the
// cell; `states` [batch, units], the output first; `limits`, the smallest of which is the number of
// steps; `size`, the length of `y`. Without a kernel, `x` are the products already.
//
// Outputs: `y` [size, batch, units], the outputs of all steps or, if `last_only`, of the last one,
// and otherwise zeros; `last_states`.
//
// Errors: INVALID_ARGUMENT for shapes that do not fit, and for steps beyond the end of `x` or `y`,
// in the words of the lists that the loop would have used.
class FusedLoopKernel : public OpKernel {
 public:
  absl::Status Compute(KernelContext& ctx) override;
  absl::Status Prepare(const PrepareContext& context) override;

 protected:
  struct Steps {
    int64_t count = 0, batch = 0, units = 0;
    const Tensor& inputs;  // [count, batch, gates * units], the products with the input
    // [batch, units], before the first step. The new states go to the same memory, but the outputs
    // to `h`.
    absl::Span<Tensor> states;
    const Tensor& h0;  // the output before the first step
    const Tensor& h;   // [count or 1, batch, units], may share the memory of h0 if it is one
  };

  FusedLoopKernel(const KernelBuild& build, int num_gates, int num_states);

  // The positions of the gates in the columns of the weights, in units of the cell size.
  const std::vector<int64_t>& gates() const { return gates_; }
  int recurrent_input() const { return recurrent_; }
  virtual absl::Status CheckCell(KernelContext& ctx, int64_t units) const = 0;
  virtual absl::Status RunSteps(KernelContext& ctx, const Steps& steps) const = 0;

 private:
  struct Extent;
  absl::StatusOr<Extent> ReadExtent(KernelContext& ctx) const;
  absl::StatusOr<std::vector<Tensor>> InitialStates(KernelContext& ctx, const Extent& extent) const;
  absl::Status RunAll(KernelContext& ctx, const Extent& extent, absl::Span<Tensor> states,
                      Tensor* y) const;

  const int num_gates_;
  const std::vector<int64_t> gates_;
  const ArgRange kernel_, bias_, states_, limits_;
  const int recurrent_, size_;  // positions of inputs
  const bool last_only_;
  std::unique_ptr<MatMul> input_product_;  // null without a kernel
};

}  // namespace tessera
