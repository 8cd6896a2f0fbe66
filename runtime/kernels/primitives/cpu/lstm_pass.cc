// The passes of an LSTM by the micro-kernel for FMA. The rows of a batch do not depend on each
// other, so that a block of rows goes through all steps before the next block. The states and sums
// of a block then stay in the first-level cache, and the packed weights in the second-level cache.
// The time of a single row is that of reading the weights from there in each step, which threads
// share.
#include "runtime/kernels/primitives/lstm_pass.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/host/mapping_guard.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/lockstep.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

using Floats = std::span<const float>;

// A matrix [depth, columns], packed in panels, that blocks of rows are multiplied by.
class Panels {
 public:
  // Packs `weights`, whose columns are `groups` groups of equal size. The panels of all groups
  // alternate. If there are several groups, each must consist of whole panels. The result is empty
  // if the micro-kernel rejects the weights.
  static absl::StatusOr<Panels> Pack(KernelContext& ctx, const gemm::Weights& weights,
                                     int64_t groups, Allocator* allocator) {
    const gemm::MicroKernel& kernel = gemm::FmaMicroKernel();
    Panels result(weights.depth, weights.columns, groups);
    ASSIGN_OR_RETURN(
        result.packed_,
        Tensor::Allocate(DType::kInt8, {kernel.PackedSize(1, weights.depth, weights.columns)},
                         allocator));
    char* const to = static_cast<char*>(result.packed_.mutable_raw());
    const int64_t panel_size = kernel.PackedSize(1, weights.depth, gemm::kBlock);
    const double nanoseconds =
        static_cast<double>(weights.depth * gemm::kBlock) / SpeedsForCpu().packed_floats;
    std::atomic<bool> has_products{true};
    ctx.ParallelFor(result.count(), nanoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) {
        gemm::Weights part = weights;
        part.data += result.FirstColumn(panel) * weights.column_stride;
        part.columns -= result.FirstColumn(panel);
        if (!kernel.Pack(part, 0, 1, to + panel * panel_size)) has_products = false;
      }
    });
    if (!has_products) result.packed_ = Tensor();
    return result;
  }

  bool empty() const { return !packed_.has_value(); }
  int64_t count() const { return gemm::Blocks(columns_); }
  // Returns the bytes of the packed panels.
  int64_t size() const { return packed_.num_elements(); }

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
    gemm::Product product = Rows(const_cast<float*>(rows), count);  // they are only read
    if (!kernel.ReadsRowsInPlace(depth_)) {
      product.rows.data = scratch;
      kernel.PackRows(rows, depth_, 0, count, product.rows);
    }
    int64_t row_offsets[gemm::kFmaRows];
    for (int64_t i = 0; i < count; ++i) row_offsets[i] = i * columns_;
    const int64_t panels = this->count(), shares = std::max<int64_t>(1, std::ssize(next));
    for (int64_t share = 0; share < shares; ++share) {
      const int64_t first = panels * share / shares, end = panels * (share + 1) / shares;
      if (share < std::ssize(next) && first < end) {
        product.prefetch = {.at = next[share].data(),
                            .size = static_cast<int64_t>(next[share].size_bytes()) / (end - first)};
      }
      for (int64_t panel = first; panel < end; ++panel) {
        kernel.MultiplyBlock(product, 0, count, panel, row_offsets, plain_,
                             out + FirstColumn(panel) - panel * gemm::kBlock);
        product.prefetch.at = static_cast<const char*>(product.prefetch.at) + product.prefetch.size;
      }
    }
  }

  // Computes out = row * matrix for the panels [begin, end), in their order: the first column of a
  // panel is stored at out[panel * kBlock]. The panels may be read backwards.
  void MultiplyRow(const float* row, int64_t begin, int64_t end, bool backwards, float* out) const {
    // The micro-kernel for FMA reads a single row in place.
    gemm::Product product = Rows(const_cast<float*>(row), 1);
    product.backwards = backwards;
    const int64_t row_offset = 0;
    gemm::FmaMicroKernel().MultiplyPanels(product, 0, 1, begin, end, &row_offset, plain_, out);
  }

 private:
  Panels(int64_t depth, int64_t columns, int64_t groups)
      : depth_(depth), columns_(columns), groups_(groups) {}

  // Returns the column of the matrix with which a panel begins.
  int64_t FirstColumn(int64_t panel) const {
    return panel % groups_ * (columns_ / groups_) + panel / groups_ * gemm::kBlock;
  }

  gemm::Product Rows(float* rows, int64_t count) const {
    gemm::Product product{
        .weights = packed_.raw(), .columns = columns_, .end_block = gemm::Blocks(depth_)};
    product.rows = {.data = rows, .count = count, .depth = depth_};
    return product;
  }

  int64_t depth_, columns_, groups_;
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

// The units whose four gates lie side by side in the panels and in the sums of a single row: a
// panel of each gate if these consist of whole panels, and otherwise all units.
int64_t UnitsOfBlock(int64_t units) { return units % gemm::kBlock == 0 ? gemm::kBlock : units; }

class ForwardPass final : public LstmForwardPass {
 public:
  ForwardPass(const LstmWeights& weights, Panels panels)
      : units_(weights.units), positions_(weights.positions), panels_(std::move(panels)) {}

  absl::Status Run(KernelContext& ctx, const Operands& o, int64_t begin,
                   int64_t end) const override {
    if (end - begin == 1) return RunRow(ctx, o, begin);
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

  // Runs all steps of a single row, by blocks of units.
  absl::Status RunRow(KernelContext& ctx, const Operands& o, int64_t row) const {
    // The threads that share the step hand its outputs to each other in `outputs`, because all
    // steps may store theirs in the same place.
    ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemp(DType::kFloat, {6, units_}));
    float* const outputs[2] = {scratch.data<float>(), scratch.data<float>() + units_};
    float* const sums = outputs[1] + units_;
    std::copy_n(o.h0 + row * units_, units_, outputs[0]);
    const int64_t blocks = units_ / UnitsOfBlock(units_);
    // A share of a step is worth a thread if it takes a few times as long as to wait for another.
    constexpr int64_t kMinShareSize = 48 << 10;  // bytes of weights
    constexpr double kBytesPerNanosecond = 64;
    const int64_t shares = std::clamp<int64_t>(panels_.size() / kMinShareSize, 1,
                                               std::min<int64_t>(blocks, NumThreads(ctx)));
    const double nanoseconds =
        static_cast<double>(panels_.size()) / static_cast<double>(shares) / kBytesPerNanosecond;
    RunInLockstep(ctx, o.steps, shares, nanoseconds, [&](int64_t t, int64_t share) {
      const int64_t begin = blocks * share / shares, end = blocks * (share + 1) / shares;
      MultiplyRow(t, outputs[t % 2], begin, end, sums);
      // The peepholes of each block are others.
      const int64_t step = o.peepholes.input == nullptr ? end - begin : 1;
      for (int64_t block = begin; block < end; block += step) {
        RunBlocks(o, row, t, block, block + step, sums, outputs[(t + 1) % 2]);
      }
    });
    return absl::OkStatus();
  }

  // Computes the sums of the blocks [begin, end) of units in step t, by weights of which a step
  // finds those in the first-level cache that the one before has read last.
  void MultiplyRow(int64_t t, const float* h, int64_t begin, int64_t end, float* sums) const {
    const int64_t size = UnitsOfBlock(units_), panels = gemm::Blocks(4 * size);
    if (t == 0 && IsZero(h, units_)) {
      std::fill_n(sums + begin * 4 * size, (end - begin) * 4 * size, 0.0f);
    } else {
      panels_.MultiplyRow(h, begin * panels, end * panels, /*backwards=*/t % 2 == 1, sums);
    }
  }

  // Computes the blocks [begin, end) of units from their sums, as if they were rows of a batch.
  // Their outputs are also stored in `outputs`.
  void RunBlocks(const Operands& o, int64_t row, int64_t t, int64_t begin, int64_t end,
                 const float* sums, float* outputs) const {
    const int64_t size = UnitsOfBlock(units_), first = begin * size, at = row * units_ + first;
    LstmGates<const float> addends = GatesIn(o.inputs.At(t) + 4 * row * units_, units_, positions_);
    LstmGates<float> gates = Advance(o.gates, t * o.gates_step + row * o.gates.stride);
    addends.stride = gates.stride = size;
    const auto of_units = [&](const float* peepholes) {
      return peepholes == nullptr ? nullptr : peepholes + first;
    };
    float* const h = o.h.At(t) + at;
    cell_({.rows = end - begin,
           .units = size,
           .forget_bias = o.forget_bias,
           .cell_clip = o.cell_clip,
           .sums = GatesIn(sums + 4 * first, size, positions_),
           .addends = Advance(addends, first),
           .peepholes = {of_units(o.peepholes.input), of_units(o.peepholes.forget),
                         of_units(o.peepholes.output)},
           .c_prev = (t == 0 ? o.c0 : o.c.At(t - 1)) + at,
           .gates = Advance(gates, first),
           .c = o.c.At(t) + at,
           .tanh_c = o.tanh_c.At(t) + at,
           .h = h});
    std::copy_n(h, (end - begin) * size, outputs + first);
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
  BackwardPass(const LstmWeights& weights, Panels panels)
      : units_(weights.units), positions_(weights.positions), panels_(std::move(panels)) {}

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

absl::StatusOr<std::unique_ptr<LstmForwardPass>> MakeForwardPass(KernelContext& ctx,
                                                                 const LstmWeights& weights) {
  // AMX multiplies several rows by constant weights faster.
  if (weights.constant && SpeedsForCpu().has_amx) return nullptr;
  const int64_t units = weights.units, groups = UnitsOfBlock(units) == units ? 1 : 4;
  ASSIGN_OR_RETURN(
      Panels panels,
      Panels::Pack(ctx,
                   {.data = weights.recurrent,
                    .depth = units,
                    .columns = 4 * units,
                    .row_stride = 4 * units},
                   groups, weights.constant ? WeightsAllocator() : ctx.host_allocator()));
  if (panels.empty()) return nullptr;
  if (weights.constant) {
    ReleaseMappedPages({reinterpret_cast<const char*>(weights.recurrent),
                        static_cast<size_t>(4 * units * units) * sizeof(float)});
  }
  return std::make_unique<ForwardPass>(weights, std::move(panels));
}
REGISTER_PRIMITIVE(LstmForwardPass, kCpu, MakeForwardPass);

absl::StatusOr<std::unique_ptr<LstmBackwardPass>> MakeBackwardPass(KernelContext& ctx,
                                                                   const LstmWeights& weights) {
  ASSIGN_OR_RETURN(Panels panels, Panels::Pack(ctx,
                                               {.data = weights.recurrent,
                                                .depth = 4 * weights.units,
                                                .columns = weights.units,
                                                .row_stride = 1,
                                                .column_stride = 4 * weights.units},
                                               /*groups=*/1, ctx.host_allocator()));
  if (panels.empty()) return nullptr;
  return std::make_unique<BackwardPass>(weights, std::move(panels));
}
REGISTER_PRIMITIVE(LstmBackwardPass, kCpu, MakeBackwardPass);

}  // namespace
}  // namespace tessera
