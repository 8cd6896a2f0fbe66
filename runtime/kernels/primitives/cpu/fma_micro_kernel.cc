#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/kernels/primitives/cpu/fma_inner_loop.h"

namespace tessera::gemm::TESSERA_VECTOR_ABI {
namespace {

// The number of terms to accumulate in registers before they are added to the sums in memory.
// Longer runs would lose accuracy.
constexpr int64_t kDepthBlock = 256;
static_assert(kRegisterRows <= kFmaRows);
// The largest row block. Where few rows fit in the registers, several groups of them are multiplied
// by a strip of weights one after the other, while it stays in the first-level cache.
constexpr int64_t kRows = kStrips == 1 ? kRegisterRows : 5 * kRegisterRows;
static_assert(kRows <= kMaxRows);

// Computes the sums of kCount rows and kVectors * kLanes columns of a strip, and stores them
// through `to`, or in `sums`, whose rows lie kBlock floats apart, if `to` is null.
template <int kCount, int kVectors>
void Sum(const Product& p, int64_t first, const float* weights, Prefetcher* prefetch,
         const Destination* to, float* sums) {
  Vector s[kCount][kVectors];
  const auto for_each = [&](auto&& apply) __attribute__((always_inline)) {
#pragma GCC unroll 14
    for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) apply(s[i][v], sums + i * kBlock + kLanes * v);
    }
  };
  for_each([](Vector& x, float*) { x = Vector{}; });
  // Few rows of a strip take little longer than to fetch the lines that their sums go to.
  if (kStrips > 1 && to != nullptr) PrefetchRows<kCount>(*to);
  const int64_t step = ConflictFreeStride(p.rows.depth), begin = p.first_block * kBlock;
  const int64_t end = p.end_block * kBlock < p.rows.depth ? p.end_block * kBlock : p.rows.depth;
  int64_t in_registers = 0;
  bool in_memory = false;
  for (int64_t position = 0; position < p.positions; ++position) {
    const int64_t row = first + (p.shifts == nullptr ? 0 : p.shifts[position]);
    const float* const rows = static_cast<const float*>(p.rows.data) + row * step;
    const float* const matrix = weights + position * p.rows.depth * kBlock;
    for (int64_t from = begin; from < end; from += kDepthBlock) {
      if (in_registers >= kDepthBlock) {
        for_each([&](Vector& x, float* at) {
          Store(in_memory ? Load(at) + x : x, at);
          x = Vector{};
        });
        in_registers = 0;
        in_memory = true;
      }
      const int64_t depth = end - from < kDepthBlock ? end - from : kDepthBlock;
      AccumulateSlice<kCount, kVectors>({.rows = rows + from, .step = step, .depth = depth},
                                        PanelSlice(matrix + from * kStripColumns), prefetch, s);
      in_registers += depth;
    }
  }
  if (in_memory) {
    for_each([](Vector& x, float* at) { x = Load(at) + x; });
  }
  if (to == nullptr) {
    for_each([](Vector& x, float* at) { Store(x, at); });
    return;
  }
  StoreRows<kCount, kVectors>(*to, s);
}

using SumFunction = void (*)(const Product& p, int64_t first, const float* weights,
                             Prefetcher* prefetch, const Destination* to, float* sums);

template <int... kCount>
constexpr std::array<std::array<SumFunction, kStripVectors>, kRegisterRows> SumFunctions(
    std::integer_sequence<int, kCount...>) {
  static_assert(kStripVectors == 2);
  return {{{Sum<kCount + 1, 1>, Sum<kCount + 1, 2>}...}};
}

// The functions for each number of rows and vectors, as [rows - 1][vectors - 1].
constexpr auto kSums = SumFunctions(std::make_integer_sequence<int, kRegisterRows>());

// One row and one panel make few sums, each of which waits for its last addition. Several panels
// side by side keep the processor busy.
constexpr int64_t kSkinnyRows = 2, kMaxPanelGroup = 4;

// The number of panels that kCount rows are multiplied by together.
template <int kCount>
constexpr int64_t kPanelGroup = kLanes == 16 ? kMaxPanelGroup : 2 / kCount;

// Computes the rows of kPanelGroup panels of a product with one position. The additions are those
// of Sum(), and so is their order unless it is reversed.
template <int kCount>
void SumPanels(const Product& p, int64_t first, const float* weights, const Destination& to) {
  constexpr int kVectors = kPanelGroup<kCount> * kBlock / kLanes;
  const int64_t step = ConflictFreeStride(p.rows.depth), begin = p.first_block * kBlock;
  const int64_t depth = std::min(p.end_block * kBlock, p.rows.depth) - begin;
  const float* const rows = static_cast<const float*>(p.rows.data) + first * step;
  const int64_t advance = p.backwards ? -1 : 1;
  int64_t term = p.backwards ? begin + depth - 1 : begin;
  Vector sums[kCount][kVectors];
  for (int64_t done = 0; done < depth; done += kDepthBlock) {
    Vector part[kCount][kVectors];
#pragma GCC unroll 2
    for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) part[i][v] = Vector{};
    }
    for (int64_t left = std::min(kDepthBlock, depth - done); left > 0; --left, term += advance) {
      const float* const strips = weights + term * kStripColumns;
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const int64_t strip = v / kStripVectors, lane = v % kStripVectors * kLanes;
        const Vector w = Load(strips + strip * p.rows.depth * kStripColumns + lane);
#pragma GCC unroll 2
        for (int i = 0; i < kCount; ++i) part[i][v] += Broadcast(rows[i * step + term]) * w;
      }
    }
#pragma GCC unroll 2
    for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = done == 0 ? part[i][v] : sums[i][v] + part[i][v];
      }
    }
  }
  StoreRows<kCount, kVectors>(to, sums);
}

// Applies the activation to `count` outputs, at most those of kMaxPanelGroup panels, in whole
// vectors as StoreBlock() does.
void Activate(const Epilogue& epilogue, int64_t count, float* values) {
  alignas(64) float whole[kMaxPanelGroup * kBlock] = {};
  std::copy_n(values, count, whole);
  epilogue.activate(epilogue.alpha, whole, kMaxPanelGroup * kBlock);
  std::copy_n(whole, count, values);
}

// Exchanges the elements (i, j + kDistance) and (i + kDistance, j) of all squares of 2 * kDistance
// rows and columns, where i and j are less than kDistance, and then those of smaller squares. From
// kLanes / 2 on, this swaps the rows and columns of kLanes x kLanes floats.
template <int kDistance, int... kLane>
void Transpose(Vector (&x)[kLanes], std::integer_sequence<int, kLane...> lanes) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if (i & kDistance) continue;
    const Vector upper = x[i], lower = x[i + kDistance];
    x[i] = __builtin_shufflevector(upper, lower,
                                   (kLane & kDistance ? kLanes + kLane - kDistance : kLane)...);
    x[i + kDistance] = __builtin_shufflevector(
        upper, lower, (kLane & kDistance ? kLanes + kLane : kLane + kDistance)...);
  }
  if constexpr (kDistance > 1) Transpose<kDistance / 2>(x, lanes);
}

// Packs weights, and keeps the largest exponent among them.
class Packer {
 public:
  explicit Packer(const Weights& weights) : w_(weights) {}

  // Packs at most kLanes columns, from `column` on, of at most kLanes terms of one position. `from`
  // points to the first of these weights, and `to` to their place in a strip.
  void Pack(const float* from, int64_t column, int64_t count, float* to) {
    const int64_t columns = w_.columns - column;
    if (w_.row_stride != 1 || w_.column_stride == 1 || count < kLanes || columns < kLanes) {
      for (int64_t i = 0; i < count; ++i) {
        Put(LoadStepped(from + i * w_.row_stride, w_.column_stride, columns),
            to + i * kStripColumns);
      }
      return;
    }
    // The weights are stored by columns: the terms of a column lie side by side.
    Vector x[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) x[i] = Load(from + i * w_.column_stride);
    Transpose<kLanes / 2>(x, std::make_integer_sequence<int, kLanes>());
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) Put(x[i], to + i * kStripColumns);
  }

  bool is_finite() const {
    bool result = true;
    for (int i = 0; i < kLanes; ++i) result &= largest_[i] < kExponent;
    return result;
  }

 private:
  static constexpr uint32_t kExponent = 0x7f800000;

  void Put(Vector x, float* to) {
    const Words exponent = BitsOf(x) & kExponent;
    largest_ = exponent > largest_ ? exponent : largest_;
    Store(x, to);
  }

  const Weights& w_;
  Words largest_{};
};

class Kernel final : public MicroKernel {
 public:
  int64_t PackedSize(int64_t positions, int64_t depth, int64_t columns) const override {
    return Blocks(columns) * positions * depth * kBlock * sizeof(float);
  }

  int64_t strips() const override { return kStrips; }

  bool Pack(const Weights& w, int64_t begin, int64_t end, char* packed) const override {
    float* to = reinterpret_cast<float*>(packed + begin * PackedSize(w.positions, w.depth, 1));
    Packer packer(w);
    for (int64_t column = begin * kBlock; column < end * kBlock; column += kBlock) {
      for (int64_t position = 0; position < w.positions; ++position) {
        const float* const matrix = w.data + position * w.depth * w.columns;
        for (int64_t term = 0; term < w.depth; term += kLanes) {
          const int64_t count = std::min<int64_t>(kLanes, w.depth - term);
          for (int64_t lane = 0; lane < kBlock; lane += kLanes) {
            packer.Pack(matrix + term * w.row_stride + (column + lane) * w.column_stride,
                        column + lane, count,
                        to + (lane / kStripColumns * w.depth + term) * kStripColumns +
                            lane % kStripColumns);
          }
        }
        to += w.depth * kBlock;
      }
    }
    return packer.is_finite();
  }

  int64_t skinny_rows() const override { return kSkinnyRows; }

  int64_t row_granularity() const override { return 1; }

  int64_t RowBlockSize(int64_t length) const override { return EqualBlocks(length, kRows); }

  int64_t PackedRowsSize(int64_t count, int64_t depth) const override {
    return count * ConflictFreeStride(depth) * sizeof(float);
  }

  bool ReadsRowsInPlace(int64_t depth) const override { return ConflictFreeStride(depth) == depth; }

  bool PackRows(const float* from, int64_t step, int64_t row, int64_t count,
                const Rows& rows) const override {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(At(rows, row + i), from + i * step, rows.depth * sizeof(float));
    }
    return true;
  }

  void ClearRows(int64_t row, int64_t count, const Rows& rows) const override {
    std::memset(At(rows, row), 0, PackedRowsSize(count, rows.depth));
  }

  void MultiplyBlock(const Product& p, int64_t first, int64_t count, int64_t panel,
                     const int64_t* row_offsets, const Epilogue& epilogue,
                     float* out) const override {
    alignas(64) float sums[kRows * kBlock];
    const int64_t columns = std::min(kBlock, p.columns - panel * kBlock);
    const int64_t groups = (count + kRegisterRows - 1) / kRegisterRows;
    const int64_t strips = (columns + kStripColumns - 1) / kStripColumns;
    const int64_t depth = std::min(p.end_block * kBlock, p.rows.depth) - p.first_block * kBlock;
    Prefetcher prefetch(std::span(&p.prefetch, 1),
                        groups * strips * p.positions * (depth / kStride) + 1);
    const float* weights = reinterpret_cast<const float*>(
        p.weights + panel * PackedSize(p.positions, p.rows.depth, 1));
    for (int64_t column = 0; column < columns; column += kStripColumns) {
      Epilogue end = epilogue;
      if (end.bias != nullptr) end.bias += panel * kBlock + column;
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t row = count * group / groups, rows = count * (group + 1) / groups - row;
        const Destination to{end, row_offsets + row, columns - column,
                             out + panel * kBlock + column};
        kSums[rows - 1][to.columns > kLanes](p, first + row, weights, &prefetch,
                                             epilogue.activate == nullptr ? &to : nullptr,
                                             sums + row * kBlock + column);
      }
      weights += p.rows.depth * kStripColumns;
    }
    if (epilogue.activate != nullptr) {
      StoreBlock<kBlock>(epilogue, panel * kBlock, count, p.columns, row_offsets, out, sums);
    }
  }

  void MultiplyPanels(const Product& p, int64_t first, int64_t count, int64_t panel, int64_t end,
                      const int64_t* row_offsets, const Epilogue& epilogue,
                      float* out) const override {
    if (p.positions == 1 && p.shifts == nullptr && p.first_block < p.end_block) {
      if (count == 1) panel = MultiplyGroups<1>(p, first, panel, end, row_offsets, epilogue, out);
      if (count == 2) panel = MultiplyGroups<2>(p, first, panel, end, row_offsets, epilogue, out);
    }
    MicroKernel::MultiplyPanels(p, first, count, panel, end, row_offsets, epilogue, out);
  }

  void ConfigureTiles() const override {}
  void ReleaseTiles() const override {}

 private:
  // Computes kCount rows of whole groups of the panels [panel, end). Returns the first panel that
  // is left.
  template <int kCount>
  int64_t MultiplyGroups(const Product& p, int64_t first, int64_t panel, int64_t end,
                         const int64_t* row_offsets, const Epilogue& epilogue, float* out) const {
    constexpr int64_t kGroup = kPanelGroup<kCount>;
    const int64_t groups = std::max<int64_t>(0, end - panel) / kGroup,
                  rest = panel + groups * kGroup;
    for (int64_t group = 0; group < groups; ++group) {
      panel = p.backwards ? rest - (group + 1) * kGroup : rest - (groups - group) * kGroup;
      Epilogue last = epilogue;
      if (last.bias != nullptr) last.bias += panel * kBlock;
      const Destination to{last, row_offsets, p.columns - panel * kBlock, out + panel * kBlock};
      SumPanels<kCount>(
          p, first,
          reinterpret_cast<const float*>(p.weights + panel * PackedSize(1, p.rows.depth, 1)), to);
      for (int64_t i = 0; i < kCount && epilogue.activate != nullptr; ++i) {
        if (row_offsets[i] < 0) continue;
        Activate(epilogue, std::min(to.columns, kGroup * kBlock), to.out + row_offsets[i]);
      }
    }
    return rest;
  }

  static float* At(const Rows& rows, int64_t row) {
    return static_cast<float*>(rows.data) + row * ConflictFreeStride(rows.depth);
  }
};

}  // namespace

const MicroKernel& FmaMicroKernel() {
  static const Kernel kernel;
  return kernel;
}

}  // namespace tessera::gemm::TESSERA_VECTOR_ABI
