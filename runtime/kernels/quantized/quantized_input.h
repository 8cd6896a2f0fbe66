// Reading quantised inputs of a kernel, and setting the ranges of its outputs.
#pragma once

#include <cmath>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/quantized/quantized_range.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {

// Whether the ends of a range are scalars, single numbers of any rank, or the first ones of
// tensors.
enum class RangeEnds { kScalar, kSingle, kFirst };

// Returns inputs i and i + 1 as the range of T.
// Errors: INVALID_ARGUMENT unless both have the shape that `ends` says, and the minimum is not
// above the maximum.
template <typename T>
absl::StatusOr<QuantizedRange<T>> ReadRange(const KernelContext& ctx, int i,
                                            RangeEnds ends = RangeEnds::kScalar) {
  for (int j = i; j < i + 2; ++j) {
    const int64_t count = ctx.input(j).num_elements();
    const bool fits = ends == RangeEnds::kScalar   ? ctx.input(j).shape().IsScalar()
                      : ends == RangeEnds::kSingle ? count == 1
                                                   : count >= 1;
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat("input ", j, " must be a scalar, has shape ",
                                                     ctx.input(j).shape().ToString()));
    }
  }
  const QuantizedRange<T> range{*ctx.input(i).data<float>(), *ctx.input(i + 1).data<float>()};
  if (range.min <= range.max && std::isfinite(range.min) && std::isfinite(range.max)) return range;
  return absl::InvalidArgumentError(absl::StrCat("the range must be finite and not empty, is [",
                                                 range.min, ", ", range.max, "]"));
}

// Sets outputs i and i + 1 to the range.
template <typename T>
absl::Status SetRange(KernelContext& ctx, int i, const QuantizedRange<T>& range) {
  RETURN_IF_ERROR(SetScalarOutput<float>(ctx, i, range.min));
  return SetScalarOutput<float>(ctx, i + 1, range.max);
}

// Returns the integers that store the numbers of a tensor.
template <typename T>
const T* Stored(const Tensor& tensor) {
  return reinterpret_cast<const T*>(tensor.raw());
}

template <typename T>
T* MutableStored(Tensor* tensor) {
  return reinterpret_cast<T*>(tensor->mutable_raw());
}

// Errors: INVALID_ARGUMENT, in TensorFlow's words, unless `a` and `b` are matrices of which `b` has
// as many rows as `a` has columns, after they were transposed.
inline absl::Status CheckMatrices(const Tensor& a, bool transpose_a, const Tensor& b,
                                  bool transpose_b) {
  if (a.rank() == 2 && b.rank() == 2 && a.dim(transpose_a ? 0 : 1) == b.dim(transpose_b ? 1 : 0)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Matrix size-incompatible: In[0]: ", a.shape().ToString(),
                   ", In[1]: ", b.shape().ToString()));
}

}  // namespace tessera
