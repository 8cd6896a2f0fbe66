#include "runtime/kernels/cpu/strassen_product.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/kernels/cpu/strassen.h"

namespace tessera {
namespace {

using panel::kBlock;
using strassen::PanelPair;
using strassen::RowPair;

// Floats that rows which are made ready may take: what lies in the third-level cache, from where
// each group of panels reads them once.
constexpr int64_t kRowFloats = 3 << 19;
// Pairs of panels that rows which are in the cache are multiplied with, one after the other.
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

// Rows of a product that are multiplied at once, in pairs of blocks.
class RowPairs {
 public:
  RowPairs(const Product& product, int64_t first, int64_t end)
      : product_(product), pairs_(Parts(end - first, kPairRows)) {
    for (Pair& pair : pairs_) {
      pair.first = first;
      pair.rows = std::min(kPairRows, end - first);
      first += pair.rows;
    }
  }

  // Makes a stretch ready, in `room` of RowPairFloats() a pair.
  void Make(const Stretch& stretch, float* room) {
    for (Pair& pair : pairs_) {
      pair.made = {.count = (pair.rows + 1) / 2, .half = stretch.half, .room = room};
      strassen::MakeRowPair({product_.a + pair.first * product_.k + stretch.first, product_.k},
                            pair.rows, &pair.made);
      room += strassen::RowPairFloats(pair.made.count, stretch.half);
    }
  }

  // Multiplies a stretch with up to kGroupPairs pairs of panels from `begin` on, for which there is
  // `room`.
  void Multiply(const Stretch& stretch, int64_t begin, float* room) const {
    const int64_t panel_size = product_.k * kBlock, all = panel::Blocks(product_.n) / 2;
    const int64_t count = std::min(kGroupPairs, all - begin);
    PanelPair panels[kGroupPairs];
    for (int64_t j = 0; j < count; ++j) {
      const float* const first =
          product_.panels + 2 * (begin + j) * panel_size + stretch.first * kBlock;
      panels[j] = {.half = stretch.half,
                   .room = room + j * strassen::PanelPairFloats(stretch.half),
                   .panels = {first, first + panel_size}};
      strassen::MakePanelPair(product_.n - (2 * (begin + j) + 1) * kBlock, &panels[j]);
    }
    // While rows go through a pair, the last ones bring the pair that comes in its place. What
    // comes earlier would be gone again from the second-level cache, through which all rows go.
    const int64_t size = pairs_.size(), bringing = std::min(size, kBringingPairs);
    const int64_t share = 2 * stretch.half * kBlock / bringing;
    strassen::Outputs to{.columns = product_.n, .ending = stretch.ending};
    for (int64_t i = 0; i < size; ++i) {
      const int64_t place = i - (size - bringing);
      to.out = product_.out + pairs_[i].first * product_.n;
      for (int64_t j = 0; j < count; ++j) {
        const bool brings = place >= 0 && begin + kGroupPairs + j < all;
        const float* const next =
            panels[j].panels[0] + 2 * kGroupPairs * panel_size + place * share;
        to.first_panel = 2 * (begin + j);
        strassen::Multiply(
            pairs_[i].made, panels[j],
            {.at = {next, next + panel_size}, .size = begin + kGroupPairs + j < all ? share : 0},
            to);
      }
    }
  }

 private:
  struct Pair {
    int64_t first = 0, rows = 0;
    RowPair made;
  };

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
  const int64_t pair_floats = strassen::RowPairFloats(strassen::kMostRows, half);
  const int64_t all_pairs = Parts(m, kPairRows), panel_pairs = panel::Blocks(n) / 2;
  const int64_t times = Parts(all_pairs, kRowFloats / pair_floats);
  ASSIGN_OR_RETURN(Tensor row_room,
                   ctx.AllocateTemp(DType::kFloat, {Parts(all_pairs, times) * pair_floats}));
  ASSIGN_OR_RETURN(
      Tensor panel_room,
      ctx.AllocateTemp(DType::kFloat, {kGroupPairs * strassen::PanelPairFloats(half)}));
  for (int64_t time = 0; time < times; ++time) {
    const auto [first, end] = Part(time, times, m, kPairRows);
    RowPairs rows(product, first, end);
    for (const Stretch& stretch : stretches) {
      rows.Make(stretch, row_room.data<float>());
      for (int64_t pair = 0; pair < panel_pairs; pair += kGroupPairs) {
        rows.Multiply(stretch, pair, panel_room.data<float>());
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
