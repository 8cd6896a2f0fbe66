#include "runtime/kernels/primitives/sort.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
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

// Returns a number of up to 32 bits and its index as one integer. Integers have the order of
// Precedes(), and comparing them takes no branches.
template <typename T, bool kGreatest>
uint64_t KeyOf(T value, int64_t index) {
  uint32_t key;
  if constexpr (std::is_floating_point_v<Compared<T>>) {
    const float number = static_cast<float>(value) + 0.0f;  // -0 becomes 0, which it equals
    const auto bits = std::bit_cast<uint32_t>(number);
    key = bits ^ (bits >> 31 != 0 ? ~uint32_t{0} : uint32_t{1} << 31);
    if (kGreatest) key = ~key;
    if (number != number) key = ~uint32_t{0};
  } else {
    key = static_cast<uint32_t>(value);
    if (std::is_signed_v<T>) key ^= uint32_t{1} << 31;
    if (kGreatest) key = ~key;
  }
  return uint64_t{key} << 32 | static_cast<uint32_t>(index);
}

// Sets `chosen` to the `k` first of `count` elements, in order. at(i) returns element i.
template <typename E, typename At, typename Less>
void SelectFirst(int64_t count, int64_t k, const At& at, const Less& less, std::vector<E>* chosen) {
  chosen->clear();
  if (k == 0) return;
  for (int64_t i = 0; i < k; ++i) chosen->push_back(at(i));
  if (k < count) {
    // The top of the heap is the last of the chosen elements. Most elements are rejected by a
    // comparison with it.
    std::make_heap(chosen->begin(), chosen->end(), less);
    for (int64_t i = k; i < count; ++i) {
      const E element = at(i);
      if (!less(element, chosen->front())) continue;
      std::pop_heap(chosen->begin(), chosen->end(), less);
      chosen->back() = element;
      std::push_heap(chosen->begin(), chosen->end(), less);
    }
  }
  std::sort(chosen->begin(), chosen->end(), less);
}

// Calls visit(rank, index) for the `k` first of `count` elements, in order. The elements are
// `stride` apart.
template <typename T, bool kGreatest, typename Visit>
void VisitFirst(const T* row, int64_t count, int64_t stride, int64_t k, const Visit& visit) {
  if constexpr (sizeof(Compared<T>) <= sizeof(uint32_t)) {
    std::vector<uint64_t> chosen;
    SelectFirst(
        count, k, [&](int64_t i) { return KeyOf<T, kGreatest>(row[i * stride], i); },
        std::less<uint64_t>(), &chosen);
    for (int64_t i = 0; i < k; ++i) visit(i, static_cast<uint32_t>(chosen[i]));
  } else {
    using E = Element<Compared<T>>;
    std::vector<E> chosen;
    SelectFirst(
        count, k,
        [&](int64_t i) {
          return E{row[i * stride], static_cast<int32_t>(i)};
        },
        Precedes<Compared<T>, kGreatest>, &chosen);
    for (int64_t i = 0; i < k; ++i) visit(i, chosen[i].index);
  }
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
    ctx.ParallelFor(x.num_elements() / count, 2.0 * static_cast<double>(count),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t r = begin; r < end; ++r) {
                        const T* const row = x.data<T>() + r / inner * count * inner + r % inner;
                        const int64_t out = r / inner * k * inner + r % inner;
                        const auto store = [&](int64_t i, int64_t index) {
                          values->data<T>()[out + i * inner] = row[index * inner];
                          StoreIndex(static_cast<int32_t>(index), out + i * inner, indices);
                        };
                        if (options.is_greatest) {
                          VisitFirst<T, true>(row, count, inner, k, store);
                        } else {
                          VisitFirst<T, false>(row, count, inner, k, store);
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

// The number of elements that are compared before the count is checked, so that the loop over them
// is vectorised.
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
