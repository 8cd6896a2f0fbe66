// The elements are sorted, so that equal ones are neighbours, and the first of each run of equal
// ones is marked. The marks in the order of the elements give the distinct ones in the order in
// which they first stand there.
#include <type_traits>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/non_zero.h"
#include "runtime/kernels/primitives/cuda/order_key.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/sorted_pairs.h"
#include "runtime/kernels/primitives/find_unique.h"
#include "runtime/kernels/primitives/math/device_std.h"

namespace tessera::cuda {
namespace {

// Numbers with one key are equal, but NaN, whose key is kLastKey, equals nothing. The greatest
// unsigned number has the same key; `may_be_nan` tells them apart.
struct SortedElements {
  const KeyIndex* pairs;
  int64_t count;
  bool may_be_nan;

  __device__ bool IsFirst(int64_t at) const {
    if (at == 0 || pairs[at].key != pairs[at - 1].key) return true;
    return may_be_nan && pairs[at].key == kLastKey;
  }
  // The place in `pairs` of the first one equal to pair `at`.
  __device__ int64_t FirstOfRun(int64_t at) const {
    if (may_be_nan && pairs[at].key == kLastKey) return at;
    return LowerBound(pairs[at].key);
  }
  __device__ int64_t RunLength(int64_t first) const {
    const uint64_t key = pairs[first].key;
    if (may_be_nan && key == kLastKey) return 1;
    return (key == kLastKey ? count : LowerBound(key + 1)) - first;
  }
  __device__ int64_t LowerBound(uint64_t key) const {
    int64_t begin = 0, end = count;
    while (begin < end) {
      const int64_t middle = begin + (end - begin) / 2;
      if (pairs[middle].key < key) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return begin;
  }
};

// Equal elements have one key. Those of 16 bits differ where their bits do: see number_key.h.
template <typename A>
__device__ uint64_t EqualityKey(A x, bool has_16_bits) {
  const uint64_t key = OrderKey(x, /*greatest_first=*/false);
  if constexpr (std::is_floating_point_v<A>) {
    const uint64_t bits = device_std::bit_cast<uint64_t>(static_cast<double>(x));
    if (has_16_bits && x == A{0} && bits != 0) return key - 1;  // no number of 16 bits has this key
  }
  return key;
}

template <typename A>
__global__ void MakeElementPairs(int64_t count, int64_t padded, Input<A> x, bool has_16_bits,
                                 KeyIndex* pairs) {
  for (int64_t i = FirstItem(); i < padded; i += ItemStep()) {
    // Padding comes after all elements, by its index.
    pairs[i] = {i < count ? EqualityKey(x[i], has_16_bits) : kLastKey, i};
  }
}

__global__ void MarkFirsts(SortedElements sorted, bool* is_first) {
  for (int64_t at = FirstItem(); at < sorted.count; at += ItemStep()) {
    is_first[sorted.pairs[at].index] = sorted.IsFirst(at);
  }
}

// `firsts` holds the `distinct` places of the first elements, in ascending order.
__global__ void NumberElements(SortedElements sorted, int64_t distinct, const int64_t* firsts,
                               Output<int64_t> which, Output<int64_t> counts) {
  for (int64_t at = FirstItem(); at < sorted.count; at += ItemStep()) {
    const int64_t run = sorted.FirstOfRun(at);
    const int64_t first = sorted.pairs[run].index;
    int64_t begin = 0, end = distinct;
    while (begin < end) {
      const int64_t middle = begin + (end - begin) / 2;
      if (firsts[middle] < first) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    which.Set(sorted.pairs[at].index, begin);
    if (at == run && counts.data != nullptr) counts.Set(begin, sorted.RunLength(at));
  }
}

absl::StatusOr<FindUnique::Distinct> RunFindUnique(KernelContext& ctx, const Tensor& rows,
                                                   bool with_counts, Tensor* which) {
  const int64_t count = rows.dim(0);
  if (count > 0 && rows.dim(1) != 1) {
    return absl::UnimplementedError("rows of several elements are not told apart on a GPU");
  }
  FindUnique::Distinct distinct;
  if (count == 0) {
    ASSIGN_OR_RETURN(distinct.firsts, ctx.AllocateTemp(DType::kInt64, Shape{0}));
    ASSIGN_OR_RETURN(distinct.counts, ctx.AllocateTemp(which->dtype(), Shape{0}));
    return distinct;
  }
  int64_t padded = 1;
  while (padded < count) padded *= 2;
  ASSIGN_OR_RETURN(const Tensor memory, AllocatePairs(ctx, padded));
  KeyIndex* const pairs = DataOf<KeyIndex>(memory);
  bool may_be_nan = false;
  RETURN_IF_ERROR(VisitComputeType<kReal | kBool>(rows.dtype(), [&]<typename A>() {
    may_be_nan = std::is_floating_point_v<A>;
    return LaunchItems(ctx, padded, MakeElementPairs<A>, count, padded, Input<A>(rows),
                       DTypeSize(rows.dtype()) == 2, pairs);
  }));
  RETURN_IF_ERROR(SortRows(ctx, 1, padded, pairs));
  const SortedElements sorted{pairs, count, may_be_nan};
  ASSIGN_OR_RETURN(const Tensor is_first, ctx.AllocateTemp(DType::kBool, Shape{count}));
  RETURN_IF_ERROR(LaunchItems(ctx, count, MarkFirsts, sorted, DataOf<bool>(is_first)));
  ASSIGN_OR_RETURN(distinct.firsts, FindNonZero(ctx, is_first));
  const int64_t number = distinct.firsts.dim(0);
  distinct.firsts.Reshape(Shape{number});
  if (with_counts) {
    ASSIGN_OR_RETURN(distinct.counts, ctx.AllocateTemp(which->dtype(), Shape{number}));
  }
  RETURN_IF_ERROR(LaunchItems(ctx, count, NumberElements, sorted, number,
                              DataOf<const int64_t>(distinct.firsts), Output<int64_t>(which),
                              with_counts
                                  ? Output<int64_t>(&distinct.counts)
                                  : Output<int64_t>(static_cast<void*>(nullptr), which->dtype())));
  return distinct;
}
REGISTER_CUDA_PRIMITIVE(FindUnique, RunFindUnique);

}  // namespace
}  // namespace tessera::cuda
