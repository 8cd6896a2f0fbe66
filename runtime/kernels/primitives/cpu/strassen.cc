#include "runtime/kernels/primitives/cpu/strassen.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "runtime/kernels/primitives/cpu/fma_inner_loop.h"

namespace tessera::strassen::TESSERA_VECTOR_ABI {
namespace {

using namespace gemm::TESSERA_VECTOR_ABI;
using gemm::kBlock;

constexpr int64_t kMaxRows = kRegisterRows;

// The sums of quarters of the rows and of the weights, named as in the literature.
enum RowSum { kS1, kS2, kS3, kS4, kRowSums };
enum WeightSum { kT1, kT2, kT3, kMinusT4 };
constexpr int64_t kRowQuarters = 3;  // all quarters but (1, 0) are multiplied
constexpr int64_t kProducts = 7;

// The limits of biased exponents of floats whose products and sums are far from overflow.
constexpr int kMinExponent = 127 - 50, kMaxExponent = 127 + 50;

// Returns the larger of `largest` and the magnitudes in x, as integers.
inline Words Largest(Words largest, Vector x) {
  const Words magnitude = BitsOf(x) & 0x7fffffff;
  return magnitude > largest ? magnitude : largest;
}

constexpr int ExponentOf(uint32_t magnitude) { return static_cast<int>(magnitude >> 23); }

// Returns true if the ratio of two magnitudes, of which `x` is the larger one, is at most kBalance.
inline bool IsBalance(uint32_t x, uint32_t y) {
  constexpr int kDifference = std::countr_zero(static_cast<unsigned>(kBalance));
  return ExponentOf(x) - ExponentOf(y) <= kDifference;
}

// Returns true if elements of magnitudes up to x and y may be added.
inline bool AreBalanced(uint32_t x, uint32_t y) {
  const auto [low, high] = std::minmax(x, y);
  return ExponentOf(low) >= kMinExponent && ExponentOf(high) <= kMaxExponent &&
         IsBalance(high, low);
}

// The kCount x kStripColumns sums to which products are added, and their destination.
struct Sums {
  const float* from = nullptr;        // zeros if null
  float* also = nullptr;              // if not null, further sums that the products are added to
  float* to = nullptr;                // may be `from`
  const Destination* last = nullptr;  // replaces `to` if not null
};

// The following structs compute sums of weights when these are loaded, and store them for the next
// row pairs. They have the functions of a gemm::PanelSlice.

// Computes T1 and T2, and returns T2 to be multiplied.
struct MakeT1AndT2 {
  Vector Load(int64_t at) const {
    const Vector first = tessera::Load(b12 + at) - tessera::Load(b11 + at);
    tessera::Store(first, t1 + at);
    const Vector second = tessera::Load(b22 + at) - first;
    tessera::Store(second, t2 + at);
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
  Vector Load(int64_t at) const {
    const Vector x = tessera::Load(minuend + at) - tessera::Load(subtrahend + at);
    tessera::Store(x, to + at);
    return x;
  }
  void Advance(int64_t floats) { minuend += floats, subtrahend += floats, to += floats; }

  const float *minuend, *subtrahend;
  float* to;
};

// Adds the products of rows and weights.
template <int kCount, typename WeightSlice>
void Add(const RowSlice& rows, const WeightSlice& weights, Prefetcher* prefetch, const Sums& s) {
  Vector sums[kCount][kStripVectors];
  const auto for_each = [&](auto&& apply) __attribute__((always_inline)) {
#pragma GCC unroll 14
    for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kStripVectors; ++v) apply(sums[i][v], i * kStripColumns + kLanes * v);
    }
  };
  if (s.from == nullptr || s.also != nullptr) {
    for_each([](Vector& x, int64_t) { x = Vector{}; });
  } else {
    for_each([&](Vector& x, int64_t at) { x = Load(s.from + at); });
  }
  AccumulateSlice<kCount, kStripVectors>(rows, weights, prefetch, sums);
  if (s.also != nullptr) {
    for_each([&](Vector& x, int64_t at) {
      Store(Load(s.also + at) + x, s.also + at);
      x = Load(s.from + at) + x;
    });
  }
  if (s.last != nullptr) {
    StoreRows<kCount, kStripVectors>(*s.last, sums);
  } else {
    for_each([&](Vector& x, int64_t at) { Store(x, s.to + at); });
  }
}

using AddFunction = void (*)(const RowSlice&, const PanelSlice&, Prefetcher*, const Sums&);

template <int... kCount>
constexpr std::array<AddFunction, kMaxRows> AddFunctions(std::integer_sequence<int, kCount...>) {
  return {Add<kCount + 1, PanelSlice>...};
}

// The functions for each number of rows, as [rows - 1].
constexpr auto kAdd = AddFunctions(std::make_integer_sequence<int, kMaxRows>());

// The multiplication of one row pair and one panel pair, strip by strip.
class Multiplication {
 public:
  Multiplication(const RowPair& rows, PanelPair* panels, std::span<const gemm::PrefetchRange> next,
                 const Outputs& outputs)
      : rows_(rows),
        panels_(panels),
        outputs_(outputs),
        prefetcher_(next, kProducts * (rows.half / kStride) * kStrips) {
    for (int64_t i = 0; i < rows.count; ++i) {
      row_offsets_[0][i] = i * outputs.columns;
      row_offsets_[1][i] = (rows.second + i) * outputs.columns;
    }
    if (rows.second < rows.count) row_offsets_[1][0] = -1;  // this row belongs to both blocks
  }

  void Fast() {
    for (strip_ = 0; strip_ < kStrips; ++strip_) {
      if (!panels_->has_sums && rows_.count < kMaxRows) {
        MakePanelSums();
        Fast(Sum(kT2), Sum(kT3), Sum(kMinusT4));
      } else if (panels_->has_sums) {
        Fast(Sum(kT2), Sum(kT3), Sum(kMinusT4));
      } else {
        Fast(MakeT2(), MakeT3(), MakeMinusT4());
      }
    }
    panels_->has_sums = true;
  }

  void Plain() {
    alignas(64) float sums[kSums];
    for (strip_ = 0; strip_ < kStrips; ++strip_) {
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2 && panels_->panels[j] != nullptr; ++j) {
          Add(Quarter(i, 0), Panel(j, 0), {.to = sums});
          AddLast(Quarter(i, 1), Panel(j, 1), {.from = sums}, i, j);
        }
      }
    }
  }

 private:
  static constexpr int64_t kSums = kMaxRows * kStripColumns;

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
    const int64_t term = strip_ * panels_->depth + panels_->first + half * panels_->half;
    return panels_->panels[panel] + term * kStripColumns;
  }
  float* WorkspaceOf(WeightSum sum) const {
    return panels_->workspace + sum * WeightStride(panels_->half) +
           strip_ * panels_->half * kStripColumns;
  }
  const float* Sum(WeightSum sum) const { return WorkspaceOf(sum); }

  MakeT1AndT2 MakeT2() const {
    return {Panel(0, 0), Panel(1, 0), Panel(1, 1), WorkspaceOf(kT1), WorkspaceOf(kT2)};
  }
  MakeDifference MakeT3() const { return {Panel(1, 1), Panel(1, 0), WorkspaceOf(kT3)}; }
  MakeDifference MakeMinusT4() const { return {Panel(0, 1), Sum(kT2), WorkspaceOf(kMinusT4)}; }

  void MakePanelSums() {
    for (int64_t at = 0; at < panels_->half * kStripColumns; at += kLanes) {
      MakeT2().Load(at);
      MakeT3().Load(at);
      MakeMinusT4().Load(at);
    }
  }

  void Add(const Rows& rows, const float* weights, const Sums& sums) {
    kAdd[rows_.count - 1](SliceOf(rows), PanelSlice(weights), &prefetcher_, sums);
  }
  // Adds the products with weights that a maker computes. Requires blocks of kMaxRows rows.
  template <typename Maker>
  void Add(const Rows& rows, const Maker& weights, const Sums& sums) {
    strassen::TESSERA_VECTOR_ABI::Add<kMaxRows>(SliceOf(rows), weights, &prefetcher_, sums);
  }
  RowSlice SliceOf(const Rows& rows) const { return {rows.data, rows.step, rows_.half}; }

  // Adds the last product of one block of rows and one panel to `sums` and stores the result.
  template <typename Weights>
  void AddLast(const Rows& rows, const Weights& weights, Sums sums, int block, int panel) {
    const int64_t first = (outputs_.first_panel + panel) * kBlock + strip_ * kStripColumns;
    if (outputs_.epilogue.activate != nullptr) {
      alignas(64) float to[kSums];
      sums.to = to;
      Add(rows, weights, sums);
      StoreBlock<kStripColumns>(outputs_.epilogue, first, rows_.count, outputs_.columns,
                                row_offsets_[block], outputs_.out, to);
      return;
    }
    Epilogue epilogue = outputs_.epilogue;
    if (epilogue.bias != nullptr) epilogue.bias += first;
    const Destination last{epilogue, row_offsets_[block], outputs_.columns - first,
                           outputs_.out + first};
    sums.last = &last;
    Add(rows, weights, sums);
  }

  const RowPair& rows_;
  PanelPair* const panels_;
  const Outputs& outputs_;
  Prefetcher prefetcher_;
  int64_t strip_ = 0;
  int64_t row_offsets_[2][kMaxRows];
};

// Returns true if quarters of rows with this stride are copied before they are multiplied.
bool IsCopied(int64_t row_stride) { return ConflictFreeStride(row_stride) != row_stride; }

// Computes the sums of row i of both blocks, and copies of their quarters if `copies` is not null.
// Returns true if the two rows are balanced, and their largest elements count.
bool MakeSums(int64_t i, const float* x, const float* y, RowPair* pair, float* copies) {
  const int64_t half = pair->half, step = ConflictFreeStride(half), factor = pair->count * step;
  float* const sums = pair->workspace + i * step;
  // The last two are those of the elements times the magnitudes of their weights.
  Words largest[4] = {};
  for (int64_t t = 0; t < half; t += kLanes) {
    const Vector first = Load(pair->magnitudes + t), second = Load(pair->magnitudes + half + t);
    const Vector a11 = Load(x + t), a12 = Load(x + half + t);
    const Vector a21 = Load(y + t), a22 = Load(y + half + t);
    largest[0] = Largest(Largest(largest[0], a11), a12);
    largest[1] = Largest(Largest(largest[1], a21), a22);
    largest[2] = Largest(Largest(largest[2], a11 * first), a12 * second);
    largest[3] = Largest(Largest(largest[3], a21 * first), a22 * second);
    const Vector s1 = a21 + a22, s2 = s1 - a11;
    Store(s1, sums + kS1 * factor + t);
    Store(s2, sums + kS2 * factor + t);
    Store(a11 - a21, sums + kS3 * factor + t);
    Store(a12 - s2, sums + kS4 * factor + t);
    if (copies != nullptr) {
      Store(a11, copies + i * step + t);
      Store(a12, copies + factor + i * step + t);
      Store(a22, copies + 2 * factor + i * step + t);
    }
  }
  uint32_t of_row[4] = {};
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 4; ++i) of_row[i] = std::max(of_row[i], largest[i][lane]);
  }
  return AreBalanced(of_row[0], of_row[1]) && IsBalance(of_row[0], of_row[2]) &&
         IsBalance(of_row[1], of_row[3]);
}

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

bool PanelsAreBalanced(int64_t columns, const PanelPair& pair) {
  bool result = true;
  for (int64_t strip = 0; strip < kStrips; ++strip) {
    Words largest[2][kStripVectors] = {};
    for (int panel = 0; panel < 2; ++panel) {
      const float* from = pair.panels[panel] + (strip * pair.depth + pair.first) * kStripColumns;
      for (int64_t term = 0; term < 2 * pair.half; ++term, from += kStripColumns) {
        for (int v = 0; v < kStripVectors; ++v) {
          largest[panel][v] = Largest(largest[panel][v], Load(from + kLanes * v));
        }
      }
    }
    const int64_t counting = std::min(columns - strip * kStripColumns, kStripColumns);
    for (int64_t column = 0; column < counting; ++column) {
      const int64_t v = column / kLanes, lane = column % kLanes;
      result &= AreBalanced(largest[0][v][lane], largest[1][v][lane]);
    }
  }
  return result;
}

void Multiply(const RowPair& rows, PanelPair* panels, std::span<const gemm::PrefetchRange> next,
              const Outputs& outputs) {
  Multiplication multiplication(rows, panels, next, outputs);
  rows.is_balanced && panels->is_balanced ? multiplication.Fast() : multiplication.Plain();
}

}  // namespace

const BlockStep kBlockStep = {.max_rows = kMaxRows,
                              .strips = kStrips,
                              .row_pair_floats = RowPairFloats,
                              .make_row_pair = MakeRowPair,
                              .panels_are_balanced = PanelsAreBalanced,
                              .multiply = Multiply};

}  // namespace tessera::strassen::TESSERA_VECTOR_ABI
