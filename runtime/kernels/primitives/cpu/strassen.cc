#include "runtime/kernels/primitives/cpu/strassen.h"

#include <bit>

#include "runtime/kernels/primitives/cpu/fma_inner_loop.h"

namespace tessera::strassen {
namespace {

using gemm::ConflictFreeStride;
using gemm::kBlock;

static_assert(kMaxRows == gemm::kRegisterRows);

// The sums of quarters of the rows and of the weights, named as in the literature.
enum RowSum { kS1, kS2, kS3, kS4, kRowSums };
enum WeightSum { kT1, kT2, kT3, kMinusT4, kWeightSums };
constexpr int64_t kRowQuarters = 3;  // all quarters but (1, 0) are multiplied
constexpr int64_t kProducts = 7;

// The limits of biased exponents of floats whose products and sums are far from overflow.
constexpr int kMinExponent = 127 - 50, kMaxExponent = 127 + 50;

// Returns the distance, in floats, from one sum of weights to the next. It is chosen so that the
// sums do not all start in the same sets of the first-level cache.
int64_t WeightStride(int64_t half) { return half * kBlock + 48; }

// Returns the larger of `largest` and the magnitudes in x, as integers.
inline __m512i Largest(__m512i largest, __m512 x) {
  const __m512i magnitude = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
  return _mm512_max_epu32(largest, magnitude);
}

// Returns the lanes in which elements of magnitudes up to x and y may be added.
inline __mmask16 AreBalanced(__m512i x, __m512i y) {
  const __m512i low = _mm512_srli_epi32(_mm512_min_epu32(x, y), 23);
  const __m512i high = _mm512_srli_epi32(_mm512_max_epu32(x, y), 23);
  constexpr int kDifference = std::countr_zero(static_cast<unsigned>(kBalance));
  return _mm512_cmpge_epi32_mask(low, _mm512_set1_epi32(kMinExponent)) &
         _mm512_cmple_epi32_mask(high, _mm512_set1_epi32(kMaxExponent)) &
         _mm512_cmple_epi32_mask(_mm512_sub_epi32(high, low), _mm512_set1_epi32(kDifference));
}

// The kCount x kBlock sums to which products are added, and their destination.
struct Sums {
  const float* from = nullptr;  // zeros if null
  float* also = nullptr;        // if not null, further sums that the products are added to
  float* to = nullptr;          // may be `from`
  const gemm::Destination* last = nullptr;  // replaces `to` if not null
};

// The following structs compute sums of weights when these are loaded, and store them for the next
// row pairs. They have the functions of a gemm::PanelSlice.

// Computes T1 and T2, and returns T2 to be multiplied.
struct MakeT1AndT2 {
  __m512 Load(int64_t at) const {
    const __m512 first = _mm512_sub_ps(_mm512_loadu_ps(b12 + at), _mm512_loadu_ps(b11 + at));
    _mm512_storeu_ps(t1 + at, first);
    const __m512 second = _mm512_sub_ps(_mm512_loadu_ps(b22 + at), first);
    _mm512_storeu_ps(t2 + at, second);
    return second;
  }
  void Advance(int64_t floats) {
    b11 += floats, b12 += floats, b22 += floats;
    t1 += floats, t2 += floats;
  }

  const float *b11, *b12, *b22;
  float *t1, *t2;
};

// Computes T3 or -T4, which are differences.
struct MakeDifference {
  __m512 Load(int64_t at) const {
    const __m512 x = _mm512_sub_ps(_mm512_loadu_ps(minuend + at), _mm512_loadu_ps(subtrahend + at));
    _mm512_storeu_ps(to + at, x);
    return x;
  }
  void Advance(int64_t floats) { minuend += floats, subtrahend += floats, to += floats; }

  const float *minuend, *subtrahend;
  float* to;
};

// Adds the products of rows and weights.
template <int kCount, typename WeightSlice>
void Add(const gemm::RowSlice& rows, const WeightSlice& weights, gemm::Prefetcher* prefetch,
         const Sums& s) {
  __m512 sums[kCount][2];
  const auto for_each = [&](auto&& apply) __attribute__((always_inline)) {
#pragma GCC unroll 14
    for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) apply(sums[i][v], i * kBlock + 16 * v);
    }
  };
  if (s.from == nullptr || s.also != nullptr) {
    for_each([](__m512& x, int64_t) { x = _mm512_setzero_ps(); });
  } else {
    for_each([&](__m512& x, int64_t at) { x = _mm512_load_ps(s.from + at); });
  }
  gemm::AccumulateSlice<kCount, 2>(rows, weights, prefetch, sums);
  if (s.also != nullptr) {
    for_each([&](__m512& x, int64_t at) {
      _mm512_store_ps(s.also + at, _mm512_add_ps(_mm512_load_ps(s.also + at), x));
      x = _mm512_add_ps(_mm512_load_ps(s.from + at), x);
    });
  }
  if (s.last != nullptr) {
    gemm::StoreRows<kCount, 2>(*s.last, sums);
  } else {
    for_each([&](__m512& x, int64_t at) { _mm512_store_ps(s.to + at, x); });
  }
}

using AddFunction = void (*)(const gemm::RowSlice&, const gemm::PanelSlice&, gemm::Prefetcher*,
                             const Sums&);
constexpr AddFunction kAdd[kMaxRows] = {Add<1>,  Add<2>,  Add<3>,  Add<4>, Add<5>,
                                        Add<6>,  Add<7>,  Add<8>,  Add<9>, Add<10>,
                                        Add<11>, Add<12>, Add<13>, Add<14>};

// The multiplication of one row pair and one panel pair.
class Multiplication {
 public:
  Multiplication(const RowPair& rows, PanelPair* panels, std::span<const gemm::PrefetchRange> next,
                 const Outputs& outputs)
      : rows_(rows),
        panels_(panels),
        outputs_(outputs),
        prefetcher_(next, kProducts * (rows.half / gemm::kStride)) {
    for (int64_t i = 0; i < rows.count; ++i) {
      row_offsets_[0][i] = i * outputs.columns;
      row_offsets_[1][i] = (rows.second + i) * outputs.columns;
    }
    if (rows.second < rows.count) row_offsets_[1][0] = -1;  // this row belongs to both blocks
  }

  void Fast() {
    if (!panels_->has_sums && rows_.count < kMaxRows) MakePanelSums();
    if (panels_->has_sums) {
      Fast(Sum(kT2), Sum(kT3), Sum(kMinusT4));
    } else {
      Fast(MakeT2(), MakeT3(), MakeMinusT4());
    }
    panels_->has_sums = true;
  }

  void Plain() {
    alignas(64) float sums[kSums];
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2 && panels_->panels[j] != nullptr; ++j) {
        Add(Quarter(i, 0), Panel(j, 0), {.to = sums});
        AddLast(Quarter(i, 1), Panel(j, 1), {.from = sums}, i, j);
      }
    }
  }

 private:
  static constexpr int64_t kSums = kMaxRows * kBlock;

  // Computes the seven products. Each argument is a sum of weights, or a maker that computes the
  // sum.
  template <typename T2, typename T3, typename MinusT4>
  void Fast(const T2& t2, const T3& t3, const MinusT4& minus_t4) {
    alignas(64) float u2[kSums], u3[kSums];
    Add(Quarter(0, 0), Panel(0, 0), {.to = u2});
    AddLast(Quarter(0, 1), Panel(0, 1), {.from = u2}, 0, 0);
    Add(Sum(kS2), t2, {.from = u2, .to = u2});
    Add(Sum(kS3), t3, {.from = u2, .to = u3});
    AddLast(Quarter(1, 1), minus_t4, {.from = u3}, 1, 0);
    AddLast(Sum(kS1), Sum(kT1), {.from = u3, .also = u2}, 1, 1);
    AddLast(Sum(kS4), Panel(1, 1), {.from = u2}, 0, 1);
  }

  const Rows& Quarter(int block, int half) const { return rows_.quarters[block][half]; }
  Rows Sum(RowSum sum) const {
    const int64_t step = ConflictFreeStride(rows_.half);
    return {rows_.workspace + sum * rows_.count * step, step};
  }
  const float* Panel(int panel, int half) const {
    return panels_->panels[panel] + half * panels_->half * kBlock;
  }
  float* WorkspaceOf(WeightSum sum) const {
    return panels_->workspace + sum * WeightStride(panels_->half);
  }
  const float* Sum(WeightSum sum) const { return WorkspaceOf(sum); }

  MakeT1AndT2 MakeT2() const {
    return {Panel(0, 0), Panel(1, 0), Panel(1, 1), WorkspaceOf(kT1), WorkspaceOf(kT2)};
  }
  MakeDifference MakeT3() const { return {Panel(1, 1), Panel(1, 0), WorkspaceOf(kT3)}; }
  MakeDifference MakeMinusT4() const { return {Panel(0, 1), Sum(kT2), WorkspaceOf(kMinusT4)}; }

  void MakePanelSums() {
    for (int64_t at = 0; at < panels_->half * kBlock; at += 16) {
      MakeT2().Load(at);
      MakeT3().Load(at);
      MakeMinusT4().Load(at);
    }
    panels_->has_sums = true;
  }

  void Add(const Rows& rows, const float* weights, const Sums& sums) {
    kAdd[rows_.count - 1](SliceOf(rows), gemm::PanelSlice(weights), &prefetcher_, sums);
  }
  // Adds the products with weights that a maker computes. Requires blocks of kMaxRows rows.
  template <typename Maker>
  void Add(const Rows& rows, const Maker& weights, const Sums& sums) {
    strassen::Add<kMaxRows>(SliceOf(rows), weights, &prefetcher_, sums);
  }
  gemm::RowSlice SliceOf(const Rows& rows) const { return {rows.data, rows.step, rows_.half}; }

  // Adds the last product of one block of rows and one panel to `sums` and stores the result.
  template <typename Weights>
  void AddLast(const Rows& rows, const Weights& weights, Sums sums, int block, int panel) {
    if (outputs_.epilogue.activate != nullptr) {
      alignas(64) float to[kSums];
      sums.to = to;
      Add(rows, weights, sums);
      gemm::StoreBlock(outputs_.epilogue, outputs_.first_panel + panel, rows_.count,
                       outputs_.columns, row_offsets_[block], outputs_.out, to);
      return;
    }
    Epilogue epilogue = outputs_.epilogue;
    const int64_t first = (outputs_.first_panel + panel) * kBlock;
    if (epilogue.bias != nullptr) epilogue.bias += first;
    const gemm::Destination last{epilogue, row_offsets_[block], outputs_.columns - first,
                                 outputs_.out + first};
    sums.last = &last;
    Add(rows, weights, sums);
  }

  const RowPair& rows_;
  PanelPair* const panels_;
  const Outputs& outputs_;
  gemm::Prefetcher prefetcher_;
  int64_t row_offsets_[2][kMaxRows];
};

// Returns true if quarters of rows with this stride are copied before they are multiplied.
bool IsCopied(int64_t row_stride) { return ConflictFreeStride(row_stride) != row_stride; }

// Computes the sums of row i of both blocks, and copies of their quarters if `copies` is not null.
// Returns true if the two rows are balanced.
bool MakeSums(int64_t i, const float* x, const float* y, RowPair* pair, float* copies) {
  const int64_t half = pair->half, step = ConflictFreeStride(half), factor = pair->count * step;
  float* const sums = pair->workspace + i * step;
  __m512i largest[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (int64_t t = 0; t < half; t += 16) {
    const __m512 a11 = _mm512_loadu_ps(x + t), a12 = _mm512_loadu_ps(x + half + t);
    const __m512 a21 = _mm512_loadu_ps(y + t), a22 = _mm512_loadu_ps(y + half + t);
    largest[0] = Largest(Largest(largest[0], a11), a12);
    largest[1] = Largest(Largest(largest[1], a21), a22);
    const __m512 s1 = _mm512_add_ps(a21, a22);
    const __m512 s2 = _mm512_sub_ps(s1, a11);
    _mm512_storeu_ps(sums + kS1 * factor + t, s1);
    _mm512_storeu_ps(sums + kS2 * factor + t, s2);
    _mm512_storeu_ps(sums + kS3 * factor + t, _mm512_sub_ps(a11, a21));
    _mm512_storeu_ps(sums + kS4 * factor + t, _mm512_sub_ps(a12, s2));
    if (copies != nullptr) {
      _mm512_storeu_ps(copies + i * step + t, a11);
      _mm512_storeu_ps(copies + factor + i * step + t, a12);
      _mm512_storeu_ps(copies + 2 * factor + i * step + t, a22);
    }
  }
  return AreBalanced(_mm512_set1_epi32(_mm512_reduce_max_epu32(largest[0])),
                     _mm512_set1_epi32(_mm512_reduce_max_epu32(largest[1]))) != 0;
}

}  // namespace

int64_t RowPairFloats(int64_t count, int64_t half, int64_t row_stride) {
  return (kRowSums + (IsCopied(row_stride) ? kRowQuarters : 0)) * count * ConflictFreeStride(half);
}

void MakeRowPair(const Rows& rows, int64_t available, RowPair* pair) {
  const int64_t count = pair->count, half = pair->half;
  pair->second = available - count;
  const float* const first[2] = {rows.data, rows.data + pair->second * rows.step};
  for (int block = 0; block < 2; ++block) {
    for (int i = 0; i < 2; ++i) pair->quarters[block][i] = {first[block] + i * half, rows.step};
  }
  float* copies = nullptr;
  if (IsCopied(rows.step)) {
    const int64_t step = ConflictFreeStride(half);
    copies = pair->workspace + kRowSums * count * step;
    pair->quarters[0][0] = {copies, step};
    pair->quarters[0][1] = {copies + count * step, step};
    pair->quarters[1][1] = {copies + 2 * count * step, step};
  }
  pair->is_balanced = true;
  for (int64_t i = 0; i < count; ++i) {
    const float *const x = first[0] + i * rows.step, *const y = first[1] + i * rows.step;
    if (!MakeSums(i, x, y, pair, copies)) pair->is_balanced = false;
  }
}

int64_t PanelPairFloats(int64_t half) { return kWeightSums * WeightStride(half); }

bool PanelsAreBalanced(int64_t columns, int64_t half, const float* const panels[2]) {
  __m512i largest[2][2] = {{_mm512_setzero_si512(), _mm512_setzero_si512()},
                           {_mm512_setzero_si512(), _mm512_setzero_si512()}};
  for (int64_t at = 0; at < 2 * half * kBlock; at += kBlock) {
    for (int panel = 0; panel < 2; ++panel) {
      for (int v = 0; v < 2; ++v) {
        largest[panel][v] =
            Largest(largest[panel][v], _mm512_loadu_ps(panels[panel] + at + 16 * v));
      }
    }
  }
  for (int v = 0; v < 2; ++v) {
    const __mmask16 counting = gemm::First(columns - 16 * v);
    if (counting & ~AreBalanced(largest[0][v], largest[1][v])) return false;
  }
  return true;
}

void Multiply(const RowPair& rows, PanelPair* panels, std::span<const gemm::PrefetchRange> next,
              const Outputs& outputs) {
  Multiplication multiplication(rows, panels, next, outputs);
  rows.is_balanced && panels->is_balanced ? multiplication.Fast() : multiplication.Plain();
}

}  // namespace tessera::strassen
