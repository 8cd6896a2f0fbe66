// LSTM as one op: LSTMBlockCell for a step, BlockLSTM and BlockLSTMV2 for a sequence, and their
// gradients.
#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/cell_widths.h"
#include "runtime/kernels/nn/float_tensor.h"
#include "runtime/kernels/nn/lstm_steps.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

// Input, forget, cell and output gate in products with the weights.
constexpr LstmGatePositions kIcfo = {.input = 0, .forget = 2, .cell = 1, .output = 3};
constexpr LstmGatePositions kIfco = {.input = 0, .forget = 1, .cell = 2, .output = 3};  // V2

// The sizes of a sequence; a single step is a sequence of length 1.
struct Sizes {
  int64_t time = 1, batch = 0, inputs = 0, cells = 0;
};

// What the kernels share. Inputs from `first` on: x, cs_prev, h_prev, w, wci, wcf, wco, b.
class LstmKernel : public OpKernel {
 protected:
  LstmKernel(const KernelBuild& build, bool is_sequence)
      : first_(is_sequence ? 1 : 0),
        is_forward_sequence_(is_sequence && !absl::StrContains(build.op().name, "Grad")),
        peephole_(build.attr<bool>("use_peephole")),
        positions_(absl::EndsWith(build.op().name, "V2") ? kIfco : kIcfo) {
    if (build.has_attr("forget_bias")) forget_bias_ = build.attr<float>("forget_bias");
    if (build.has_attr("cell_clip")) cell_clip_ = build.attr<float>("cell_clip");
  }

  // Errors: INVALID_ARGUMENT for shapes that do not fit each other.
  absl::StatusOr<Sizes> CheckShapes(const KernelContext& ctx) const {
    const Shape& x = ctx.input(first_).shape();
    const Shape& h_prev = ctx.input(first_ + 2).shape();
    if (x.rank() != 2 + first_ || h_prev.rank() != 2) {
      return absl::InvalidArgumentError(absl::StrCat("x must have rank ", 2 + first_,
                                                     " and h_prev rank 2, they have shapes ",
                                                     x.ToString(), " and ", h_prev.ToString()));
    }
    Sizes s;
    if (first_ == 1) s.time = x.dim(0);
    s.batch = x.dim(first_);
    s.inputs = x.dim(first_ + 1);
    s.cells = h_prev.dim(1);
    RETURN_IF_ERROR(CheckCellWidths(s.inputs, s.cells));
    const Shape expected[] = {x,
                              Shape{s.batch, s.cells},
                              Shape{s.batch, s.cells},
                              Shape{s.inputs + s.cells, 4 * s.cells},
                              Shape{s.cells},
                              Shape{s.cells},
                              Shape{s.cells},
                              Shape{4 * s.cells}};
    static constexpr const char* kNames[] = {"x",   "cs_prev", "h_prev", "w",
                                             "wci", "wcf",     "wco",    "b"};
    for (int i = 1; i < 8; ++i) {
      const bool is_peephole = i >= 4 && i <= 6;
      const Shape& shape = ctx.input(first_ + i).shape();
      // Peephole weights that are not used may have any length, but for a whole sequence.
      const bool is_free = is_peephole && !peephole_ && !is_forward_sequence_;
      const bool fits = is_free ? shape.rank() == 1 : shape == expected[i];
      if (!fits) {
        return absl::InvalidArgumentError(absl::StrCat(
            kNames[i], " must have shape ", expected[i].ToString(), ", has ", shape.ToString()));
      }
    }
    return s;
  }

  // Errors: INVALID_ARGUMENT unless input 0 is a length that the sequence has.
  absl::StatusOr<int64_t> ReadLength(const KernelContext& ctx, const Sizes& s) const {
    ASSIGN_OR_RETURN(const int64_t length, ReadIntegerOfScalar(ctx.input(0), "seq_len_max"));
    if (length >= 0 && length <= s.time) return length;
    return absl::InvalidArgumentError(
        absl::StrCat("seq_len_max is ", length, ", the sequence has ", s.time, " steps"));
  }

  // The parameters, as floats.
  struct Weights {
    Tensor kernel, recurrent;  // rows of `w`: those of the input, and those of the output
    Tensor wci, wcf, wco, b;
    LstmPeepholes peepholes;
  };
  absl::StatusOr<Weights> ReadWeights(KernelContext& ctx, const Sizes& s) const {
    Weights weights;
    ASSIGN_OR_RETURN(const Tensor w, FloatInput(ctx, first_ + 3));
    weights.kernel = w.Slice(0, s.inputs);
    weights.recurrent = w.Slice(s.inputs, s.inputs + s.cells);
    if (peephole_) {
      ASSIGN_OR_RETURN(weights.wci, FloatInput(ctx, first_ + 4));
      ASSIGN_OR_RETURN(weights.wcf, FloatInput(ctx, first_ + 5));
      ASSIGN_OR_RETURN(weights.wco, FloatInput(ctx, first_ + 6));
      const auto& constant = weights;
      weights.peepholes = {constant.wci.data<float>(), constant.wcf.data<float>(),
                           constant.wco.data<float>()};
    }
    ASSIGN_OR_RETURN(weights.b, FloatInput(ctx, first_ + 7));
    return weights;
  }

  LstmSizes StepSizes(const Sizes& s, int64_t steps, const Weights& weights) const {
    return {.steps = steps,
            .batch = s.batch,
            .units = s.cells,
            .positions = positions_,
            .peepholes = weights.peepholes};
  }

  const int first_;  // the position of x
  const bool is_forward_sequence_;
  const bool peephole_;
  const LstmGatePositions positions_;
  float forget_bias_ = 0, cell_clip_ = 0;
};

// Outputs i, cs, f, o, ci, co, h for each step; zeros after `seq_len_max`.
template <bool kSequence>
class LstmForwardKernel : public LstmKernel {
 public:
  explicit LstmForwardKernel(const KernelBuild& build)
      : LstmKernel(build, kSequence),
        input_product_(Primitive<MatMul>(build)(build, first_ + 3)),
        steps_(build, first_ + 3) {
    const Tensor* const w = build.constant_input(first_ + 3);
    if (w == nullptr || w->rank() != 2) return;
    constant_rows_ = w->dim(0);
    constant_cells_ = w->dim(1) / 4;
  }

  absl::Status Prepare(const PrepareContext& context) override {
    const int64_t inputs = constant_rows_ - constant_cells_;
    RETURN_IF_ERROR(input_product_->PrepareRows(context, 0, inputs, WeightUse::kOnceARun));
    return steps_.PrepareRows(context, positions_, inputs, constant_rows_);
  }

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Sizes s, CheckShapes(ctx));
    int64_t length = 1;
    if (kSequence) {
      ASSIGN_OR_RETURN(length, ReadLength(ctx, s));
    }
    Tensor outputs[7];
    for (int i = 0; i < 7; ++i) {
      ASSIGN_OR_RETURN(outputs[i], FloatOutput(ctx, i,
                                               kSequence ? Shape{s.time, s.batch, s.cells}
                                                         : Shape{s.batch, s.cells}));
      outputs[i].Reshape({s.time, s.batch, s.cells});
      Tensor rest = outputs[i].Slice(length, s.time);
      std::fill_n(rest.mutable_raw(), rest.size_bytes(), 0);
    }
    ASSIGN_OR_RETURN(const Weights weights, ReadWeights(ctx, s));
    ASSIGN_OR_RETURN(const Tensor x, FloatInput(ctx, first_));
    ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DType::kFloat, {length, s.batch, 4 * s.cells}));
    RETURN_IF_ERROR(
        input_product_->Run(ctx, {.m = length * s.batch, .n = 4 * s.cells, .k = s.inputs},
                            {.bias = true}, x, weights.kernel, {.bias = &weights.b}, &sums));
    ASSIGN_OR_RETURN(const Tensor c0, FloatInput(ctx, first_ + 1));
    ASSIGN_OR_RETURN(const Tensor h0, FloatInput(ctx, first_ + 2));
    RETURN_IF_ERROR(steps_.Run(ctx, {.sizes = StepSizes(s, length, weights),
                                     .forget_bias = forget_bias_,
                                     .cell_clip = cell_clip_,
                                     .recurrent = weights.recurrent,
                                     .inputs = sums,
                                     .h0 = h0,
                                     .c0 = c0,
                                     .sums = sums,
                                     .gates = {.input = outputs[0].data<float>(),
                                               .forget = outputs[2].data<float>(),
                                               .cell = outputs[4].data<float>(),
                                               .output = outputs[3].data<float>(),
                                               .stride = s.cells},
                                     .gates_step = s.batch * s.cells,
                                     .c = outputs[1],
                                     .tanh_c = outputs[5],
                                     .h = outputs[6]}));
    for (int i = 0; i < 7; ++i) StoreOutput(ctx, i, outputs[i]);
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<MatMul> input_product_;
  LstmSteps steps_;
  int64_t constant_rows_ = 0, constant_cells_ = 0;  // of `w` if it is a constant matrix
};
REGISTER_KERNEL("LSTMBlockCell", (DevicesOf<MatMul, LstmCell, LstmForwardPass>),
                LstmForwardKernel<false>);
REGISTER_KERNEL("BlockLSTM", (DevicesOf<MatMul, LstmCell, LstmForwardPass>),
                LstmForwardKernel<true>)
    .HostMemory("seq_len_max");
REGISTER_KERNEL("BlockLSTMV2", (DevicesOf<MatMul, LstmCell, LstmForwardPass>),
                LstmForwardKernel<true>)
    .HostMemory("seq_len_max");

// to[j] = sum of a[i, j] * b[i, j]; of a[i, j] if there is no b.
void SumOfColumns(int64_t rows, int64_t columns, const float* a, int64_t a_stride, const float* b,
                  float* to) {
  std::fill_n(to, columns, 0.0f);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      to[j] += b == nullptr ? a[i * a_stride + j] : a[i * a_stride + j] * b[i * columns + j];
    }
  }
}

// What the forward op has computed, as floats.
struct LstmStates {
  Tensor i, cs, f, o, ci, co, c0;

  LstmGates<const float> gates(int64_t cells) const {
    return {i.data<float>(), f.data<float>(), ci.data<float>(), o.data<float>(), cells};
  }
};

// After b come the seven outputs of the forward op (but h for the single cell), and the gradients
// of cs and h.
template <bool kSequence>
class LstmBackwardKernel : public LstmKernel {
 public:
  explicit LstmBackwardKernel(const KernelBuild& build)
      : LstmKernel(build, kSequence),
        product_(Primitive<MatMul>(build)(build, first_ + 3)),
        cell_(build),
        steps_(build, first_ + 3) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Sizes s, CheckShapes(ctx));
    int64_t length = 1;
    if (kSequence) {
      ASSIGN_OR_RETURN(length, ReadLength(ctx, s));
    }
    const Shape expected = kSequence ? Shape{s.time, s.batch, s.cells} : Shape{s.batch, s.cells};
    for (int i = first_ + 8; i < ctx.num_inputs(); ++i) {
      if (!(ctx.input(i).shape() == expected)) {
        return absl::InvalidArgumentError(absl::StrCat("input ", i, " must have shape ",
                                                       expected.ToString(), ", has ",
                                                       ctx.input(i).shape().ToString()));
      }
    }
    ASSIGN_OR_RETURN(const Weights weights, ReadWeights(ctx, s));
    ASSIGN_OR_RETURN(const LstmStates states, ReadStates(ctx));
    return kSequence ? Sequence(ctx, s, length, weights, states) : Cell(ctx, s, weights, states);
  }

 private:
  absl::StatusOr<LstmStates> ReadStates(KernelContext& ctx) const {
    LstmStates states;
    int input = first_ + 8;
    for (Tensor* state : {&states.i, &states.cs, &states.f, &states.o, &states.ci, &states.co}) {
      ASSIGN_OR_RETURN(*state, FloatInput(ctx, input++));
    }
    ASSIGN_OR_RETURN(states.c0, FloatInput(ctx, first_ + 1));
    return states;
  }

  // Sets the gradients of the peephole weights, outputs `first` and the two after it, from those
  // of the sums, [rows, 4 * cells]; `c_prev` and `c` are the states before and after each row.
  absl::Status SetPeepholeGradients(KernelContext& ctx, int first, const Sizes& s, int64_t steps,
                                    const LstmStates& states, const Tensor& d_sums) const {
    Tensor gradients[3];
    for (int i = 0; i < 3; ++i) {
      const Shape& shape = ctx.input(first_ + 4 + i).shape();
      ASSIGN_OR_RETURN(gradients[i], FloatOutput(ctx, first + i, shape));
      std::fill_n(gradients[i].data<float>(), shape.num_elements(), 0.0f);
    }
    const int64_t rows = steps * s.batch, matrix = s.batch * s.cells;
    if (peephole_ && rows > 0) {
      ASSIGN_OR_RETURN(Tensor c_prev, ctx.AllocateTemp(DType::kFloat, {rows, s.cells}));
      std::copy_n(states.c0.data<float>(), matrix, c_prev.data<float>());
      std::copy_n(states.cs.data<float>(), (steps - 1) * matrix, c_prev.data<float>() + matrix);
      const auto gates = GatesIn(d_sums.data<float>(), s.cells, positions_);
      const float* const before = c_prev.data<float>();
      SumOfColumns(rows, s.cells, gates.input, gates.stride, before, gradients[0].data<float>());
      SumOfColumns(rows, s.cells, gates.forget, gates.stride, before, gradients[1].data<float>());
      SumOfColumns(rows, s.cells, gates.output, gates.stride, states.cs.data<float>(),
                   gradients[2].data<float>());
    }
    for (int i = 0; i < 3; ++i) StoreOutput(ctx, first + i, gradients[i]);
    return absl::OkStatus();
  }

  absl::Status Cell(KernelContext& ctx, const Sizes& s, const Weights& weights,
                    const LstmStates& states) const {
    ASSIGN_OR_RETURN(const Tensor d_c, FloatInput(ctx, 14));
    ASSIGN_OR_RETURN(const Tensor d_h, FloatInput(ctx, 15));
    ASSIGN_OR_RETURN(Tensor d_c_prev, FloatOutput(ctx, 0, {s.batch, s.cells}));
    ASSIGN_OR_RETURN(Tensor d_sums, FloatOutput(ctx, 1, {s.batch, 4 * s.cells}));
    cell_({.rows = s.batch,
           .units = s.cells,
           .gates = states.gates(s.cells),
           .peepholes = weights.peepholes,
           .c_prev = states.c0.data<float>(),
           .tanh_c = states.co.data<float>(),
           .d_h = d_h.data<float>(),
           .d_c = d_c.data<float>(),
           .d_sums = GatesIn(d_sums.data<float>(), s.cells, positions_),
           .d_c_prev = d_c_prev.data<float>()});
    StoreOutput(ctx, 0, d_c_prev);
    StoreOutput(ctx, 1, d_sums);
    return SetPeepholeGradients(ctx, 2, s, 1, states, d_sums);
  }

  absl::Status Sequence(KernelContext& ctx, const Sizes& s, int64_t length, const Weights& weights,
                        const LstmStates& states) const {
    const int64_t rows = length * s.batch, columns = 4 * s.cells;
    ASSIGN_OR_RETURN(const Tensor x, FloatInput(ctx, first_));
    ASSIGN_OR_RETURN(const Tensor h0, FloatInput(ctx, first_ + 2));
    ASSIGN_OR_RETURN(const Tensor h, FloatInput(ctx, 15));
    ASSIGN_OR_RETURN(const Tensor d_cs, FloatInput(ctx, 16));
    ASSIGN_OR_RETURN(const Tensor d_y, FloatInput(ctx, 17));
    ASSIGN_OR_RETURN(Tensor d_x, FloatOutput(ctx, 0, {s.time, s.batch, s.inputs}));
    ASSIGN_OR_RETURN(Tensor d_c, FloatOutput(ctx, 1, {s.batch, s.cells}));
    ASSIGN_OR_RETURN(Tensor d_h, FloatOutput(ctx, 2, {s.batch, s.cells}));
    ASSIGN_OR_RETURN(Tensor d_w, FloatOutput(ctx, 3, {s.inputs + s.cells, columns}));
    ASSIGN_OR_RETURN(Tensor d_b, FloatOutput(ctx, 7, {columns}));
    ASSIGN_OR_RETURN(Tensor d_sums, ctx.AllocateTemp(DType::kFloat, {length, s.batch, columns}));
    for (Tensor* start : {&d_c, &d_h}) std::fill_n(start->mutable_raw(), start->size_bytes(), 0);
    RETURN_IF_ERROR(steps_.Run(ctx, {.sizes = StepSizes(s, length, weights),
                                     .recurrent = weights.recurrent,
                                     .gates = states.gates(s.cells),
                                     .gates_step = s.batch * s.cells,
                                     .c0 = states.c0,
                                     .c = states.cs,
                                     .tanh_c = states.co,
                                     .d_y = &d_y,
                                     .d_cs = &d_cs,
                                     .d_h = d_h,
                                     .d_c = d_c,
                                     .d_sums = d_sums}));
    // The products of all steps at once: of the input, and of the weights.
    Tensor rest = d_x.Slice(length, s.time), d_read = d_x.Slice(0, length);
    std::fill_n(rest.mutable_raw(), rest.size_bytes(), 0);
    RETURN_IF_ERROR(product_->Run(ctx,
                                  {.m = rows, .n = s.inputs, .k = columns, .transpose_b = true},
                                  PostOps(), d_sums, weights.kernel, {}, &d_read));
    Tensor d_kernel = d_w.Slice(0, s.inputs);
    RETURN_IF_ERROR(product_->Run(ctx,
                                  {.m = s.inputs, .n = columns, .k = rows, .transpose_a = true},
                                  PostOps(), x.Slice(0, length), d_sums, {}, &d_kernel));
    Tensor d_recurrent = d_w.Slice(s.inputs, s.inputs + s.cells);
    RETURN_IF_ERROR(steps_.RecurrentGradient(ctx, h0, h, d_sums, &d_recurrent));
    SumOfColumns(rows, columns, d_sums.data<float>(), columns, nullptr, d_b.data<float>());
    StoreOutput(ctx, 0, d_x);
    StoreOutput(ctx, 1, d_c);
    StoreOutput(ctx, 2, d_h);
    StoreOutput(ctx, 3, d_w);
    StoreOutput(ctx, 7, d_b);
    return SetPeepholeGradients(ctx, 4, s, length, states, d_sums);
  }

  const std::unique_ptr<MatMul> product_;
  const Primitive<LstmCellGradient> cell_;
  const LstmGradientSteps steps_;
};
REGISTER_KERNEL("LSTMBlockCellGrad", (DevicesOf<MatMul, LstmCellGradient, LstmBackwardPass>),
                LstmBackwardKernel<false>);
REGISTER_KERNEL("BlockLSTMGrad", (DevicesOf<MatMul, LstmCellGradient, LstmBackwardPass>),
                LstmBackwardKernel<true>)
    .HostMemory("seq_len_max");
REGISTER_KERNEL("BlockLSTMGradV2", (DevicesOf<MatMul, LstmCellGradient, LstmBackwardPass>),
                LstmBackwardKernel<true>)
    .HostMemory("seq_len_max");

}  // namespace
}  // namespace tessera
