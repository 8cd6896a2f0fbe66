#include "runtime/kernels/primitives/bincount.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// One row. `weights` may be null.
template <typename Index, typename T>
void Count(const Index* values, const T* weights, int64_t count, int64_t size, bool binary,
           T* bins) {
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
  for (const Index v : values.flat<Index>()) {
    if (v >= 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("cannot count ", v, ": it is negative"));
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
