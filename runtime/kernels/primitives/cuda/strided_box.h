// The elements of a box in several arrays with strides of their own, for kernels.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/strided_operands.h"

namespace tessera::cuda {

inline constexpr int kMaxBoxRank = 12;

struct Quotient {
  int64_t quotient, remainder;
};

// Divides non-negative numbers; those of 32 bits in a fraction of the time.
__device__ inline Quotient DivideIndex(int64_t index, int64_t divisor) {
  if (((index | divisor) >> 32) == 0) {
    const uint32_t n = static_cast<uint32_t>(index), d = static_cast<uint32_t>(divisor);
    const uint32_t quotient = n / d;
    return {quotient, n - quotient * d};
  }
  const int64_t quotient = index / divisor;
  return {quotient, index - quotient * divisor};
}

// Maps the number of an element in a box, counted row by row, to its byte offset in each array.
template <int kArrays>
struct StridedBox {
  int rank = 0;
  int64_t count = 1;
  int64_t dims[kMaxBoxRank];
  int64_t strides[kArrays][kMaxBoxRank];  // in bytes
  char* data[kArrays];

  __device__ void Offsets(int64_t element, int64_t (&offsets)[kArrays]) const {
    for (int a = 0; a < kArrays; ++a) offsets[a] = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const Quotient split = DivideIndex(element, dims[d]);
      for (int a = 0; a < kArrays; ++a) offsets[a] += split.remainder * strides[a][d];
      element = split.quotient;
    }
  }
};

// Takes over the first kArrays operands. Errors: UNIMPLEMENTED for more than kMaxBoxRank dimensions
// that do not merge.
template <int kArrays>
absl::StatusOr<StridedBox<kArrays>> MakeStridedBox(const StridedOperands& operands) {
  if (operands.rank() > kMaxBoxRank) {
    return absl::UnimplementedError(absl::StrCat("operands of ", operands.rank(),
                                                 " dimensions that do not merge; at most ",
                                                 kMaxBoxRank, " are supported on a GPU"));
  }
  StridedBox<kArrays> box;
  box.rank = operands.rank();
  box.count = operands.num_elements();
  for (int d = 0; d < box.rank; ++d) box.dims[d] = operands.dim(d);
  for (int a = 0; a < kArrays; ++a) {
    box.data[a] = operands.data(a);
    for (int d = 0; d < box.rank; ++d) box.strides[a][d] = operands.stride(a, d);
  }
  return box;
}

}  // namespace tessera::cuda
