// The primitives of all steps of an LSTM over a sequence, forward and backward, with the recurrent
// weights packed once for all steps.
//
//   ASSIGN_OR_RETURN(const auto pass, make_pass(ctx, {.units = units, ...}));
//   if (pass != nullptr) return pass->Run(ctx, operands, /*begin=*/0, /*end=*/batch);
//
// All matrices are of float, row-major and without gaps, [batch, units] or, with the four gates
// side by side, [batch, 4 * units].
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/recurrent_cell.h"

namespace tessera {

// A matrix for each step. They are `step` floats apart, or 0 if all steps share one matrix.
template <typename T>
struct StepMatrices {
  T* first = nullptr;
  int64_t step = 0;

  T* At(int64_t t) const { return first + t * step; }
};

// The operands of a pass from the first step to the last one.
struct LstmForwardOperands {
  int64_t steps = 0;
  float forget_bias = 0;
  float cell_clip = 0;  // limits the cell state if it is positive
  LstmPeepholes peepholes;
  StepMatrices<const float> inputs;  // [batch, 4 * units], products with the input and biases
  const float *h0 = nullptr, *c0 = nullptr;  // may be `h` and `c` if steps share these
  LstmGates<float> gates;                    // activated, of the first step; may be `inputs`
  int64_t gates_step = 0;                    // floats from step to step
  StepMatrices<float> c, tanh_c, h;          // [batch, units]
};

// The operands of a pass of gradients, from the last step to the first one.
struct LstmBackwardOperands {
  int64_t steps = 0;
  LstmPeepholes peepholes;
  LstmGates<const float> gates;  // activated, of the first step
  int64_t gates_step = 0;        // floats from step to step
  const float* c0 = nullptr;
  StepMatrices<const float> c, tanh_c;   // [batch, units]
  StepMatrices<const float> d_y, d_cs;   // gradients of the outputs and cell states; null: none
  float *d_h = nullptr, *d_c = nullptr;  // [batch, units]: on input, those after the last step;
                                         // on output, those of the initial state
  StepMatrices<float> d_sums;            // [batch, 4 * units]
};

// The recurrent weights of a pass.
struct LstmWeights {
  int64_t units = 0;
  LstmGatePositions positions;
  const float* recurrent = nullptr;  // [units, 4 * units]
  // True if they are constants of the graph: all runs share the pass, and the memory of the packed
  // weights is long-lived.
  bool constant = false;
};

// All steps of one direction.
template <typename PassOperands>
class LstmPass {
 public:
  using Operands = PassOperands;

  // Packs the weights, which are not referred to afterwards. Returns null if the processor has no
  // such pass or a faster product for these weights, or if a weight is infinite or NaN. The caller
  // then computes a product and a cell for each step. Errors: RESOURCE_EXHAUSTED.
  using Function = absl::StatusOr<std::unique_ptr<LstmPass>>(KernelContext& ctx,
                                                             const LstmWeights& weights);
  virtual ~LstmPass() = default;

  // Runs all steps for the rows [begin, end) of the batch. Several rows are computed on the calling
  // thread; the units of a single row are shared between the threads of the step if that pays. A
  // row's results depend neither on the other rows nor on the number of threads, but a single row
  // may differ in its last bits from one of several. Thread-safe. Errors: RESOURCE_EXHAUSTED for
  // scratch memory.
  virtual absl::Status Run(KernelContext& ctx, const Operands& operands, int64_t begin,
                           int64_t end) const = 0;
};

using LstmForwardPass = LstmPass<LstmForwardOperands>;
using LstmBackwardPass = LstmPass<LstmBackwardOperands>;

}  // namespace tessera
