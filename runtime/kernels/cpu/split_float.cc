#include "runtime/kernels/cpu/split_float.h"

#include <immintrin.h>

#include <limits>

namespace tessera::split {
namespace {

// Bits of 2^62. Products of greater parts could be infinities of both signs, where that of the
// floats is one: their sum would be no number.
constexpr uint32_t kTooLarge = (127 + 62) << 23;
constexpr int64_t kTile = 512;  // elements of a tile of bfloat16: 16 rows of 32
// Elements of packed weights for one block of terms: two tiles for each part.
constexpr int64_t kStep = kParts * 2 * kTile;
constexpr int64_t kLine = 32;  // elements of a cache line
constexpr float kInfinity = std::numeric_limits<float>::infinity();

int64_t PanelSize(int64_t taps, int64_t terms) { return taps * Blocks(terms) * kStep; }

// A bfloat16 next to x, in the upper halves: the nearest, and of two the greater magnitude.
inline __m512i Round(__m512 x) {
  const __m512i bits = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
  return _mm512_and_si512(bits, _mm512_set1_epi32(0xffff0000));
}

inline __m512i Magnitude(__m512 x) {
  return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
}

// x becomes what its nearest bfloat16 leaves of it.
inline __m512i TakePart(__m512& x) {
  const __m512i part = Round(x);
  x = _mm512_sub_ps(x, _mm512_castsi512_ps(part));
  return part;
}

// Elements of two terms beside each other, as AMX multiplies them.
inline __m512i Pair(__m512i even, __m512i odd) {
  return _mm512_or_si512(odd, _mm512_srli_epi32(even, 16));
}

inline __mmask16 First(int64_t count) {
  return count >= 16 ? 0xffff : count <= 0 ? 0 : static_cast<__mmask16>((1u << count) - 1);
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

// Tiles 0 to 3 are sums, row by row; 4 and 5 rows, 6 and 7 weights.
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

// sums: kRows x kBlock.
template <int kRowTiles, int kColumnTiles>
void Sum(const Product& p, int64_t first, const uint16_t* weights, float* sums) {
  constexpr auto kMultiply = MultiplyTiles<kRowTiles, kColumnTiles>;
  constexpr auto kLoadRows = LoadRows<kRowTiles>;
  constexpr auto kLoadWeights = LoadWeights<kColumnTiles>;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const int64_t plane = p.rows.plane();
  const uint16_t* ahead = p.ahead;
  for (int64_t tap = 0; tap < p.taps; ++tap) {
    const int64_t row = first + (p.shifts == nullptr ? 0 : p.shifts[tap]);
    const uint16_t* rows = p.rows.at(p.first_block, row);
    const uint16_t* at = weights + (tap * Blocks(p.terms) + p.first_block) * kStep;
    for (int64_t block = p.first_block; block < p.end_block; ++block) {
      // Each product but one shares an operand with the product before. Small ones come first.
      kLoadRows(rows);
      kLoadWeights(at + 4 * kTile);
      kMultiply();  // high * low
      kLoadWeights(at + 2 * kTile);
      kMultiply();  // high * middle
      kLoadRows(rows + plane);
      kMultiply();  // middle * middle
      for (const uint16_t* const end = ahead + p.ahead_step; ahead < end; ahead += kLine) {
        _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
      }
      kLoadWeights(at);
      kMultiply();  // middle * high
      kLoadRows(rows + 2 * plane);
      kMultiply();  // low * high
      kLoadRows(rows);
      kMultiply();  // high * high
      rows += kParts * plane;
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

// Adds and clamps as `ending` says. With kInPlace the values stay in `sums`, else they go to their
// places.
template <bool kInPlace>
void Finish(const Ending& ending, int64_t count, int64_t columns, const int64_t* places, float* out,
            float* sums) {
  const __m512 low = _mm512_set1_ps(ending.low), high = _mm512_set1_ps(ending.high);
  for (int64_t half = 0; half * 16 < columns && half < 2; ++half) {
    const __mmask16 mask = First(columns - half * 16);
    const __m512 bias = ending.bias == nullptr
                            ? _mm512_setzero_ps()
                            : _mm512_maskz_loadu_ps(mask, ending.bias + half * 16);
    for (int64_t i = 0; i < count; ++i) {
      if (places[i] < 0) continue;
      float* const sum = sums + i * kBlock + half * 16;
      float* const to = out + places[i] + half * 16;
      __m512 x = _mm512_add_ps(_mm512_load_ps(sum), bias);
      if (ending.add) x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(mask, to));
      // A NaN is the second operand, and stays.
      x = _mm512_min_ps(high, _mm512_max_ps(low, x));
      kInPlace ? _mm512_store_ps(sum, x) : _mm512_mask_storeu_ps(to, mask, x);
    }
  }
}

}  // namespace

bool SplitRows(const float* from, int64_t step, int64_t count, int64_t terms, int64_t plane,
               uint16_t* to) {
  __m512i largest = _mm512_setzero_si512();
  const __mmask16 first = First(terms), second = First(terms - 16);
  // The upper halves of two vectors, one after the other.
  const __m512i upper =
      _mm512_add_epi16(_mm512_slli_epi16(_mm512_load_si512(kCounting), 1), _mm512_set1_epi16(1));
  for (int64_t i = 0; i < count; ++i) {
    __m512 x0 = _mm512_maskz_loadu_ps(first, from);
    __m512 x1 = _mm512_maskz_loadu_ps(second, from + 16);
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

int64_t PackedSize(int64_t taps, int64_t terms, int64_t columns) {
  return Blocks(columns) * PanelSize(taps, terms);
}

bool PackWeights(const Weights& w, int64_t begin, int64_t end, uint16_t* packed) {
  __m512i largest = _mm512_setzero_si512();
  const auto load = [&](const float* row, __mmask16 mask) {
    if (w.column_step == 1) return _mm512_maskz_loadu_ps(mask, row);
    alignas(64) float values[16] = {};
    for (int i = 0; i < 16; ++i) {
      if (mask >> i & 1) values[i] = row[i * w.column_step];
    }
    return _mm512_load_ps(values);
  };
  uint16_t* to = packed + begin * PanelSize(w.taps, w.terms);
  for (int64_t column = begin * kBlock; column < end * kBlock; column += kBlock) {
    for (int64_t tap = 0; tap < w.taps; ++tap) {
      const float* const matrix = w.data + tap * w.terms * w.columns;
      for (int64_t term = 0; term < w.terms; term += kBlock, to += kStep) {
        for (int64_t tile = 0; tile < 2; ++tile) {
          const __mmask16 mask = First(w.columns - column - tile * 16);
          const float* const from = matrix + (column + tile * 16) * w.column_step;
          for (int64_t pair = 0; pair < 16; ++pair) {
            const int64_t i = term + 2 * pair;
            __m512 even = load(from + i * w.row_step, i < w.terms ? mask : 0);
            __m512 odd = load(from + (i + 1) * w.row_step, i + 1 < w.terms ? mask : 0);
            largest = _mm512_max_epu32(largest, _mm512_max_epu32(Magnitude(even), Magnitude(odd)));
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

void MultiplyBlock(const Product& p, int64_t first, int64_t count, int64_t panel,
                   const int64_t* places, const Ending& ending, float* out) {
  alignas(64) float sums[kRows * kBlock];
  const int64_t columns = p.columns - panel * kBlock;
  const uint16_t* const weights = p.weights + panel * PanelSize(p.taps, p.terms);
  if (count > 16) {
    columns > 16 ? Sum<2, 2>(p, first, weights, sums) : Sum<2, 1>(p, first, weights, sums);
  } else {
    columns > 16 ? Sum<1, 2>(p, first, weights, sums) : Sum<1, 1>(p, first, weights, sums);
  }
  Ending end = ending;
  if (end.bias != nullptr) end.bias += panel * kBlock;
  out += panel * kBlock;
  if (end.activate != nullptr) {
    Finish<true>(end, count, columns, places, out, sums);
    end.activate(end.alpha, sums, count * kBlock);
    end = Ending{.low = -kInfinity, .high = kInfinity};
  }
  Finish<false>(end, count, columns, places, out, sums);
}

void Begin() {
  static constexpr TileConfig config;
  _tile_loadconfig(&config);
}

void End() { _tile_release(); }

}  // namespace tessera::split
