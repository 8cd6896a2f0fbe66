// The steps of an LSTM over a sequence, forward and backward, once the products with the input are
// made for all steps at once.
#pragma once

#include <memory>

#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/lstm_pass.h"
#include "runtime/kernels/primitives/matmul.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/recurrent_cell.h"

namespace tessera {

inline LstmGates<const float> AsConst(const LstmGates<float>& gates) {
  return {gates.input, gates.forget, gates.cell, gates.output, gates.stride};
}

// The arguments that both directions share. All tensors are of float.
struct LstmSizes {
  int64_t steps = 0, batch = 0, units = 0;
  LstmGatePositions positions;
  LstmPeepholes peepholes;
};

// The steps of one direction, for shares of the batch: by a pass that packs the recurrent weights
// for all steps, or for all runs if they are constant, or by a product and a cell a step.
template <typename StepOperands, typename Cell, typename Pass>
class LstmDirection {
 public:
  using Operands = StepOperands;

  // Runs all steps. Errors: those of MatMul::Run(). Thread-safe.
  absl::Status Run(KernelContext& ctx, const Operands& operands) const;

 protected:
  // The recurrent weights are input `recurrent_input` of the kernel, or derived from it.
  LstmDirection(const KernelBuild& build, int recurrent_input)
      : cell_(build),
        make_pass_(build),
        is_fast_(build.numerics() == Numerics::kFast),
        constant_(build.constant_input(recurrent_input) == nullptr
                      ? Tensor()
                      : *build.constant_input(recurrent_input)),
        product_(Primitive<MatMul>(build)(build, recurrent_input)) {}
  virtual ~LstmDirection() = default;

  // Makes the pass of all runs if the recurrent weights are the rows [first, end) of a constant
  // matrix of float, and if such a pass may be used. Returns false otherwise. Errors:
  // RESOURCE_EXHAUSTED.
  absl::StatusOr<bool> KeepPass(const PrepareContext& context, const LstmGatePositions& positions,
                                int64_t first, int64_t end);

  virtual typename Pass::Operands PassOperands(const Operands& operands) const = 0;
  // Runs all steps for the rows [begin, end) of the batch by a product and a cell a step.
  virtual absl::Status RunRows(KernelContext& ctx, const Operands& operands, int64_t begin,
                               int64_t end) const = 0;

  const Primitive<Cell> cell_;
  const Primitive<Pass> make_pass_;
  // The sums of passes depend on the number of rows, so that strict numerics rule them out.
  const bool is_fast_;
  const Tensor constant_;  // the input with the weights; without a value if it is not constant
  const std::unique_ptr<MatMul> product_;
  Tensor kept_weights_;  // the weights of kept_pass_
  std::unique_ptr<const Pass> kept_pass_;

 private:
  // Returns the pass for these weights, or null if the steps need none. `own` keeps it if it is
  // made for this run.
  absl::StatusOr<const Pass*> PassFor(KernelContext& ctx, const Operands& operands,
                                      std::unique_ptr<Pass>* own) const;
};

// Tensors with one matrix a step, [steps, batch, ...], may have only one in all, [1, batch, ...],
// which each step then overwrites.
struct LstmStepOperands {
  LstmSizes sizes;
  float forget_bias = 0;
  float cell_clip = 0;  // limits the cell state if it is positive
  Tensor recurrent;     // [units, 4 * units]
  Tensor inputs;        // [steps, batch, 4 * units], products with the input and biases
  Tensor h0, c0;  // [batch, units]; may share memory with `h` and `c` if these have one matrix
  Tensor sums;    // [steps or 1, batch, 4 * units], may be `inputs`; becomes the gates
  LstmGates<float> gates;  // of the first step, if they are to lie elsewhere than in `sums`
  int64_t gates_step = 0;  // floats from step to step
  Tensor c, tanh_c, h;     // [steps or 1, batch, units]
};

// The steps from the first one to the last.
class LstmSteps final : public LstmDirection<LstmStepOperands, LstmCell, LstmForwardPass> {
 public:
  LstmSteps(const KernelBuild& build, int recurrent_input)
      : LstmDirection(build, recurrent_input) {}

  // Packs the recurrent weights if they are constant. Errors: those of MatMul::Prepare().
  absl::Status Prepare(const PrepareContext& context, const LstmGatePositions& positions);
  // Likewise if the recurrent weights are the rows [first, end) of the input.
  absl::Status PrepareRows(const PrepareContext& context, const LstmGatePositions& positions,
                           int64_t first, int64_t end);

 private:
  LstmForwardOperands PassOperands(const Operands& operands) const override;
  absl::Status RunRows(KernelContext& ctx, const Operands& operands, int64_t begin,
                       int64_t end) const override;
};

struct LstmGradientOperands {
  LstmSizes sizes;
  Tensor recurrent;              // [units, 4 * units]
  LstmGates<const float> gates;  // activated, of the first step
  int64_t gates_step = 0;        // floats from step to step
  Tensor c0, c, tanh_c;          // [batch, units], and [steps, batch, units]
  const Tensor* d_y = nullptr;   // [steps, batch, units], of the outputs of all steps; null: none
  const Tensor* d_cs = nullptr;  // of the cell states of all steps; null: none
  Tensor d_h, d_c;  // [batch, units]: in, of what follows the last step; out, of the initial state
  Tensor d_sums;    // [steps, batch, 4 * units]
};

// Gradients, from the last step to the first one.
class LstmGradientSteps final
    : public LstmDirection<LstmGradientOperands, LstmCellGradient, LstmBackwardPass> {
 public:
  LstmGradientSteps(const KernelBuild& build, int recurrent_input)
      : LstmDirection(build, recurrent_input) {}

  // Computes the gradient of the recurrent weights, [units, 4 * units], from the outputs before
  // each step, which are h0 and then those in `h`, [steps, batch, units], and from `d_sums`.
  // Errors: those of MatMul::Run(). Thread-safe.
  absl::Status RecurrentGradient(KernelContext& ctx, const Tensor& h0, const Tensor& h,
                                 const Tensor& d_sums, Tensor* gradient) const;

 private:
  LstmBackwardOperands PassOperands(const Operands& operands) const override;
  absl::Status RunRows(KernelContext& ctx, const Operands& operands, int64_t begin,
                       int64_t end) const override;
};

}  // namespace tessera
