#include "runtime/kernels/primitives/bincount.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Counts values that are many more than the bins, in four tables by turns, so that counting one
// value need not wait for the same one before it.
template <typename Index, typename T>
void CountInTurns(const Index* values, int64_t count, int64_t size, T* bins) {
  constexpr int64_t kTables = 4;
  // The last bin of a table is that of values that are left out.
  std::vector<int64_t> tables(kTables * (size + 1));
  int64_t* const table[] = {&tables[0], &tables[size + 1], &tables[2 * (size + 1)],
                            &tables[3 * (size + 1)]};
  const auto bin = [&](int64_t i) { return std::min<int64_t>(values[i], size); };
  int64_t i = 0;
  for (; i + kTables <= count; i += kTables) {
    for (int64_t t = 0; t < kTables; ++t) ++table[t][bin(i + t)];
  }
  for (; i < count; ++i) ++table[0][bin(i)];
  for (int64_t b = 0; b < size; ++b) {
    bins[b] += static_cast<T>(table[0][b] + table[1][b] + table[2][b] + table[3][b]);
  }
}

// One row. `weights` may be null.
template <typename Index, typename T>
void Count(const Index* values, const T* weights, int64_t count, int64_t size, bool binary,
           T* bins) {
  if (weights == nullptr && !binary && count > 8 * size) {
    return CountInTurns(values, count, size, bins);
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t v = values[i];
    if (v >= size) continue;
    if (binary) {
      bins[v] = T(1);
    } else {
      bins[v] += weights != nullptr ? weights[i] : T(1);
    }
  }
}

template <typename Index>
absl::Status CountRows(absl::Span<const int64_t> splits, const Tensor& values,
                       const Tensor& weights, bool binary, Tensor* bins) {
  const auto all = values.flat<Index>();
  const Index least = std::accumulate(all.begin(), all.end(), Index{0},
                                      [](Index a, Index b) { return a < b ? a : b; });
  if (least < 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot count ", least, ": it is negative"));
  }
  const int64_t size = bins->dim(bins->rank() - 1);
  return VisitRealType(bins->dtype(), [&]<typename T>() {
    std::fill_n(bins->data<T>(), bins->num_elements(), T(0));
    const T* const w = weights.num_elements() > 0 ? weights.data<T>() : nullptr;
    for (size_t r = 0; r + 1 < splits.size(); ++r) {
      Count(values.data<Index>() + splits[r], w == nullptr ? w : w + splits[r],
            splits[r + 1] - splits[r], size, binary,
            bins->data<T>() + static_cast<int64_t>(r) * size);
    }
    return absl::OkStatus();
  });
}

absl::Status RunBincount(KernelContext&, absl::Span<const int64_t> row_splits, const Tensor& values,
                         const Tensor& weights, bool binary, Tensor* bins) {
  const auto count = values.dtype() == DType::kInt32 ? CountRows<int32_t> : CountRows<int64_t>;
  return count(row_splits, values, weights, binary, bins);
}
REGISTER_PRIMITIVE(Bincount, kCpu, RunBincount);

}  // namespace
}  // namespace tessera
