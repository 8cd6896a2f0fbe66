#include "runtime/kernels/primitives/sort.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

template <typename T>
using Compared =
    std::conditional_t<std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>, float,
                       T>;

template <typename T>
struct Element {
  T value;
  int32_t index;
};
template <typename T, bool kGreatest>
bool Precedes(const Element<T>& a, const Element<T>& b) {
  if (a.value != b.value) {
    if (b.value != b.value) return a.value == a.value || a.index < b.index;
    return kGreatest ? a.value > b.value : a.value < b.value;
  }
  return a.index < b.index;
}

// The `k` first of `count` elements, `stride` apart.
template <typename T, bool kGreatest>
void SelectFirst(const T* row, int64_t count, int64_t stride, int64_t k,
                 std::vector<Element<Compared<T>>>* chosen) {
  using E = Element<Compared<T>>;
  constexpr auto kPrecedes = Precedes<Compared<T>, kGreatest>;
  auto at = [&](int64_t i) {
    return E{static_cast<Compared<T>>(row[i * stride]), static_cast<int32_t>(i)};
  };
  chosen->clear();
  if (k == 0) return;
  // A heap with the last of the chosen on top: most elements are turned away at the first look.
  for (int64_t i = 0; i < count; ++i) {
    const E element = at(i);
    if (i < k) {
      chosen->push_back(element);
      if (i == k - 1) std::make_heap(chosen->begin(), chosen->end(), kPrecedes);
    } else if (kPrecedes(element, chosen->front())) {
      std::pop_heap(chosen->begin(), chosen->end(), kPrecedes);
      chosen->back() = element;
      std::push_heap(chosen->begin(), chosen->end(), kPrecedes);
    }
  }
  std::sort(chosen->begin(), chosen->end(), kPrecedes);
}

void StoreIndex(int32_t index, int64_t at, Tensor* indices) {
  switch (indices->dtype()) {
    case DType::kInt16:
      indices->data<int16_t>()[at] = static_cast<int16_t>(index);
      break;
    case DType::kInt64:
      indices->data<int64_t>()[at] = index;
      break;
    default:
      indices->data<int32_t>()[at] = index;
  }
}

absl::Status RunTopK(KernelContext& ctx, const TopK::Options& options, const Tensor& x,
                     Tensor* values, Tensor* indices) {
  if (values->num_elements() == 0) return absl::OkStatus();
  const int64_t k = options.k, count = x.dim(options.axis);
  int64_t inner = 1;
  for (int d = options.axis + 1; d < x.rank(); ++d) inner *= x.dim(d);
  return VisitRealType(x.dtype(), [&]<typename T>() {
    const auto select = options.is_greatest ? SelectFirst<T, true> : SelectFirst<T, false>;
    ctx.ParallelFor(x.num_elements() / count, 2.0 * static_cast<double>(count),
                    [&](int64_t begin, int64_t end) {
                      std::vector<Element<Compared<T>>> chosen;
                      for (int64_t r = begin; r < end; ++r) {
                        const T* const row = x.data<T>() + r / inner * count * inner + r % inner;
                        select(row, count, inner, k, &chosen);
                        const int64_t out = r / inner * k * inner + r % inner;
                        for (int64_t i = 0; i < k; ++i) {
                          values->data<T>()[out + i * inner] = row[chosen[i].index * inner];
                          StoreIndex(chosen[i].index, out + i * inner, indices);
                        }
                      }
                    });
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(TopK, kCpu, RunTopK);

absl::Status RunNthElement(KernelContext& ctx, int64_t n, const Tensor& x, Tensor* y) {
  const int64_t columns = x.dim(x.rank() - 1);
  return VisitRealType(x.dtype(), [&]<typename T>() {
    ctx.ParallelFor(y->num_elements(), 5.0 * columns, [&](int64_t begin, int64_t end) {
      std::vector<Element<Compared<T>>> row(columns);
      for (int64_t r = begin; r < end; ++r) {
        const T* const values = x.data<T>() + r * columns;
        for (int64_t i = 0; i < columns; ++i) {
          row[i] = {static_cast<Compared<T>>(values[i]), static_cast<int32_t>(i)};
        }
        std::nth_element(row.begin(), row.begin() + n, row.end(), Precedes<Compared<T>, false>);
        y->data<T>()[r] = values[row[n].index];
      }
    });
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(NthElement, kCpu, RunNthElement);

// Elements that are compared before the next look at what they gave, for the loop over them to
// vectorise.
constexpr int64_t kRankBlock = 64;

bool IsIn(const float* predictions, int64_t count, int64_t target, int64_t k) {
  if (target < 0 || target >= count || !std::isfinite(predictions[target])) return false;
  const float of_target = predictions[target];
  int64_t greater = 0;
  for (int64_t begin = 0; begin < count; begin += kRankBlock) {
    const int64_t end = std::min(begin + kRankBlock, count);
    int32_t greater_here = 0, infinite = 0;
    for (int64_t i = begin; i < end; ++i) {
      greater_here += predictions[i] > of_target;
      infinite |= !(std::fabs(predictions[i]) <= std::numeric_limits<float>::max());
    }
    greater += greater_here;
    if (infinite || greater >= k) return false;
  }
  return greater < k;
}

template <typename Index>
void InTopKRows(KernelContext& ctx, int64_t k, const Tensor& predictions, const Tensor& targets,
                Tensor* is_in) {
  const int64_t columns = predictions.dim(1);
  ctx.ParallelFor(targets.num_elements(), 0.2 * static_cast<double>(columns),
                  [&](int64_t row, int64_t end) {
                    for (; row < end; ++row) {
                      is_in->data<bool>()[row] = IsIn(predictions.data<float>() + row * columns,
                                                      columns, targets.data<Index>()[row], k);
                    }
                  });
}

absl::Status RunInTopK(KernelContext& ctx, int64_t k, const Tensor& predictions,
                       const Tensor& targets, Tensor* is_in) {
  const auto rows = targets.dtype() == DType::kInt32 ? InTopKRows<int32_t> : InTopKRows<int64_t>;
  rows(ctx, k, predictions, targets, is_in);
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(InTopK, kCpu, RunInTopK);

}  // namespace
}  // namespace tessera
