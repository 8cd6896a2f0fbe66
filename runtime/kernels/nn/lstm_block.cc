// LSTM as one op: LSTMBlockCell for a step, BlockLSTM and BlockLSTMV2 for a sequence, and their
// gradients.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/nn/float_matrix.h"
#include "runtime/kernels/nn/lstm_cell.h"

namespace tessera {
namespace {

// The sizes of a sequence; a single step is a sequence of length 1.
struct Sizes {
  int64_t time = 1, batch = 0, inputs = 0, cells = 0;
};

// What the kernels share. Inputs from `first` on: x, cs_prev, h_prev, w, wci, wcf, wco, b.
class LstmKernel : public OpKernel {
 protected:
  LstmKernel(const KernelBuild& build, bool is_sequence)
      : first_(is_sequence ? 1 : 0),
        peephole_(build.attr<bool>("use_peephole")),
        order_(absl::EndsWith(build.op().name, "V2") ? kIfco : kIcfo) {
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
      // Peephole weights that are not used may have any length.
      const bool fits = is_peephole && !peephole_ ? shape.rank() == 1 : shape == expected[i];
      if (!fits) {
        return absl::InvalidArgumentError(absl::StrCat(
            kNames[i], " must have shape ", expected[i].ToString(), ", has ", shape.ToString()));
      }
    }
    return s;
  }

  // Errors: INVALID_ARGUMENT unless input 0 is a length that the sequence has.
  absl::StatusOr<int64_t> ReadLength(const KernelContext& ctx, const Sizes& s) const {
    ASSIGN_OR_RETURN(const int64_t length, ReadIndexScalar(ctx.input(0), "seq_len_max"));
    if (length >= 0 && length <= s.time) return length;
    return absl::InvalidArgumentError(
        absl::StrCat("seq_len_max is ", length, ", the sequence has ", s.time, " steps"));
  }

  LstmWeights ReadWeights(const KernelContext& ctx, const Sizes& s) const {
    LstmWeights weights;
    weights.w = ReadMatrix(ctx.input(first_ + 3), 0, s.inputs + s.cells, 4 * s.cells);
    if (peephole_) {
      weights.wci = ReadRow(ctx.input(first_ + 4));
      weights.wcf = ReadRow(ctx.input(first_ + 5));
      weights.wco = ReadRow(ctx.input(first_ + 6));
    }
    weights.b = ReadRow(ctx.input(first_ + 7));
    weights.order = order_;
    weights.forget_bias = forget_bias_;
    weights.cell_clip = cell_clip_;
    return weights;
  }

  // The input of step t beside the output of the step before.
  RowMatrix InputAndOutput(const KernelContext& ctx, const Sizes& s, int64_t t,
                           const RowMatrix& h_prev) const {
    RowMatrix xh(s.batch, s.inputs + s.cells);
    xh << ReadMatrix(ctx.input(first_), t * s.batch * s.inputs, s.batch, s.inputs), h_prev;
    return xh;
  }

  const int first_;  // the position of x
  const bool peephole_;
  const LstmGateOrder order_;
  float forget_bias_ = 0, cell_clip_ = 0;
};

// Outputs i, cs, f, o, ci, co, h for each step; zeros after `seq_len_max`.
template <bool kSequence>
class LstmForwardKernel : public LstmKernel {
 public:
  explicit LstmForwardKernel(const KernelBuild& build) : LstmKernel(build, kSequence) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Sizes s, CheckShapes(ctx));
    int64_t length = 1;
    if (kSequence) {
      ASSIGN_OR_RETURN(length, ReadLength(ctx, s));
    }
    const int64_t step = s.batch * s.cells;
    for (int o = 0; o < 7; ++o) {
      ASSIGN_OR_RETURN(Tensor* const output,
                       ctx.AllocateOutput(o, kSequence ? Shape{s.time, s.batch, s.cells}
                                                       : Shape{s.batch, s.cells}));
      std::fill_n(output->mutable_raw() + length * step * DTypeSize(output->dtype()),
                  (s.time - length) * step * DTypeSize(output->dtype()), 0);
    }
    const LstmWeights weights = ReadWeights(ctx, s);
    LstmState state;
    state.cs = ReadMatrix(ctx.input(first_ + 1), 0, s.batch, s.cells);
    state.h = ReadMatrix(ctx.input(first_ + 2), 0, s.batch, s.cells);
    for (int64_t t = 0; t < length; ++t) {
      const RowMatrix cs_prev = std::move(state.cs);
      state = LstmForward(weights, InputAndOutput(ctx, s, t, state.h), cs_prev);
      int o = 0;
      for (const RowMatrix* value :
           {&state.i, &state.cs, &state.f, &state.o, &state.ci, &state.co, &state.h}) {
        WriteMatrix(*value, t * step, &ctx.output(o++));
      }
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("LSTMBlockCell", kCpu, LstmForwardKernel<false>);
REGISTER_KERNEL("BlockLSTM", kCpu, LstmForwardKernel<true>);
REGISTER_KERNEL("BlockLSTMV2", kCpu, LstmForwardKernel<true>);

// After b come the seven outputs of the forward op (but h for the single cell), and the gradients
// of cs and h.
template <bool kSequence>
class LstmBackwardKernel : public LstmKernel {
 public:
  explicit LstmBackwardKernel(const KernelBuild& build) : LstmKernel(build, kSequence) {}

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
    const LstmWeights weights = ReadWeights(ctx, s);
    return kSequence ? Sequence(ctx, s, length, weights) : Cell(ctx, s, weights);
  }

 private:
  // Input i at step t.
  RowMatrix At(const KernelContext& ctx, const Sizes& s, int i, int64_t t) const {
    return ReadMatrix(ctx.input(i), t * s.batch * s.cells, s.batch, s.cells);
  }
  LstmState StateAt(const KernelContext& ctx, const Sizes& s, int64_t t) const {
    const int i = first_ + 8;
    LstmState state;
    state.i = At(ctx, s, i, t);
    state.cs = At(ctx, s, i + 1, t);
    state.f = At(ctx, s, i + 2, t);
    state.o = At(ctx, s, i + 3, t);
    state.ci = At(ctx, s, i + 4, t);
    state.co = At(ctx, s, i + 5, t);
    return state;
  }

  template <typename Matrix>
  static absl::Status SetOutput(KernelContext& ctx, int i, const Shape& shape,
                                const Matrix& value) {
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(i, shape));
    WriteMatrix(value, 0, output);
    return absl::OkStatus();
  }

  absl::Status Cell(KernelContext& ctx, const Sizes& s, const LstmWeights& weights) const {
    const LstmGradient gradient = LstmBackward(weights, StateAt(ctx, s, 0), At(ctx, s, 1, 0),
                                               At(ctx, s, 14, 0), At(ctx, s, 15, 0));
    RETURN_IF_ERROR(SetOutput(ctx, 0, Shape{s.batch, s.cells}, gradient.cs_prev));
    RETURN_IF_ERROR(SetOutput(ctx, 1, Shape{s.batch, 4 * s.cells}, gradient.gates));
    RETURN_IF_ERROR(SetOutput(ctx, 2, Shape{s.cells}, gradient.wci));
    RETURN_IF_ERROR(SetOutput(ctx, 3, Shape{s.cells}, gradient.wcf));
    return SetOutput(ctx, 4, Shape{s.cells}, gradient.wco);
  }

  absl::Status Sequence(KernelContext& ctx, const Sizes& s, int64_t length,
                        const LstmWeights& weights) const {
    ASSIGN_OR_RETURN(Tensor* const x_grad, ctx.AllocateOutput(0, Shape{s.time, s.batch, s.inputs}));
    std::fill_n(x_grad->mutable_raw(), x_grad->size_bytes(), 0);
    RowMatrix cs_grad = RowMatrix::Zero(s.batch, s.cells), h_grad = cs_grad;
    RowMatrix w_grad = RowMatrix::Zero(s.inputs + s.cells, 4 * s.cells);
    Eigen::RowVectorXf b_grad = Eigen::RowVectorXf::Zero(4 * s.cells);
    Eigen::RowVectorXf wci_grad = Eigen::RowVectorXf::Zero(s.cells), wcf_grad = wci_grad,
                       wco_grad = wci_grad;
    const int cs = 10, h = 15;  // inputs
    for (int64_t t = length; t-- > 0;) {
      const RowMatrix cs_prev = t > 0 ? At(ctx, s, cs, t - 1) : At(ctx, s, 2, 0);
      const RowMatrix h_prev = t > 0 ? At(ctx, s, h, t - 1) : At(ctx, s, 3, 0);
      cs_grad += At(ctx, s, 16, t);
      h_grad += At(ctx, s, 17, t);
      LstmGradient step = LstmBackward(weights, StateAt(ctx, s, t), cs_prev, cs_grad, h_grad);
      const RowMatrix xh_grad = step.gates * weights.w.transpose();
      const RowMatrix step_x = xh_grad.leftCols(s.inputs);
      WriteMatrix(step_x, t * s.batch * s.inputs, x_grad);
      h_grad = xh_grad.rightCols(s.cells);
      cs_grad = std::move(step.cs_prev);
      w_grad.noalias() += InputAndOutput(ctx, s, t, h_prev).transpose() * step.gates;
      b_grad += step.gates.colwise().sum();
      wci_grad += step.wci;
      wcf_grad += step.wcf;
      wco_grad += step.wco;
    }
    RETURN_IF_ERROR(SetOutput(ctx, 1, Shape{s.batch, s.cells}, cs_grad));
    RETURN_IF_ERROR(SetOutput(ctx, 2, Shape{s.batch, s.cells}, h_grad));
    RETURN_IF_ERROR(SetOutput(ctx, 3, Shape{s.inputs + s.cells, 4 * s.cells}, w_grad));
    RETURN_IF_ERROR(SetOutput(ctx, 4, Shape{s.cells}, wci_grad));
    RETURN_IF_ERROR(SetOutput(ctx, 5, Shape{s.cells}, wcf_grad));
    RETURN_IF_ERROR(SetOutput(ctx, 6, Shape{s.cells}, wco_grad));
    return SetOutput(ctx, 7, Shape{4 * s.cells}, b_grad);
  }
};
REGISTER_KERNEL("LSTMBlockCellGrad", kCpu, LstmBackwardKernel<false>);
REGISTER_KERNEL("BlockLSTMGrad", kCpu, LstmBackwardKernel<true>);
REGISTER_KERNEL("BlockLSTMGradV2", kCpu, LstmBackwardKernel<true>);

}  // namespace
}  // namespace tessera
