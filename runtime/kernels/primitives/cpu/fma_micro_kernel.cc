#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "runtime/kernels/primitives/cpu/fma_inner_loop.h"

namespace tessera::gemm {
namespace {

// The number of terms to accumulate in registers before they are added to the sums in memory.
// Longer runs would lose accuracy.
constexpr int64_t kDepthBlock = 256;
constexpr int64_t kRows = kFmaRows;
static_assert(kRows == kRegisterRows);

// Computes the sums of kCount rows and kVectors * 16 columns, and stores them through `to`, or in
// `sums` of kRows x kBlock if `to` is null.
template <int kCount, int kVectors>
void Sum(const Product& p, int64_t first, const float* weights, const Destination* to,
         float* sums) {
  __m512 s[kCount][kVectors];
  const auto for_each = [&](auto&& apply) __attribute__((always_inline)) {
#pragma GCC unroll 14
    for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) apply(s[i][v], sums + i * kBlock + 16 * v);
    }
  };
  for_each([](__m512& x, float*) { x = _mm512_setzero_ps(); });
  const int64_t step = ConflictFreeStride(p.rows.depth), begin = p.first_block * kBlock;
  const int64_t end = p.end_block * kBlock < p.rows.depth ? p.end_block * kBlock : p.rows.depth;
  const int64_t strides = p.positions * ((end - begin) / kStride) + 1;
  const PrefetchRange next{.at = p.prefetch, .size = p.prefetch_bytes};
  Prefetcher prefetch(std::span(&next, 1), strides);
  int64_t in_registers = 0;
  bool in_memory = false;
  for (int64_t position = 0; position < p.positions; ++position) {
    const int64_t row = first + (p.shifts == nullptr ? 0 : p.shifts[position]);
    const float* const rows = static_cast<const float*>(p.rows.data) + row * step;
    const float* const matrix = weights + position * p.rows.depth * kBlock;
    for (int64_t from = begin; from < end; from += kDepthBlock) {
      if (in_registers >= kDepthBlock) {
        for_each([&](__m512& x, float* at) {
          _mm512_store_ps(at, in_memory ? _mm512_add_ps(_mm512_load_ps(at), x) : x);
          x = _mm512_setzero_ps();
        });
        in_registers = 0;
        in_memory = true;
      }
      const int64_t depth = end - from < kDepthBlock ? end - from : kDepthBlock;
      AccumulateSlice<kCount, kVectors>({.rows = rows + from, .step = step, .depth = depth},
                                        PanelSlice(matrix + from * kBlock), &prefetch, s);
      in_registers += depth;
    }
  }
  if (in_memory) {
    for_each([](__m512& x, float* at) { x = _mm512_add_ps(_mm512_load_ps(at), x); });
  }
  if (to == nullptr) {
    for_each([](__m512& x, float* at) { _mm512_store_ps(at, x); });
    return;
  }
  StoreRows<kCount, kVectors>(*to, s);
}

using SumFunction = void (*)(const Product& p, int64_t first, const float* weights,
                             const Destination* to, float* sums);

// The functions for each number of rows and vectors, as [rows - 1][vectors - 1].
constexpr SumFunction kSums[kRows][2] = {
    {Sum<1, 1>, Sum<1, 2>},   {Sum<2, 1>, Sum<2, 2>},   {Sum<3, 1>, Sum<3, 2>},
    {Sum<4, 1>, Sum<4, 2>},   {Sum<5, 1>, Sum<5, 2>},   {Sum<6, 1>, Sum<6, 2>},
    {Sum<7, 1>, Sum<7, 2>},   {Sum<8, 1>, Sum<8, 2>},   {Sum<9, 1>, Sum<9, 2>},
    {Sum<10, 1>, Sum<10, 2>}, {Sum<11, 1>, Sum<11, 2>}, {Sum<12, 1>, Sum<12, 2>},
    {Sum<13, 1>, Sum<13, 2>}, {Sum<14, 1>, Sum<14, 2>}};

// One row and one panel make two sums, each of which waits for its last addition. Several panels
// side by side keep the processor busy.
constexpr int64_t kSkinnyRows = 2, kPanelGroup = 4;

// Computes the rows of kPanelGroup panels of a product with one position. The additions and their
// order are those of Sum().
template <int kCount>
void SumPanels(const Product& p, int64_t first, const float* weights, const Destination& to) {
  constexpr int kVectors = 2 * kPanelGroup;
  const int64_t step = ConflictFreeStride(p.rows.depth), begin = p.first_block * kBlock;
  const int64_t end = std::min(p.end_block * kBlock, p.rows.depth);
  const float* const rows = static_cast<const float*>(p.rows.data) + first * step;
  __m512 sums[kCount][kVectors];
  for (int64_t from = begin; from < end; from += kDepthBlock) {
    __m512 part[kCount][kVectors];
#pragma GCC unroll 2
    for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) part[i][v] = _mm512_setzero_ps();
    }
    const int64_t until = std::min(from + kDepthBlock, end);
    for (int64_t term = from; term < until; ++term) {
      const float* const panels = weights + term * kBlock;
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const __m512 w = _mm512_loadu_ps(panels + v / 2 * p.rows.depth * kBlock + v % 2 * 16);
#pragma GCC unroll 2
        for (int i = 0; i < kCount; ++i) {
          part[i][v] = _mm512_fmadd_ps(_mm512_set1_ps(rows[i * step + term]), w, part[i][v]);
        }
      }
    }
#pragma GCC unroll 2
    for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = from == begin ? part[i][v] : _mm512_add_ps(sums[i][v], part[i][v]);
      }
    }
  }
  StoreRows<kCount, kVectors>(to, sums);
}

// Applies the activation to `count` outputs, at most those of kPanelGroup panels, in whole vectors
// as StoreBlock() does.
void Activate(const Epilogue& epilogue, int64_t count, float* values) {
  alignas(64) float whole[kPanelGroup * kBlock] = {};
  std::copy_n(values, count, whole);
  epilogue.activate(epilogue.alpha, whole, kPanelGroup * kBlock);
  std::copy_n(whole, count, values);
}

// Swaps the rows and columns of 16 x 16 floats.
void Transpose(__m512 (&x)[16]) {
  __m512 pairs[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  }
  // Lane l of quads[4 * i + c] holds column 4 * l + c of the rows from 4 * i on.
  __m512 quads[16];
  const auto join = [](__m512 a, __m512 b, auto unpack) __attribute__((always_inline)) {
    return _mm512_castpd_ps(unpack(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  const auto low = [](__m512d a, __m512d b) { return _mm512_unpacklo_pd(a, b); };
  const auto high = [](__m512d a, __m512d b) { return _mm512_unpackhi_pd(a, b); };
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    quads[i] = join(pairs[i], pairs[i + 2], low);
    quads[i + 1] = join(pairs[i], pairs[i + 2], high);
    quads[i + 2] = join(pairs[i + 1], pairs[i + 3], low);
    quads[i + 3] = join(pairs[i + 1], pairs[i + 3], high);
  }
  constexpr int kEven = 0x88, kOdd = 0xdd;  // lanes
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512 even = _mm512_shuffle_f32x4(quads[c], quads[4 + c], kEven);
    const __m512 odd = _mm512_shuffle_f32x4(quads[c], quads[4 + c], kOdd);
    const __m512 next_even = _mm512_shuffle_f32x4(quads[8 + c], quads[12 + c], kEven);
    const __m512 next_odd = _mm512_shuffle_f32x4(quads[8 + c], quads[12 + c], kOdd);
    x[c] = _mm512_shuffle_f32x4(even, next_even, kEven);
    x[4 + c] = _mm512_shuffle_f32x4(odd, next_odd, kEven);
    x[8 + c] = _mm512_shuffle_f32x4(even, next_even, kOdd);
    x[12 + c] = _mm512_shuffle_f32x4(odd, next_odd, kOdd);
  }
}

// Packs weights, and keeps the largest exponent among them.
class Packer {
 public:
  explicit Packer(const Weights& weights) : w_(weights) {}

  // Packs at most 16 columns, from `column` on, of at most 16 terms of one position. `from` points
  // to the first of these weights.
  void Pack(const float* from, int64_t column, int64_t count, float* to) {
    const __mmask16 mask = First(w_.columns - column);
    if (w_.row_stride != 1 || w_.column_stride == 1 || count < 16 || mask != 0xffff) {
      for (int64_t i = 0; i < count; ++i) {
        Store(Load(from + i * w_.row_stride, w_.column_stride, mask), to + i * kBlock);
      }
      return;
    }
    // The weights are stored by columns: the terms of a column lie side by side.
    __m512 x[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) x[i] = _mm512_loadu_ps(from + i * w_.column_stride);
    Transpose(x);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) Store(x[i], to + i * kBlock);
  }

  bool is_finite() const { return _mm512_reduce_max_epu32(largest_) < kExponent; }

 private:
  static constexpr uint32_t kExponent = 0x7f800000;

  void Store(__m512 x, float* to) {
    const __m512i exponent = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(kExponent));
    largest_ = _mm512_max_epu32(largest_, exponent);
    _mm512_storeu_ps(to, x);
  }

  const Weights& w_;
  __m512i largest_ = _mm512_setzero_si512();
};

class Kernel final : public MicroKernel {
 public:
  int64_t PackedSize(int64_t positions, int64_t depth, int64_t columns) const override {
    return Blocks(columns) * positions * depth * kBlock * sizeof(float);
  }

  bool Pack(const Weights& w, int64_t begin, int64_t end, char* packed) const override {
    constexpr int64_t kHalf = kBlock / 2;
    float* to = reinterpret_cast<float*>(packed + begin * PackedSize(w.positions, w.depth, 1));
    Packer packer(w);
    for (int64_t column = begin * kBlock; column < end * kBlock; column += kBlock) {
      for (int64_t position = 0; position < w.positions; ++position) {
        const float* const matrix = w.data + position * w.depth * w.columns;
        for (int64_t term = 0; term < w.depth; term += kHalf) {
          const int64_t count = std::min(kHalf, w.depth - term);
          for (int64_t half = 0; half < kBlock; half += kHalf) {
            packer.Pack(matrix + term * w.row_stride + (column + half) * w.column_stride,
                        column + half, count, to + half);
          }
          to += count * kBlock;
        }
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
    const int64_t columns = p.columns - panel * kBlock;
    const float* const weights = reinterpret_cast<const float*>(
        p.weights + panel * PackedSize(p.positions, p.rows.depth, 1));
    const SumFunction sum = kSums[count - 1][columns > 16];
    if (epilogue.activate != nullptr) {
      sum(p, first, weights, nullptr, sums);
      StoreBlock(epilogue, panel, count, p.columns, row_offsets, out, sums);
      return;
    }
    Epilogue end = epilogue;
    if (end.bias != nullptr) end.bias += panel * kBlock;
    const Destination to{end, row_offsets, columns, out + panel * kBlock};
    sum(p, first, weights, &to, sums);
  }

  void MultiplyPanels(const Product& p, int64_t first, int64_t count, int64_t panel, int64_t end,
                      const int64_t* row_offsets, const Epilogue& epilogue,
                      float* out) const override {
    const bool in_groups = count <= kSkinnyRows && p.positions == 1 && p.shifts == nullptr &&
                           p.first_block < p.end_block;
    for (; in_groups && panel + kPanelGroup <= end; panel += kPanelGroup) {
      Epilogue last = epilogue;
      if (last.bias != nullptr) last.bias += panel * kBlock;
      const Destination to{last, row_offsets, p.columns - panel * kBlock, out + panel * kBlock};
      const float* const weights =
          reinterpret_cast<const float*>(p.weights + panel * PackedSize(1, p.rows.depth, 1));
      count == 1 ? SumPanels<1>(p, first, weights, to) : SumPanels<2>(p, first, weights, to);
      for (int64_t i = 0; i < count && epilogue.activate != nullptr; ++i) {
        if (row_offsets[i] < 0) continue;
        Activate(epilogue, std::min(to.columns, kPanelGroup * kBlock), to.out + row_offsets[i]);
      }
    }
    MicroKernel::MultiplyPanels(p, first, count, panel, end, row_offsets, epilogue, out);
  }

  void ConfigureTiles() const override {}
  void ReleaseTiles() const override {}

 private:
  static float* At(const Rows& rows, int64_t row) {
    return static_cast<float*>(rows.data) + row * ConflictFreeStride(rows.depth);
  }
};

}  // namespace

const MicroKernel& FmaMicroKernel() {
  static const Kernel kernel;
  return kernel;
}

}  // namespace tessera::gemm
