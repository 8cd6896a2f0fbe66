#include "runtime/kernels/primitives/cpu/strassen_product.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/strassen.h"

namespace tessera {
namespace {

using panel::kBlock;
using strassen::PanelPair;
using strassen::RowPair;

// Floats that rows which are made ready may take: what lies in the third-level cache, from where
// each group of panels reads them once.
constexpr int64_t kRowFloats = 3 << 19;
// Pairs of panels that rows in the cache go through, one after the other.
constexpr int64_t kGroupPairs = 2;
// Pairs of rows that bring the next panels.
constexpr int64_t kBringingPairs = 8;
// Terms that are added up at once; other stretches are added to what they made.
constexpr int64_t kMostTerms = 768;
constexpr int64_t kTermsUnit = 2 * strassen::kTermsMultiple, kPairRows = 2 * strassen::kMostRows;

int64_t Parts(int64_t whole, int64_t most) { return (whole + most - 1) / most; }

// Part `i` of `parts` of `length`, which are about equal and whole multiples of `unit`.
std::pair<int64_t, int64_t> Part(int64_t i, int64_t parts, int64_t length, int64_t unit) {
  const int64_t units = Parts(length, unit);
  return {units * i / parts * unit, std::min(units * (i + 1) / parts * unit, length)};
}

// What is multiplied.
struct Product {
  int64_t n, k;
  const float* a;
  const float* panels;
  Ending ending;
  float* out;
};

// A stretch of the terms, the first half and the second half of which are added up together.
struct Stretch {
  int64_t first, half;
  Ending ending;
};

// A stretch, and the first of the pairs of panels that rows which are in the cache are multiplied
// with, one after the other.
struct Turn {
  const Stretch* stretch;
  int64_t first_pair;
};

// What is to be in the cache soon.
class NextList {
 public:
  void Add(const strassen::Rows& rows, int64_t count, int64_t size) {
    constexpr int64_t kFloat = sizeof(float);
    rows_[count_++] = {rows.data, count, size * kFloat, rows.step * kFloat};
  }
  std::span<const panel::NextRows> rows() const { return std::span(rows_, count_); }

 private:
  panel::NextRows rows_[4];
  int64_t count_ = 0;
};

// Rows of a product that are multiplied at once, in pairs of blocks.
class RowPairs {
 public:
  // `room` is of `pair_floats` a pair.
  RowPairs(const Product& product, int64_t first, int64_t end, float* room, int64_t pair_floats)
      : product_(product), pairs_(Parts(end - first, kPairRows)) {
    for (Pair& pair : pairs_) {
      pair.first = first;
      pair.rows = std::min(kPairRows, end - first);
      pair.made = {.count = (pair.rows + 1) / 2, .room = room};
      first += pair.rows;
      room += pair_floats;
    }
  }

  // Multiplies rows and panels of a turn, after which `next` comes, or none if it is null. There is
  // `room` for kGroupPairs pairs of panels. Rows are made ready in the first turn of a stretch.
  void Multiply(const Turn& turn, const Turn* next, float* room) {
    const Stretch& stretch = *turn.stretch;
    const int64_t count = std::min(kGroupPairs, PanelPairs() - turn.first_pair);
    PanelPair panels[kGroupPairs];
    for (int64_t j = 0; j < count; ++j) {
      const float* const first = PanelOf(turn, j);
      panels[j] = {.half = stretch.half,
                   .room = room + j * strassen::PanelPairFloats(stretch.half),
                   .panels = {first, first + PanelSize()}};
      const int64_t first_column = 2 * (turn.first_pair + j) * kBlock;
      strassen::MakePanelPair(product_.n - first_column - kBlock, &panels[j]);
    }
    strassen::Outputs to{.columns = product_.n, .ending = stretch.ending};
    for (int64_t i = 0; i < std::ssize(pairs_); ++i) {
      Pair& pair = pairs_[i];
      if (turn.first_pair == 0) {
        pair.made.half = stretch.half;
        strassen::MakeRowPair(RowsOf(pair, stretch), pair.rows, &pair.made);
      }
      to.out = product_.out + pair.first * product_.n;
      for (int64_t j = 0; j < count; ++j) {
        to.first_panel = 2 * (turn.first_pair + j);
        strassen::Multiply(pair.made, panels[j], NextAfter(turn, next, i, j).rows(), to);
      }
    }
  }

 private:
  struct Pair {
    int64_t first = 0, rows = 0;
    RowPair made;
  };

  int64_t PanelSize() const { return product_.k * kBlock; }
  int64_t PanelPairs() const { return panel::Blocks(product_.n) / 2; }

  // The first panel of pair j of a turn.
  const float* PanelOf(const Turn& turn, int64_t j) const {
    return product_.panels + 2 * (turn.first_pair + j) * PanelSize() + turn.stretch->first * kBlock;
  }

  strassen::Rows RowsOf(const Pair& pair, const Stretch& stretch) const {
    return {product_.a + pair.first * product_.k + stretch.first, product_.k};
  }

  // What is needed after pair i of rows has been multiplied with pair j of panels, a share of each
  // j: the next pair, where it goes, and the next turn's panels. While rows go through a pair of
  // panels, the last ones bring the pair that comes in its place. What comes earlier would be gone
  // again from the second-level cache, through which all rows go.
  NextList NextAfter(const Turn& turn, const Turn* next, int64_t i, int64_t j) const {
    NextList list;
    const int64_t size = pairs_.size();
    const Turn* const then = i + 1 < size ? &turn : next;
    if (then != nullptr) {
      const Pair& pair = pairs_[(i + 1) % size];
      const Stretch& stretch = *then->stretch;
      const int64_t share =
          strassen::RowPairFloats(pair.made.count, stretch.half, product_.k) / kGroupPairs;
      list.Add({pair.made.room + j * share}, 1, share);
      if (then->first_pair == 0) {
        const int64_t rows = pair.rows / kGroupPairs;
        strassen::Rows from = RowsOf(pair, stretch);
        from.data += j * rows * from.step;
        list.Add(from, rows, 2 * stretch.half);
      }
      const int64_t first_column = 2 * (then->first_pair + j) * kBlock;
      if (first_column < product_.n) {
        list.Add({product_.out + pair.first * product_.n + first_column, product_.n}, pair.rows,
                 2 * kBlock);
      }
    }
    const int64_t bringing = std::min(size, kBringingPairs), place = i - (size - bringing);
    if (place >= 0 && next != nullptr && next->first_pair + j < PanelPairs()) {
      const int64_t share = 2 * next->stretch->half * kBlock / bringing;
      list.Add({PanelOf(*next, j) + place * share, PanelSize()}, 2, share);
    }
    return list;
  }

  const Product& product_;
  std::vector<Pair> pairs_;
};

std::vector<Stretch> StretchesOf(const Product& product) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const int64_t count = Parts(product.k, kMostTerms);
  std::vector<Stretch> stretches;
  for (int64_t i = 0; i < count; ++i) {
    const auto [first, end] = Part(i, count, product.k, kTermsUnit);
    Ending ending = product.ending;
    if (i + 1 < count) ending = {.low = -kInfinity, .high = kInfinity};
    ending.add = product.ending.add || i > 0;
    stretches.push_back({first, (end - first) / 2, ending});
  }
  return stretches;
}

}  // namespace

bool StrassenPays(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kLeastTerms = 256, kLeastColumns = 128;
  return m >= kLeastStrassenRows && k >= kLeastTerms && n >= kLeastColumns && k % kTermsUnit == 0 &&
         panel::Blocks(n) % 2 == 0;
}

absl::Status MultiplyByStrassen(KernelContext& ctx, int64_t m, int64_t n, int64_t k, const float* a,
                                const float* panels, const Ending& ending, float* out) {
  const Product product{n, k, a, panels, ending, out};
  const std::vector<Stretch> stretches = StretchesOf(product);
  int64_t half = 0;
  for (const Stretch& stretch : stretches) half = std::max(half, stretch.half);
  const int64_t pair_floats = strassen::RowPairFloats(strassen::kMostRows, half, k);
  const int64_t all_pairs = Parts(m, kPairRows), panel_pairs = panel::Blocks(n) / 2;
  const int64_t times = Parts(all_pairs, kRowFloats / pair_floats);
  ASSIGN_OR_RETURN(Tensor row_room,
                   ctx.AllocateTemp(DType::kFloat, {Parts(all_pairs, times) * pair_floats}));
  ASSIGN_OR_RETURN(
      Tensor panel_room,
      ctx.AllocateTemp(DType::kFloat, {kGroupPairs * strassen::PanelPairFloats(half)}));
  std::vector<Turn> turns;
  for (const Stretch& stretch : stretches) {
    for (int64_t pair = 0; pair < panel_pairs; pair += kGroupPairs)
      turns.push_back({&stretch, pair});
  }
  for (int64_t time = 0; time < times; ++time) {
    const auto [first, end] = Part(time, times, m, kPairRows);
    RowPairs rows(product, first, end, row_room.data<float>(), pair_floats);
    for (size_t i = 0; i < turns.size(); ++i) {
      const Turn* const next = i + 1 < turns.size() ? &turns[i + 1] : nullptr;
      rows.Multiply(turns[i], next, panel_room.data<float>());
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
