#include "runtime/kernels/primitives/cpu/amx_micro_kernel.h"

#include <immintrin.h>

#include <cstring>

#include "runtime/kernels/primitives/cpu/vector_epilogue.h"

#ifdef TESSERA_EMULATED_TILES
#include "runtime/kernels/primitives/cpu/emulated_amx.h"
#define AmxMicroKernel EmulatedAmxMicroKernel
#endif

namespace tessera::gemm {
namespace {

using namespace TESSERA_VECTOR_ABI;

// The number of rows in a block.
constexpr int64_t kRows = 32;
// The number of bfloat16 parts of a float.
constexpr int64_t kParts = 3;

// The bits of 2^62. The products of parts of larger numbers could overflow to infinities of both
// signs, whose sum is NaN, where the product of the floats is a single infinity.
constexpr uint32_t kTooLarge = (127 + 62) << 23;
constexpr int64_t kTile = 512;  // elements of a bfloat16 tile: 16 rows of 32
// The number of elements of the packed weights for one depth block: two tiles for each part.
constexpr int64_t kStep = kParts * 2 * kTile;
constexpr int64_t kLine = 64;  // bytes of a cache line

// Returns the number of elements in a panel.
int64_t PanelSize(int64_t positions, int64_t depth) { return positions * Blocks(depth) * kStep; }

// Returns the bfloat16 nearest to x, in the upper halves of the lanes. Ties round away from zero.
inline __m512i Round(__m512 x) {
  const __m512i bits = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
  return _mm512_and_si512(bits, _mm512_set1_epi32(0xffff0000));
}

inline __m512i Magnitude(__m512 x) {
  return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
}

// Subtracts from x its nearest bfloat16, which is returned.
inline __m512i TakePart(__m512& x) {
  const __m512i part = Round(x);
  x = _mm512_sub_ps(x, _mm512_castsi512_ps(part));
  return part;
}

// Interleaves the elements of two terms, as AMX multiplies them.
inline __m512i Pair(__m512i even, __m512i odd) {
  return _mm512_or_si512(odd, _mm512_srli_epi32(even, 16));
}

alignas(64) constexpr uint16_t kCounting[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Tiles 0 to 3 hold the sums, row by row; tiles 4 and 5 the rows, and tiles 6 and 7 the weights.
template <int kRowTiles, int kColumnTiles>
inline void MultiplyTiles() {
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (kColumnTiles == 2) _tile_dpbf16ps(1, 4, 7);
  if constexpr (kRowTiles == 2) {
    _tile_dpbf16ps(2, 5, 6);
    if constexpr (kColumnTiles == 2) _tile_dpbf16ps(3, 5, 7);
  }
}

template <int kRowTiles>
inline void LoadRows(const uint16_t* from) {
  _tile_loadd(4, from, 64);
  if constexpr (kRowTiles == 2) _tile_loadd(5, from + kTile, 64);
}
template <int kColumnTiles>
inline void LoadWeights(const uint16_t* from) {
  _tile_loadd(6, from, 64);
  if constexpr (kColumnTiles == 2) _tile_loadd(7, from + kTile, 64);
}

// The layout of packed rows. For each depth block there are three planes, which hold the high,
// middle and low parts of all rows, with kBlock elements for each row. Up to kRows further rows may
// be read.
struct Planes {
  explicit Planes(const Rows& rows)
      : data(static_cast<uint16_t*>(rows.data)), size((rows.count + kRows) * kBlock) {}

  // Returns the high part of a row in a block. The other parts follow one and two planes later.
  uint16_t* at(int64_t block, int64_t row) const {
    return data + kParts * block * size + row * kBlock;
  }

  uint16_t* const data;
  const int64_t size;
};

// Computes one block. `sums` has kRows x kBlock elements.
template <int kRowTiles, int kColumnTiles>
void Sum(const Product& p, int64_t first, const uint16_t* weights, float* sums) {
  constexpr auto kMultiply = MultiplyTiles<kRowTiles, kColumnTiles>;
  constexpr auto kLoadRows = LoadRows<kRowTiles>;
  constexpr auto kLoadWeights = LoadWeights<kColumnTiles>;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const Planes planes(p.rows);
  const int64_t steps = p.positions * (p.end_block - p.first_block);
  const int64_t share = (p.prefetch.size / steps + kLine - 1) / kLine * kLine;
  const char* prefetch = static_cast<const char*>(p.prefetch.at);
  for (int64_t position = 0; position < p.positions; ++position) {
    const int64_t row = first + (p.shifts == nullptr ? 0 : p.shifts[position]);
    const uint16_t* rows = planes.at(p.first_block, row);
    const uint16_t* at = weights + (position * Blocks(p.rows.depth) + p.first_block) * kStep;
    for (int64_t block = p.first_block; block < p.end_block; ++block) {
      // Each product but one shares an operand with the product before it. The small products come
      // first.
      kLoadRows(rows);
      kLoadWeights(at + 4 * kTile);
      kMultiply();  // high * low
      kLoadWeights(at + 2 * kTile);
      kMultiply();  // high * middle
      kLoadRows(rows + planes.size);
      kMultiply();  // middle * middle
      for (const char* const end = prefetch + share; prefetch < end; prefetch += kLine) {
        _mm_prefetch(prefetch, _MM_HINT_T1);
      }
      kLoadWeights(at);
      kMultiply();  // middle * high
      kLoadRows(rows + 2 * planes.size);
      kMultiply();  // low * high
      kLoadRows(rows);
      kMultiply();  // high * high
      rows += kParts * planes.size;
      at += kStep;
    }
  }
  _tile_stored(0, sums, 128);
  if constexpr (kColumnTiles == 2) _tile_stored(1, sums + 16, 128);
  if constexpr (kRowTiles == 2) {
    _tile_stored(2, sums + 16 * kBlock, 128);
    if constexpr (kColumnTiles == 2) _tile_stored(3, sums + 16 * kBlock + 16, 128);
  }
}

// Splits `depth` (at most kBlock) floats of each of `count` rows, which begin `step` floats apart,
// and pads them with zeros. The parts are `plane` elements apart. Returns false if a value cannot
// be split.
bool SplitRows(const float* from, int64_t step, int64_t count, int64_t depth, int64_t plane,
               uint16_t* to) {
  __m512i largest = _mm512_setzero_si512();
  const ColumnLanes first(depth), second(depth - 16);
  // Selects the upper half of each element of two vectors, one vector after the other.
  const __m512i upper =
      _mm512_add_epi16(_mm512_slli_epi16(_mm512_load_si512(kCounting), 1), _mm512_set1_epi16(1));
  for (int64_t i = 0; i < count; ++i) {
    __m512 x0 = first.Load(from);
    __m512 x1 = second.Load(from + 16);
    largest = _mm512_max_epu32(largest, _mm512_max_epu32(Magnitude(x0), Magnitude(x1)));
    for (int64_t part = 0; part < kParts; ++part) {
      const __m512i part0 = TakePart(x0), part1 = TakePart(x1);
      _mm512_storeu_si512(to + part * plane, _mm512_permutex2var_epi16(part0, upper, part1));
    }
    to += kBlock;
    from += step;
  }
  return _mm512_reduce_max_epu32(largest) < kTooLarge;
}

class Kernel final : public MicroKernel {
 public:
  int64_t PackedSize(int64_t positions, int64_t depth, int64_t columns) const override {
    return Blocks(columns) * PanelSize(positions, depth) * sizeof(uint16_t);
  }

  bool Pack(const Weights& w, int64_t begin, int64_t end, char* packed) const override {
    __m512i largest = _mm512_setzero_si512();
    uint16_t* to = reinterpret_cast<uint16_t*>(packed) + begin * PanelSize(w.positions, w.depth);
    for (int64_t column = begin * kBlock; column < end * kBlock; column += kBlock) {
      for (int64_t position = 0; position < w.positions; ++position) {
        const float* const matrix = w.data + position * w.depth * w.columns;
        for (int64_t term = 0; term < w.depth; term += kBlock, to += kStep) {
          for (int64_t tile = 0; tile < 2; ++tile) {
            const int64_t columns = w.columns - column - tile * 16;
            const float* const from = matrix + (column + tile * 16) * w.column_stride;
            for (int64_t pair = 0; pair < 16; ++pair) {
              const int64_t i = term + 2 * pair;
              __m512 even =
                  LoadStepped(from + i * w.row_stride, w.column_stride, i < w.depth ? columns : 0);
              __m512 odd = LoadStepped(from + (i + 1) * w.row_stride, w.column_stride,
                                       i + 1 < w.depth ? columns : 0);
              largest =
                  _mm512_max_epu32(largest, _mm512_max_epu32(Magnitude(even), Magnitude(odd)));
              for (int64_t part = 0; part < kParts; ++part) {
                const __m512i e = TakePart(even), o = TakePart(odd);
                _mm512_storeu_si512(to + (2 * part + tile) * kTile + pair * kBlock, Pair(e, o));
              }
            }
          }
        }
      }
    }
    return _mm512_reduce_max_epu32(largest) < kTooLarge;
  }

  int64_t row_granularity() const override { return 16; }

  int64_t RowBlockSize(int64_t) const override { return kRows; }

  int64_t PackedRowsSize(int64_t count, int64_t depth) const override {
    return kParts * Blocks(depth) * (count + kRows) * kBlock * sizeof(uint16_t);
  }

  bool ReadsRowsInPlace(int64_t) const override { return false; }

  bool PackRows(const float* from, int64_t step, int64_t row, int64_t count,
                const Rows& rows) const override {
    const Planes planes(rows);
    bool all = true;
    for (int64_t block = 0; block < Blocks(rows.depth); ++block) {
      const int64_t term = block * kBlock, left = rows.depth - term;
      all &= SplitRows(from + term, step, count, left < kBlock ? left : kBlock, planes.size,
                       planes.at(block, row));
    }
    return all;
  }

  void ClearRows(int64_t row, int64_t count, const Rows& rows) const override {
    const Planes planes(rows);
    for (int64_t block = 0; block < Blocks(rows.depth); ++block) {
      for (int64_t part = 0; part < kParts; ++part) {
        std::memset(planes.at(block, row) + part * planes.size, 0,
                    count * kBlock * sizeof(uint16_t));
      }
    }
  }

  void MultiplyBlock(const Product& p, int64_t first, int64_t count, int64_t panel,
                     const int64_t* row_offsets, const Epilogue& epilogue,
                     float* out) const override {
    alignas(64) float sums[kRows * kBlock];
    const int64_t columns = p.columns - panel * kBlock;
    const uint16_t* const weights =
        reinterpret_cast<const uint16_t*>(p.weights) + panel * PanelSize(p.positions, p.rows.depth);
    if (count > 16) {
      columns > 16 ? Sum<2, 2>(p, first, weights, sums) : Sum<2, 1>(p, first, weights, sums);
    } else {
      columns > 16 ? Sum<1, 2>(p, first, weights, sums) : Sum<1, 1>(p, first, weights, sums);
    }
    StoreBlock<kBlock>(epilogue, panel * kBlock, count, p.columns, row_offsets, out, sums);
  }

  void ConfigureTiles() const override {
    static constexpr TileConfig config;
    _tile_loadconfig(&config);
  }

  void ReleaseTiles() const override { _tile_release(); }
};

}  // namespace

const MicroKernel& AmxMicroKernel() {
  static const Kernel kernel;
  return kernel;
}

}  // namespace tessera::gemm
