// The passes of an LSTM by the micro-kernel for FMA. The rows of a batch do not depend on each
// other, so that a block of rows goes through all steps before the next block. The states and sums
// of a block then stay in the first-level cache, and the packed weights in the second-level cache.
#include "runtime/kernels/primitives/lstm_pass.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

using Floats = std::span<const float>;

// A matrix [depth, columns], packed in panels, that blocks of rows are multiplied by.
class Panels {
 public:
  // Packs `weights`. The result is empty if the micro-kernel rejects them.
  static absl::StatusOr<Panels> Pack(KernelContext& ctx, const gemm::Weights& weights) {
    const gemm::MicroKernel& kernel = gemm::FmaMicroKernel();
    Panels result(weights.depth, weights.columns);
    ASSIGN_OR_RETURN(
        result.packed_,
        ctx.AllocateTemp(DType::kInt8, {kernel.PackedSize(1, weights.depth, weights.columns)}));
    char* const to = static_cast<char*>(result.packed_.mutable_raw());
    const double nanoseconds =
        static_cast<double>(weights.depth * gemm::kBlock) / SpeedsForCpu().packed_floats;
    std::atomic<bool> has_products{true};
    ctx.ParallelFor(gemm::Blocks(weights.columns), nanoseconds, [&](int64_t begin, int64_t end) {
      if (!kernel.Pack(weights, begin, end, to)) has_products = false;
    });
    if (!has_products) result.packed_ = Tensor();
    return result;
  }

  bool empty() const { return !packed_.has_value(); }
  int64_t columns() const { return columns_; }

  // Returns the bytes of scratch memory that Multiply() needs for `count` rows.
  int64_t ScratchSize(int64_t count) const {
    const gemm::MicroKernel& kernel = gemm::FmaMicroKernel();
    return kernel.ReadsRowsInPlace(depth_) ? 0 : kernel.PackedRowsSize(count, depth_);
  }

  // Computes out = rows * matrix for `count` rows, at most kFmaRows, without gaps. It prefetches
  // `next`, each range while a share of the panels is multiplied.
  void Multiply(const float* rows, int64_t count, void* scratch, std::span<const Floats> next,
                float* out) const {
    const gemm::MicroKernel& kernel = gemm::FmaMicroKernel();
    gemm::Product product{
        .weights = packed_.raw(), .columns = columns_, .end_block = gemm::Blocks(depth_)};
    product.rows = {.count = count, .depth = depth_};
    if (kernel.ReadsRowsInPlace(depth_)) {
      product.rows.data = const_cast<float*>(rows);  // it is only read
    } else {
      product.rows.data = scratch;
      kernel.PackRows(rows, depth_, 0, count, product.rows);
    }
    int64_t row_offsets[gemm::kFmaRows];
    for (int64_t i = 0; i < count; ++i) row_offsets[i] = i * columns_;
    const int64_t panels = gemm::Blocks(columns_), shares = std::max<int64_t>(1, std::ssize(next));
    for (int64_t share = 0; share < shares; ++share) {
      const int64_t first = panels * share / shares, end = panels * (share + 1) / shares;
      if (share < std::ssize(next) && first < end) {
        product.prefetch = {.at = next[share].data(),
                            .size = static_cast<int64_t>(next[share].size_bytes()) / (end - first)};
      }
      for (int64_t panel = first; panel < end; ++panel) {
        kernel.MultiplyBlock(product, 0, count, panel, row_offsets, plain_, out);
        product.prefetch.at = static_cast<const char*>(product.prefetch.at) + product.prefetch.size;
      }
    }
  }

 private:
  Panels(int64_t depth, int64_t columns) : depth_(depth), columns_(columns) {}

  int64_t depth_, columns_;
  Epilogue plain_ = ClampEpilogue(PostOps(), nullptr);
  Tensor packed_;
};

// Returns the memory of the gates of `count` rows if the gates of a row lie side by side, and an
// empty span otherwise.
template <typename T>
Floats WholeRows(const LstmGates<T>& gates, int64_t units, int64_t count) {
  if (gates.stride != 4 * units) return {};
  return {std::min({gates.input, gates.forget, gates.cell, gates.output}),
          static_cast<size_t>(count * gates.stride)};
}

// Returns true if all values are 0, as initial states often are.
bool IsZero(const float* values, int64_t count) {
  return std::all_of(values, values + count, [](float x) { return x == 0; });
}

// Calls run(first, count) for the blocks of rows [begin, end).
template <typename Run>
void ForEachBlock(int64_t begin, int64_t end, int64_t most, const Run& run) {
  for (int64_t first = begin; first < end; first += most) run(first, std::min(most, end - first));
}

int64_t BlockSize(int64_t rows) { return gemm::EqualBlocks(rows, gemm::kFmaRows); }

class ForwardPass final : public LstmForwardPass {
 public:
  ForwardPass(int64_t units, const LstmGatePositions& positions, Panels panels)
      : units_(units), positions_(positions), panels_(std::move(panels)) {}

  absl::Status Run(KernelContext& ctx, const Operands& o, int64_t begin,
                   int64_t end) const override {
    const int64_t most = BlockSize(end - begin);
    ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DType::kFloat, {most, 4 * units_}));
    ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemp(DType::kInt8, {panels_.ScratchSize(most)}));
    ForEachBlock(begin, end, most, [&](int64_t first, int64_t count) {
      RunBlock(o, first, count, scratch.mutable_raw(), sums.data<float>());
    });
    return absl::OkStatus();
  }

 private:
  void RunBlock(const Operands& o, int64_t first, int64_t count, void* scratch, float* sums) const {
    const int64_t at = first * units_, wide_at = 4 * at;
    const size_t size = count * units_;
    const float *h = o.h0 + at, *c = o.c0 + at;
    for (int64_t t = 0; t < o.steps; ++t) {
      const LstmGates<float> gates = Advance(o.gates, t * o.gates_step + first * o.gates.stride);
      const Floats inputs_next = {o.inputs.At(t) + wide_at, 4 * size};
      Floats gates_next = WholeRows(gates, units_, count);
      if (gates_next.data() == inputs_next.data()) gates_next = {};
      const Floats used_next[] = {inputs_next,
                                  gates_next,
                                  {o.tanh_c.At(t) + at, size},
                                  {o.h.At(t) + at, size},
                                  {o.c.At(t) + at, size}};
      if (t == 0 && IsZero(h, size)) {
        std::fill_n(sums, 4 * size, 0.0f);  // the weights are finite
      } else {
        panels_.Multiply(h, count, scratch, used_next, sums);
      }
      float* const h_now = o.h.At(t) + at;
      float* const c_now = o.c.At(t) + at;
      cell_({.rows = count,
             .units = units_,
             .forget_bias = o.forget_bias,
             .cell_clip = o.cell_clip,
             .sums = GatesIn<const float>(sums, units_, positions_),
             .addends = GatesIn(o.inputs.At(t) + wide_at, units_, positions_),
             .peepholes = o.peepholes,
             .c_prev = c,
             .gates = gates,
             .c = c_now,
             .tanh_c = o.tanh_c.At(t) + at,
             .h = h_now});
      h = h_now;
      c = c_now;
    }
  }

  const int64_t units_;
  const LstmGatePositions positions_;
  const Panels panels_;
  LstmCell::Function* const cell_ = PrimitiveImplementations<LstmCell>::Find(kCpu);
};

void AddTo(const float* from, int64_t count, float* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

class BackwardPass final : public LstmBackwardPass {
 public:
  BackwardPass(int64_t units, const LstmGatePositions& positions, Panels panels)
      : units_(units), positions_(positions), panels_(std::move(panels)) {}

  absl::Status Run(KernelContext& ctx, const Operands& o, int64_t begin,
                   int64_t end) const override {
    const int64_t most = BlockSize(end - begin);
    ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemp(DType::kInt8, {panels_.ScratchSize(most)}));
    ForEachBlock(begin, end, most, [&](int64_t first, int64_t count) {
      RunBlock(o, first, count, scratch.mutable_raw());
    });
    return absl::OkStatus();
  }

 private:
  void RunBlock(const Operands& o, int64_t first, int64_t count, void* scratch) const {
    const int64_t at = first * units_, wide_at = 4 * at;
    float *const d_h = o.d_h + at, *const d_c = o.d_c + at;
    const size_t size = count * units_;
    LstmGates<const float> gates =
        Advance(o.gates, (o.steps - 1) * o.gates_step + first * o.gates.stride);
    for (int64_t t = o.steps; t-- > 0; gates = Advance(gates, -o.gates_step)) {
      if (o.d_y.first != nullptr) AddTo(o.d_y.At(t) + at, count * units_, d_h);
      if (o.d_cs.first != nullptr) AddTo(o.d_cs.At(t) + at, count * units_, d_c);
      float* const d_sums = o.d_sums.At(t) + wide_at;
      cell_({.rows = count,
             .units = units_,
             .gates = gates,
             .peepholes = o.peepholes,
             .c_prev = (t == 0 ? o.c0 : o.c.At(t - 1)) + at,
             .tanh_c = o.tanh_c.At(t) + at,
             .d_h = d_h,
             .d_c = d_c,
             .d_sums = GatesIn(d_sums, units_, positions_),
             .d_c_prev = d_c});
      if (t == 0) {
        panels_.Multiply(d_sums, count, scratch, {}, d_h);
        break;
      }
      const Floats gates_next = WholeRows(Advance(gates, -o.gates_step), units_, count);
      Floats d_sums_next = {o.d_sums.At(t - 1) + wide_at, 4 * size};
      if (d_sums_next.data() == gates_next.data()) d_sums_next = {};
      const Floats used_next[] = {gates_next,
                                  d_sums_next,
                                  {o.tanh_c.At(t - 1) + at, size},
                                  {(t == 1 ? o.c0 : o.c.At(t - 2)) + at, size}};
      panels_.Multiply(d_sums, count, scratch, used_next, d_h);
    }
  }

  const int64_t units_;
  const LstmGatePositions positions_;
  const Panels panels_;
  LstmCellGradient::Function* const cell_ = PrimitiveImplementations<LstmCellGradient>::Find(kCpu);
};

absl::StatusOr<std::unique_ptr<LstmForwardPass>> MakeForwardPass(KernelContext& ctx, int64_t units,
                                                                 const LstmGatePositions& positions,
                                                                 const float* recurrent) {
  ASSIGN_OR_RETURN(
      Panels panels,
      Panels::Pack(
          ctx, {.data = recurrent, .depth = units, .columns = 4 * units, .row_stride = 4 * units}));
  if (panels.empty()) return nullptr;
  return std::make_unique<ForwardPass>(units, positions, std::move(panels));
}
REGISTER_PRIMITIVE(LstmForwardPass, kCpu, MakeForwardPass);

absl::StatusOr<std::unique_ptr<LstmBackwardPass>> MakeBackwardPass(
    KernelContext& ctx, int64_t units, const LstmGatePositions& positions, const float* recurrent) {
  ASSIGN_OR_RETURN(Panels panels, Panels::Pack(ctx, {.data = recurrent,
                                                     .depth = 4 * units,
                                                     .columns = units,
                                                     .row_stride = 1,
                                                     .column_stride = 4 * units}));
  if (panels.empty()) return nullptr;
  return std::make_unique<BackwardPass>(units, positions, std::move(panels));
}
REGISTER_PRIMITIVE(LstmBackwardPass, kCpu, MakeBackwardPass);

}  // namespace
}  // namespace tessera
