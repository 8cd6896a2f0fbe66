// TopK, NthElement and InTopK.
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/order_key.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/sorted_pairs.h"
#include "runtime/kernels/primitives/sort.h"

namespace tessera::cuda {
namespace {

// Rows of `count` elements, `inner` apart.
template <typename A>
__global__ void MakeRowPairs(int64_t total, int64_t padded, int64_t count, int64_t inner,
                             bool greatest_first, Input<A> x, KeyIndex* pairs) {
  for (int64_t i = FirstItem(); i < total; i += ItemStep()) {
    const int64_t row = i / padded, at = i % padded;
    uint64_t key = kLastKey;  // padding, whose index comes after those of all elements
    if (at < count) {
      key = OrderKey(x[row / inner * count * inner + at * inner + row % inner], greatest_first);
    }
    pairs[i] = {key, at};
  }
}

struct SortedRows {
  Tensor memory;
  const KeyIndex* pairs;
  int64_t stride;  // pairs of a row
};

absl::StatusOr<SortedRows> SortElements(KernelContext& ctx, const Tensor& x, int64_t count,
                                        int64_t inner, bool greatest_first) {
  const int64_t rows = x.num_elements() / count;
  int64_t padded = 1;
  while (padded < count) padded *= 2;
  ASSIGN_OR_RETURN(Tensor memory, AllocatePairs(ctx, rows * padded));
  KeyIndex* const pairs = DataOf<KeyIndex>(memory);
  RETURN_IF_ERROR(VisitComputeType<kReal>(x.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, rows * padded, MakeRowPairs<A>, rows * padded, padded, count, inner,
                       greatest_first, Input<A>(x), pairs);
  }));
  RETURN_IF_ERROR(SortRows(ctx, rows, padded, pairs));
  return SortedRows{std::move(memory), pairs, padded};
}

// Copies elements first, first + 1, ..., first + k - 1 of each sorted row.
template <typename T>
__global__ void TakeSorted(int64_t total, int64_t first, int64_t k, int64_t count, int64_t inner,
                           const KeyIndex* pairs, int64_t stride, const T* x, T* values,
                           Output<int64_t> indices) {
  for (int64_t i = FirstItem(); i < total; i += ItemStep()) {
    const int64_t row = i / (k * inner) * inner + i % inner, rank = i / inner % k;
    const int64_t index = pairs[row * stride + first + rank].index;
    values[i] = x[row / inner * count * inner + index * inner + row % inner];
    if (indices.data != nullptr) indices.Set(i, index);
  }
}

absl::Status RunTopK(KernelContext& ctx, const TopK::Options& options, const Tensor& x,
                     Tensor* values, Tensor* indices) {
  const int64_t total = values->num_elements();
  if (total == 0) return absl::OkStatus();
  const int64_t count = x.dim(options.axis);
  int64_t inner = 1;
  for (int d = options.axis + 1; d < x.rank(); ++d) inner *= x.dim(d);
  ASSIGN_OR_RETURN(const SortedRows sorted,
                   SortElements(ctx, x, count, inner, options.is_greatest));
  return VisitBySize(ElementSize(x), [&]<typename T>() {
    return LaunchItems(ctx, total, TakeSorted<T>, total, int64_t{0}, options.k, count, inner,
                       sorted.pairs, sorted.stride, DataOf<const T>(x), DataOf<T>(*values),
                       Output<int64_t>(indices));
  });
}
REGISTER_CUDA_PRIMITIVE(TopK, RunTopK);

absl::Status RunNthElement(KernelContext& ctx, int64_t n, const Tensor& x, Tensor* y) {
  const int64_t total = y->num_elements();
  if (total == 0) return absl::OkStatus();
  const int64_t count = x.dim(x.rank() - 1);
  ASSIGN_OR_RETURN(const SortedRows sorted, SortElements(ctx, x, count, 1, false));
  return VisitBySize(ElementSize(x), [&]<typename T>() {
    return LaunchItems(ctx, total, TakeSorted<T>, total, n, int64_t{1}, count, int64_t{1},
                       sorted.pairs, sorted.stride, DataOf<const T>(x), DataOf<T>(*y),
                       Output<int64_t>(nullptr, DType::kInt64));
  });
}
REGISTER_CUDA_PRIMITIVE(NthElement, RunNthElement);

__global__ void FindInTopK(Rows rows, int64_t k, int64_t classes, const float* predictions,
                           Indices targets, bool* is_in) {
  // More than any k, of a row that cannot be judged.
  constexpr int64_t kNever = int64_t{1} << 40;
  for (int64_t row = rows.First(); row < rows.count; row += rows.Step()) {
    const float* const x = predictions + row * classes;
    const int64_t target = targets[row];
    const bool valid = target >= 0 && target < classes;
    int64_t greater = 0;
    for (int64_t c = rows.Lane(); c < classes; c += rows.threads) {
      if (!(std::abs(x[c]) < INFINITY)) greater += kNever;
      if (valid && x[c] > x[target]) ++greater;
    }
    greater = rows.Reduce(greater, [](int64_t a, int64_t b) { return a + b; });
    if (rows.Lane() == 0) is_in[row] = valid && greater < kNever && greater < k;
  }
}

absl::Status RunInTopK(KernelContext& ctx, int64_t k, const Tensor& predictions,
                       const Tensor& targets, Tensor* is_in) {
  return LaunchRows(ctx, targets.num_elements(), predictions.dim(1), FindInTopK, k,
                    predictions.dim(1), DataOf<const float>(predictions), Indices(targets),
                    DataOf<bool>(*is_in));
}
REGISTER_CUDA_PRIMITIVE(InTopK, RunInTopK);

}  // namespace
}  // namespace tessera::cuda
