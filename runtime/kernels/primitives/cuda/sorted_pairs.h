// Sorting on the device, and what it is for: working on the indices that name one slice in order.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/bad_indices.h"
#include "runtime/kernels/primitives/device_function.h"
#include "runtime/tensor/tensor.h"

namespace tessera::cuda {

// An element to sort: by its key, and among equal keys by its index.
struct alignas(16) KeyIndex {
  uint64_t key;
  int64_t index;
  TESSERA_DEVICE_FUNCTION friend bool operator<(const KeyIndex& a, const KeyIndex& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

// The key that comes after all others: padding, and indices that are left out.
inline constexpr uint64_t kLastKey = ~uint64_t{0};

// Sorts each of `rows` rows of `length` pairs; the length is a power of two.
absl::Status SortRows(KernelContext& ctx, int64_t rows, int64_t length, KeyIndex* pairs);

// Scratch memory for `count` pairs.
absl::StatusOr<Tensor> AllocatePairs(KernelContext& ctx, int64_t count);

// The indices of a scatter, sorted by slice and then by their place, so that one thread works on a
// slice in the order that the contract asks for, whatever else runs at the same time:
//
//   for (int64_t i = FirstItem(); i < runs.count * columns; i += ItemStep()) {
//     runs.ForEach(i / columns, [&](int64_t slice, int64_t place) { ... });
//   }
struct IndexRuns {
  const KeyIndex* pairs;
  int64_t count;

  // The number of the first pair whose slice is not before `slice`.
  TESSERA_DEVICE_FUNCTION int64_t Begin(int64_t slice) const {
    int64_t begin = 0, end = count;
    while (begin < end) {
      const int64_t middle = begin + (end - begin) / 2;
      if (pairs[middle].key < static_cast<uint64_t>(slice)) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return begin;
  }

  // Calls visit(slice, place) for each of the indices with the slice of pair `at`, in order, if it
  // is the first of them.
  template <typename Visitor>
  TESSERA_DEVICE_FUNCTION void ForEach(int64_t at, Visitor visit) const {
    const uint64_t slice = pairs[at].key;
    if (slice == kLastKey || (at > 0 && pairs[at - 1].key == slice)) return;
    for (; at < count && pairs[at].key == slice; ++at) {
      visit(static_cast<int64_t>(slice), pairs[at].index);
    }
  }
};

// The runs of `indices`, integers of any width. Those outside of [0, size) are left out, or taken
// modulo `size` for kWrap. `memory` holds the pairs.
absl::StatusOr<IndexRuns> SortIndices(KernelContext& ctx, const Tensor& indices, int64_t size,
                                      BadIndices bad_indices, Tensor& memory);

// output[p] = the sum of the elements of `values` with place p, in their order, of real numbers of
// one dtype; 0 where there is none. Places outside of the output are left out.
absl::Status AddUpByPlace(KernelContext& ctx, const Tensor& places, const Tensor& values,
                          Tensor* output);

}  // namespace tessera::cuda
