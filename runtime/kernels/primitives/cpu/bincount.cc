#include "runtime/kernels/primitives/bincount.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Counts values if there are many more of them than bins. Four tables are used in turn, so that
// counting a value need not wait until an equal value before it is counted. Each chunk of the
// values has tables of its own. Returns true if a value is negative.
template <typename Index, typename T>
bool CountInTurns(KernelContext& ctx, const Index* values, int64_t count, int64_t size, T* bins) {
  constexpr int64_t kTables = 4;
  const int64_t threads = ctx.pool() == nullptr ? 1 : ctx.pool()->num_threads();
  const int64_t part = std::clamp(count / threads, std::min(count, 64 * (size + 1)), count);
  const int64_t parts = (count + part - 1) / part;
  // The last bin of a table counts the values that have no bin.
  const int64_t stride = size + 1;
  std::vector<int64_t> tables(parts * kTables * stride);
  const double cost = 0.5 * static_cast<double>(part);
  ctx.ParallelFor(parts, cost, [&](int64_t first_part, int64_t end_part) {
    // A negative value, taken as unsigned, exceeds all others.
    const auto bin = [values, size](int64_t i) {
      return std::min(static_cast<uint64_t>(int64_t{values[i]}), static_cast<uint64_t>(size));
    };
    for (int64_t p = first_part; p < end_part; ++p) {
      int64_t* const first = &tables[p * kTables * stride];
      int64_t* const table[] = {first, first + stride, first + 2 * stride, first + 3 * stride};
      const int64_t end = std::min((p + 1) * part, count);
      int64_t i = p * part;
      for (; i + kTables <= end; i += kTables) {
        for (int64_t t = 0; t < kTables; ++t) ++table[t][bin(i + t)];
      }
      for (; i < end; ++i) ++table[0][bin(i)];
    }
  });
  for (int64_t p = 1; p < parts * kTables; ++p) {
    for (int64_t b = 0; b <= size; ++b) tables[b] += tables[p * stride + b];
  }
  for (int64_t b = 0; b < size; ++b) bins[b] += static_cast<T>(tables[b]);
  return tables[size] > 0;
}

// Counts one row of values. `weights` may be null. Returns true if a value is negative.
template <typename Index, typename T>
bool Count(KernelContext& ctx, const Index* values, const T* weights, int64_t count, int64_t size,
           bool binary, T* bins) {
  if (weights == nullptr && !binary && count > 8 * size) {
    return CountInTurns(ctx, values, count, size, bins);
  }
  bool is_left_out = false;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t v = values[i];
    if (static_cast<uint64_t>(v) >= static_cast<uint64_t>(size)) {
      is_left_out = true;
    } else if (binary) {
      bins[v] = T(1);
    } else {
      bins[v] += weights != nullptr ? weights[i] : T(1);
    }
  }
  return is_left_out;
}

template <typename Index>
absl::Status CheckNotNegative(absl::Span<const Index> values) {
  const Index least = std::accumulate(values.begin(), values.end(), Index{0},
                                      [](Index a, Index b) { return a < b ? a : b; });
  if (least >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("cannot count ", least, ": it is negative"));
}

template <typename Index>
absl::Status CountRows(KernelContext& ctx, absl::Span<const int64_t> splits, const Tensor& values,
                       const Tensor& weights, bool binary, Tensor* bins) {
  const int64_t size = bins->dim(bins->rank() - 1);
  return VisitRealType(bins->dtype(), [&]<typename T>() {
    std::fill_n(bins->data<T>(), bins->num_elements(), T(0));
    const T* const w = weights.num_elements() > 0 ? weights.data<T>() : nullptr;
    bool is_left_out = false;
    for (size_t r = 0; r + 1 < splits.size(); ++r) {
      is_left_out |= Count(ctx, values.data<Index>() + splits[r], w == nullptr ? w : w + splits[r],
                           splits[r + 1] - splits[r], size, binary,
                           bins->data<T>() + static_cast<int64_t>(r) * size);
    }
    return is_left_out ? CheckNotNegative(values.flat<Index>()) : absl::OkStatus();
  });
}

absl::Status RunBincount(KernelContext& ctx, absl::Span<const int64_t> row_splits,
                         const Tensor& values, const Tensor& weights, bool binary, Tensor* bins) {
  const auto count = values.dtype() == DType::kInt32 ? CountRows<int32_t> : CountRows<int64_t>;
  return count(ctx, row_splits, values, weights, binary, bins);
}
REGISTER_PRIMITIVE(Bincount, kCpu, RunBincount);

}  // namespace
}  // namespace tessera
