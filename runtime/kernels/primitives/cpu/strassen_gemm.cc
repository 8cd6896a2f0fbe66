#include "runtime/kernels/primitives/cpu/strassen_gemm.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/strassen.h"

namespace tessera {
namespace {

using gemm::kBlock;
using strassen::PanelPair;
using strassen::RowPair;

// The size, in floats, of the prepared rows. They lie in the third-level cache, from which they are
// read once for each group of panels.
constexpr int64_t kRowFloats = 3 << 19;
// The largest number of panel pairs that the rows in the cache are multiplied by in one pass.
constexpr int64_t kMaxGroupPairs = 2;
// The number of row pairs that prefetch the next panels.
constexpr int64_t kPrefetchingPairs = 8;
// The depth to sum at once. The products of further slices are added to the output.
constexpr int64_t kMaxDepth = 768;
constexpr int64_t kDepthUnit = 2 * strassen::kDepthMultiple;

// The largest number of rows in a pair of blocks.
int64_t PairRows() { return 2 * strassen::BlockStepForCpu().max_rows; }

// Returns the number of panel pairs of a pass, for slices of this half depth. They and their sums
// take up to half of the second-level cache, through which the rows pass: with two pairs instead of
// one, BERT-base with eight texts took 5 % longer on cores with 1 MiB (scripts/bench model).
int64_t GroupPairs(int64_t half) {
  const int64_t bytes = 2 * sizeof(float) * strassen::PanelPairFloats(half);
  return std::clamp<int64_t>(SpeedsForCpu().cache_bytes / (2 * bytes), 1, kMaxGroupPairs);
}

int64_t Parts(int64_t whole, int64_t most) { return (whole + most - 1) / most; }

// Returns part `i` of `parts` of `length`. The parts are about equal, and multiples of `unit`.
std::pair<int64_t, int64_t> Part(int64_t i, int64_t parts, int64_t length, int64_t unit) {
  const int64_t units = Parts(length, unit);
  return {units * i / parts * unit, std::min(units * (i + 1) / parts * unit, length)};
}

// A slice of the depth. Its two halves are the halves of Strassen's algorithm.
struct DepthSlice {
  int64_t first, half;
};

std::vector<DepthSlice> SlicesOf(int64_t k) {
  const int64_t count = Parts(k, kMaxDepth);
  std::vector<DepthSlice> slices;
  for (int64_t i = 0; i < count; ++i) {
    const auto [first, end] = Part(i, count, k, kDepthUnit);
    slices.push_back({first, (end - first) / 2});
  }
  return slices;
}

// Returns the first panel of a pair. The second one is k * kBlock floats further.
const float* PanelOf(const float* panels, int64_t k, int64_t pair) {
  return panels + 2 * pair * k * kBlock;
}
// Returns the number of panels in a pair.
int64_t PanelsOf(int64_t n, int64_t pair) {
  return std::min<int64_t>(gemm::Blocks(n) - 2 * pair, 2);
}
// Returns the number of columns from the second panel of a pair on.
int64_t ColumnsOfSecond(int64_t n, int64_t pair) { return n - (2 * pair + 1) * kBlock; }

// Sets the magnitudes of the terms of a slice to those of their largest finite weights.
void SetMagnitudes(int64_t n, int64_t k, const float* panels, const DepthSlice& slice, float* to) {
  const int64_t columns = kBlock / strassen::BlockStepForCpu().strips, terms = 2 * slice.half;
  std::fill_n(to, terms, 0.0f);
  for (int64_t strip = 0; strip < gemm::Blocks(n) * kBlock / columns; ++strip) {
    const float* from = panels + (strip * k + slice.first) * columns;
    for (int64_t term = 0; term < terms; ++term, from += columns) {
      for (int64_t i = 0; i < columns; ++i) {
        const float magnitude = std::abs(from[i]);
        if (magnitude < std::numeric_limits<float>::infinity()) {
          to[term] = std::max(to[term], magnitude);
        }
      }
    }
  }
  const float largest = *std::max_element(to, to + terms);
  for (int64_t term = 0; term < terms && largest > 0; ++term) to[term] /= largest;
}

// A pass multiplies all rows by one slice of a group of panel pairs.
struct Pass {
  DepthSlice slice;
  int64_t first_pair = 0, pairs = 0;
  bool is_first = false;           // true for the first pass of a slice
  const char* balanced = nullptr;  // one byte for each pair
  Epilogue epilogue;
};

std::vector<Pass> PassesOf(const StrassenProduct& product, int64_t first, int64_t end,
                           int64_t group) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<DepthSlice> slices = SlicesOf(product.k);
  std::vector<Pass> passes;
  for (int64_t i = 0; i < std::ssize(slices); ++i) {
    Epilogue epilogue = product.epilogue;
    if (i + 1 < std::ssize(slices)) epilogue = {.low = -kInfinity, .high = kInfinity};
    epilogue.add = product.epilogue.add || i > 0;
    const char* const balanced =
        product.balanced + product.k * sizeof(float) + i * StrassenPairs(product.n);
    for (int64_t pair = first; pair < end; pair += group) {
      passes.push_back({.slice = slices[i],
                        .first_pair = pair,
                        .pairs = std::min(group, end - pair),
                        .is_first = pair == first,
                        .balanced = balanced + pair,
                        .epilogue = epilogue});
    }
  }
  return passes;
}

// The ranges to prefetch.
class PrefetchList {
 public:
  void Add(const strassen::Rows& rows, int64_t count, int64_t size) {
    constexpr int64_t kFloat = sizeof(float);
    rows_[count_++] = {rows.data, count, size * kFloat, rows.step * kFloat};
  }
  std::span<const gemm::PrefetchRange> rows() const { return std::span(rows_, count_); }

 private:
  gemm::PrefetchRange rows_[4];
  int64_t count_ = 0;
};

// The rows of a product that are multiplied together, as pairs of blocks.
class RowPairs {
 public:
  // `workspace` has `pair_floats` floats for each pair; a pass takes `group` panel pairs.
  RowPairs(const StrassenProduct& product, int64_t first, int64_t end, float* workspace,
           int64_t pair_floats, int64_t group)
      : product_(product), group_(group), pairs_(Parts(end - first, PairRows())) {
    for (Pair& pair : pairs_) {
      pair.first = first;
      pair.rows = std::min(PairRows(), end - first);
      pair.made = {.count = (pair.rows + 1) / 2, .workspace = workspace};
      first += pair.rows;
      workspace += pair_floats;
    }
  }

  // Multiplies the rows by the panels of `pass`. The pass after it is `next`, or null. `workspace`
  // has space for a group of panel pairs. The rows are prepared in the first pass of a slice.
  void Multiply(const Pass& pass, const Pass* next, float* workspace) {
    const DepthSlice& slice = pass.slice;
    PanelPair panels[kMaxGroupPairs];
    for (int64_t j = 0; j < pass.pairs; ++j) {
      const float* const first = PanelOf(product_.panels, product_.k, pass.first_pair + j);
      panels[j] = {.half = slice.half,
                   .workspace = workspace + j * strassen::PanelPairFloats(slice.half),
                   .panels = {first, NumPanels(pass, j) == 2 ? first + PanelSize() : nullptr},
                   .depth = product_.k,
                   .first = slice.first,
                   .is_balanced = pass.balanced[j] != 0};
    }
    strassen::Outputs to{.columns = product_.n, .epilogue = pass.epilogue};
    for (int64_t i = 0; i < std::ssize(pairs_); ++i) {
      Pair& pair = pairs_[i];
      if (pass.is_first) {
        pair.made.half = slice.half;
        pair.made.magnitudes = reinterpret_cast<const float*>(product_.balanced) + slice.first;
        step_.make_row_pair(RowsOf(pair, slice), pair.rows, &pair.made);
      }
      to.out = product_.out + pair.first * product_.n;
      for (int64_t j = 0; j < pass.pairs; ++j) {
        to.first_panel = 2 * (pass.first_pair + j);
        step_.multiply(pair.made, &panels[j], PrefetchAfter(pass, next, i, j).rows(), to);
      }
    }
  }

 private:
  struct Pair {
    int64_t first = 0, rows = 0;
    RowPair made;
  };

  int64_t PanelSize() const { return product_.k * kBlock; }
  int64_t NumPanels(const Pass& pass, int64_t j) const {
    return PanelsOf(product_.n, pass.first_pair + j);
  }

  strassen::Rows RowsOf(const Pair& pair, const DepthSlice& slice) const {
    return {product_.a + pair.first * product_.k + slice.first, product_.k};
  }

  // Returns what to prefetch while row pair i is multiplied by panel pair j: a share of the next
  // row pair, of its outputs, and of the next pass's panels. The last row pairs prefetch the
  // panels; panels that are prefetched earlier would be evicted from the second-level cache,
  // through which all rows pass.
  PrefetchList PrefetchAfter(const Pass& pass, const Pass* next, int64_t i, int64_t j) const {
    PrefetchList list;
    const int64_t size = pairs_.size();
    const Pass* const then = i + 1 < size ? &pass : next;
    if (then != nullptr) {
      const Pair& pair = pairs_[(i + 1) % size];
      const DepthSlice& slice = then->slice;
      const int64_t share = step_.row_pair_floats(pair.made.count, slice.half, product_.k) / group_;
      list.Add({pair.made.workspace + j * share}, 1, share);
      if (then->is_first) {
        const int64_t rows = pair.rows / group_;
        strassen::Rows from = RowsOf(pair, slice);
        from.data += j * rows * from.step;
        list.Add(from, rows, 2 * slice.half);
      }
      if (j < then->pairs) {
        const int64_t first_column = 2 * (then->first_pair + j) * kBlock;
        list.Add({product_.out + pair.first * product_.n + first_column, product_.n}, pair.rows,
                 2 * kBlock);
      }
    }
    const int64_t prefetching = std::min(size, kPrefetchingPairs), place = i - (size - prefetching);
    if (place >= 0 && next != nullptr && j < next->pairs) {
      const int64_t strips = step_.strips, columns = kBlock / strips;
      const int64_t share = 2 * next->slice.half * columns / prefetching;
      const float* const panel = PanelOf(product_.panels, product_.k, next->first_pair + j);
      list.Add({panel + next->slice.first * columns + place * share, PanelSize() / strips},
               NumPanels(*next, j) * strips, share);
    }
    return list;
  }

  const strassen::BlockStep& step_ = strassen::BlockStepForCpu();
  const StrassenProduct& product_;
  const int64_t group_;
  std::vector<Pair> pairs_;
};

}  // namespace

int64_t MinStrassenRows(const MachineSpeeds& speeds) {
  // The 128 rows of a text save 0.13 ns a weight on Zen 5, which is not enough: see
  // docs/benchmarks.md, where TESSERA_CPU=zen4 lets them be multiplied so.
  constexpr double kSavedNanosecondsAWeight = 0.25;
  const double saved_a_row = 2.0 / 8 / speeds.fma_flops;
  return static_cast<int64_t>(kSavedNanosecondsAWeight / saved_a_row);
}

bool StrassenSupports(int64_t n, int64_t k) { return k % kDepthUnit == 0 && gemm::Blocks(n) > 1; }

int64_t StrassenPairs(int64_t n) { return (gemm::Blocks(n) + 1) / 2; }

absl::StatusOr<Tensor> BalancedPanels(int64_t n, int64_t k, const float* panels) {
  const std::vector<DepthSlice> slices = SlicesOf(k);
  const int64_t pairs = StrassenPairs(n);
  const auto magnitude_bytes = k * static_cast<int64_t>(sizeof(float));
  ASSIGN_OR_RETURN(Tensor balanced,
                   Tensor::Allocate(DType::kInt8, {magnitude_bytes + std::ssize(slices) * pairs},
                                    WeightsAllocator()));
  auto* const magnitudes = reinterpret_cast<float*>(balanced.mutable_raw());
  char* to = balanced.mutable_raw() + magnitude_bytes;
  for (const DepthSlice& slice : slices) {
    SetMagnitudes(n, k, panels, slice, magnitudes + slice.first);
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const float* const first = PanelOf(panels, k, pair);
      *to++ = PanelsOf(n, pair) == 2 &&
              strassen::BlockStepForCpu().panels_are_balanced(
                  ColumnsOfSecond(n, pair), {.half = slice.half,
                                             .panels = {first, first + k * kBlock},
                                             .depth = k,
                                             .first = slice.first});
    }
  }
  return balanced;
}

absl::Status StrassenGemm(KernelContext& ctx, const StrassenProduct& product, int64_t first_pair,
                          int64_t end_pair) {
  int64_t half = 0;
  for (const DepthSlice& slice : SlicesOf(product.k)) half = std::max(half, slice.half);
  const int64_t pair_floats = strassen::BlockStepForCpu().row_pair_floats(
      strassen::BlockStepForCpu().max_rows, half, product.k);
  const int64_t all_pairs = Parts(product.m, PairRows());
  const int64_t group = GroupPairs(half);
  const int64_t times = Parts(all_pairs, kRowFloats / pair_floats);
  ASSIGN_OR_RETURN(Tensor row_workspace,
                   ctx.AllocateTemp(DType::kFloat, {Parts(all_pairs, times) * pair_floats}));
  ASSIGN_OR_RETURN(Tensor panel_workspace,
                   ctx.AllocateTemp(DType::kFloat, {group * strassen::PanelPairFloats(half)}));
  const std::vector<Pass> passes = PassesOf(product, first_pair, end_pair, group);
  for (int64_t time = 0; time < times; ++time) {
    const auto [first, end] = Part(time, times, product.m, PairRows());
    RowPairs rows(product, first, end, row_workspace.data<float>(), pair_floats, group);
    for (size_t i = 0; i < passes.size(); ++i) {
      const Pass* const next = i + 1 < passes.size() ? &passes[i + 1] : nullptr;
      rows.Multiply(passes[i], next, panel_workspace.data<float>());
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
