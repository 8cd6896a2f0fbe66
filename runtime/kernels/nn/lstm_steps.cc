#include "runtime/kernels/nn/lstm_steps.h"

#include <algorithm>

#include "absl/base/casts.h"
#include "runtime/base/status.h"
#include "runtime/kernels/nn/batch_share.h"

namespace tessera {
namespace {

// Rows [begin, end) of the matrix of step t.
Tensor RowsAt(const Tensor& tensor, int64_t t, int64_t begin, int64_t end) {
  Tensor rows = tensor.SubSlice(tensor.dim(0) == 1 ? 0 : t);
  return end - begin == rows.dim(0) ? rows : rows.Slice(begin, end);
}
// Returns the number of floats before row `row` of the matrix of step t.
int64_t OffsetAt(const Tensor& tensor, int64_t t, int64_t row) {
  return ((tensor.dim(0) == 1 ? 0 : t) * tensor.dim(1) + row) * tensor.dim(2);
}

// Packing the weights takes as long as multiplying some 30 rows by them. The products of very few
// rows read the weights in place.
bool PackingPays(const LstmSizes& s) {
  constexpr int64_t kMinBatch = 5, kMinRows = 128;
  return s.batch >= kMinBatch && s.batch * s.steps >= kMinRows;
}

// The matrices of all steps, or the one that they share.
StepMatrices<float> MatricesOf(Tensor tensor) {
  const int64_t size = tensor.dim(1) * tensor.dim(2);
  return {tensor.data<float>(), tensor.dim(0) == 1 ? 0 : size};
}
StepMatrices<const float> ConstMatricesOf(const Tensor& tensor) {
  const int64_t size = tensor.dim(1) * tensor.dim(2);
  return {tensor.data<float>(), tensor.dim(0) == 1 ? 0 : size};
}

bool IsZero(const Tensor& tensor) {
  const float* const values = tensor.data<float>();
  return std::all_of(values, values + tensor.num_elements(), [](float x) { return x == 0; });
}

bool IsFinite(const Tensor& tensor) {
  constexpr uint32_t kExponent = 0x7f800000;
  const float* const values = tensor.data<float>();
  uint32_t largest = 0;
  for (int64_t i = 0, count = tensor.num_elements(); i < count; ++i) {
    largest = std::max(largest, absl::bit_cast<uint32_t>(values[i]) & kExponent);
  }
  return largest < kExponent;
}

void AddTo(const Tensor& addend, Tensor* sum) {
  const float* const from = addend.data<float>();
  float* const to = sum->data<float>();
  const int64_t count = sum->num_elements();
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

}  // namespace

template <typename StepOperands, typename Cell, typename Pass>
absl::Status LstmDirection<StepOperands, Cell, Pass>::Run(KernelContext& ctx,
                                                          const Operands& operands) const {
  const LstmSizes& s = operands.sizes;
  // There may be any number of steps if nothing is computed in them.
  if (s.units == 0 || s.batch == 0) return absl::OkStatus();
  std::unique_ptr<Pass> own;
  ASSIGN_OR_RETURN(const Pass* const pass, PassFor(ctx, operands, &own));
  const RecurrentRow row{.steps = s.steps, .units = s.units, .gates = 4};
  return ForEachBatchShare(ctx, s.batch, row, [&](int64_t begin, int64_t end) {
    return pass == nullptr ? RunRows(ctx, operands, begin, end)
                           : pass->Run(ctx, PassOperands(operands), begin, end);
  });
}

template <typename StepOperands, typename Cell, typename Pass>
absl::StatusOr<const Pass*> LstmDirection<StepOperands, Cell, Pass>::PassFor(
    KernelContext& ctx, const Operands& operands, std::unique_ptr<Pass>* own) const {
  const LstmSizes& s = operands.sizes;
  const Tensor& recurrent = operands.recurrent;
  if (kept_pass_ != nullptr && recurrent.raw() == kept_weights_.raw()) return kept_pass_.get();
  // The products keep a packed copy of constants.
  if (!is_fast_ || constant_.has_value() || !PackingPays(s)) return nullptr;
  ASSIGN_OR_RETURN(*own, make_pass_(ctx, {.units = s.units,
                                          .positions = s.positions,
                                          .recurrent = recurrent.data<float>()}));
  return own->get();
}

template <typename StepOperands, typename Cell, typename Pass>
absl::StatusOr<bool> LstmDirection<StepOperands, Cell, Pass>::KeepPass(
    const PrepareContext& context, const LstmGatePositions& positions, int64_t first, int64_t end) {
  const Tensor& w = constant_;
  const int64_t units = end - first;
  const bool fits = is_fast_ && w.has_value() && w.dtype() == DType::kFloat && w.rank() == 2 &&
                    first >= 0 && units > 0 && end <= w.dim(0) && w.dim(1) == 4 * units;
  if (!fits) return false;
  StepContext step;
  step.intra_op_pool = context.pool;
  KernelContext ctx(step, context.device);
  const Tensor recurrent = w.Slice(first, end);
  ASSIGN_OR_RETURN(kept_pass_, make_pass_(ctx, {.units = units,
                                                .positions = positions,
                                                .recurrent = recurrent.data<float>(),
                                                .constant = true}));
  if (kept_pass_ != nullptr) kept_weights_ = recurrent;
  return kept_pass_ != nullptr;
}

template class LstmDirection<LstmStepOperands, LstmCell, LstmForwardPass>;
template class LstmDirection<LstmGradientOperands, LstmCellGradient, LstmBackwardPass>;

absl::Status LstmSteps::Prepare(const PrepareContext& context, const LstmGatePositions& positions) {
  const int64_t rows = constant_.rank() == 2 ? constant_.dim(0) : 0;
  ASSIGN_OR_RETURN(const bool has_pass, KeepPass(context, positions, 0, rows));
  if (has_pass) return absl::OkStatus();
  return product_->Prepare(context, /*transpose_b=*/false, WeightUse::kEachStep);
}

absl::Status LstmSteps::PrepareRows(const PrepareContext& context,
                                    const LstmGatePositions& positions, int64_t first,
                                    int64_t end) {
  ASSIGN_OR_RETURN(const bool has_pass, KeepPass(context, positions, first, end));
  if (has_pass) return absl::OkStatus();
  return product_->PrepareRows(context, first, end, WeightUse::kEachStep);
}

LstmForwardOperands LstmSteps::PassOperands(const Operands& o) const {
  const StepMatrices<float> sums = MatricesOf(o.sums);
  const bool in_sums = o.gates.input == nullptr;
  return {.steps = o.sizes.steps,
          .forget_bias = o.forget_bias,
          .cell_clip = o.cell_clip,
          .peepholes = o.sizes.peepholes,
          .inputs = ConstMatricesOf(o.inputs),
          .h0 = o.h0.data<float>(),
          .c0 = o.c0.data<float>(),
          .gates = in_sums ? GatesIn(sums.first, o.sizes.units, o.sizes.positions) : o.gates,
          .gates_step = in_sums ? sums.step : o.gates_step,
          .c = MatricesOf(o.c),
          .tanh_c = MatricesOf(o.tanh_c),
          .h = MatricesOf(o.h)};
}

absl::Status LstmSteps::RunRows(KernelContext& ctx, const Operands& o, int64_t begin,
                                int64_t end) const {
  const int64_t units = o.sizes.units;
  const MatMulShape shape{.m = end - begin, .n = 4 * units, .k = units};
  const PostOps add{.add = true};
  // A step takes less than a microsecond per row: only what the product reads and writes is sliced.
  Tensor h = o.h0.Slice(begin, end), cells = o.c, squashed_cells = o.tanh_c;
  const float* c_prev = o.c0.data<float>() + begin * units;
  for (int64_t t = 0; t < o.sizes.steps; ++t) {
    const Tensor inputs = RowsAt(o.inputs, t, begin, end);
    Tensor sums = RowsAt(o.sums, t, begin, end);
    RETURN_IF_ERROR(product_->Run(ctx, shape, add, h, o.recurrent, {.addend = &inputs}, &sums));
    const LstmGates<float> in_sums = GatesIn(sums.data<float>(), units, o.sizes.positions);
    float* const c_now = cells.data<float>() + OffsetAt(cells, t, begin);
    Tensor h_now = RowsAt(o.h, t, begin, end);
    cell_({.rows = end - begin,
           .units = units,
           .forget_bias = o.forget_bias,
           .cell_clip = o.cell_clip,
           .sums = AsConst(in_sums),
           .peepholes = o.sizes.peepholes,
           .c_prev = c_prev,
           .gates = o.gates.input == nullptr
                        ? in_sums
                        : Advance(o.gates, t * o.gates_step + begin * o.gates.stride),
           .c = c_now,
           .tanh_c = squashed_cells.data<float>() + OffsetAt(squashed_cells, t, begin),
           .h = h_now.data<float>()});
    c_prev = c_now;
    h = std::move(h_now);
  }
  return absl::OkStatus();
}

LstmBackwardOperands LstmGradientSteps::PassOperands(const Operands& o) const {
  const auto if_given = [](const Tensor* tensor) {
    return tensor == nullptr ? StepMatrices<const float>() : ConstMatricesOf(*tensor);
  };
  Tensor d_h = o.d_h, d_c = o.d_c;
  return {.steps = o.sizes.steps,
          .peepholes = o.sizes.peepholes,
          .gates = o.gates,
          .gates_step = o.gates_step,
          .c0 = o.c0.data<float>(),
          .c = ConstMatricesOf(o.c),
          .tanh_c = ConstMatricesOf(o.tanh_c),
          .d_y = if_given(o.d_y),
          .d_cs = if_given(o.d_cs),
          .d_h = d_h.data<float>(),
          .d_c = d_c.data<float>(),
          .d_sums = MatricesOf(o.d_sums)};
}

absl::Status LstmGradientSteps::RunRows(KernelContext& ctx, const Operands& o, int64_t begin,
                                        int64_t end) const {
  const int64_t units = o.sizes.units;
  const MatMulShape shape{.m = end - begin, .n = units, .k = 4 * units, .transpose_b = true};
  Tensor d_h = o.d_h.Slice(begin, end), d_c = o.d_c.Slice(begin, end);
  for (int64_t t = o.sizes.steps; t-- > 0;) {
    if (o.d_y != nullptr) AddTo(RowsAt(*o.d_y, t, begin, end), &d_h);
    if (o.d_cs != nullptr) AddTo(RowsAt(*o.d_cs, t, begin, end), &d_c);
    const Tensor c_prev = t == 0 ? o.c0.Slice(begin, end) : RowsAt(o.c, t - 1, begin, end);
    Tensor d_sums = RowsAt(o.d_sums, t, begin, end);
    cell_({.rows = end - begin,
           .units = units,
           .gates = Advance(o.gates, t * o.gates_step + begin * o.gates.stride),
           .peepholes = o.sizes.peepholes,
           .c_prev = c_prev.data<float>(),
           .tanh_c = RowsAt(o.tanh_c, t, begin, end).data<float>(),
           .d_h = d_h.data<float>(),
           .d_c = d_c.data<float>(),
           .d_sums = GatesIn(d_sums.data<float>(), units, o.sizes.positions),
           .d_c_prev = d_c.data<float>()});
    RETURN_IF_ERROR(product_->Run(ctx, shape, PostOps(), d_sums, o.recurrent, {}, &d_h));
  }
  return absl::OkStatus();
}

absl::Status LstmGradientSteps::RecurrentGradient(KernelContext& ctx, const Tensor& h0,
                                                  const Tensor& h, const Tensor& d_sums,
                                                  Tensor* gradient) const {
  const int64_t steps = d_sums.dim(0), batch = d_sums.dim(1);
  MatMulShape shape{.m = gradient->dim(0),
                    .n = gradient->dim(1),
                    .k = steps == 0 ? 0 : batch,
                    .transpose_a = true};
  const Tensor d_first = d_sums.Slice(0, std::min<int64_t>(steps, 1));
  const bool has_first = steps <= 1 || !(IsZero(h0) && IsFinite(d_first));
  if (has_first) {
    RETURN_IF_ERROR(product_->Run(ctx, shape, PostOps(), h0, d_first, {}, gradient));
    if (steps <= 1) return absl::OkStatus();
  }
  shape.k = (steps - 1) * batch;
  return product_->Run(ctx, shape, {.add = has_first}, h.Slice(0, steps - 1),
                       d_sums.Slice(1, steps), {.addend = has_first ? gradient : nullptr},
                       gradient);
}

}  // namespace tessera
