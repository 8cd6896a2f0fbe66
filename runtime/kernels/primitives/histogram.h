// Primitive: the part of a range into which each number falls.
#pragma once

#include "absl/types/span.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct Histogram {
  // Counts real numbers by equal parts of [low, high), one for each element of `counts`, which is
  // int32 or int64 and has at least one: v falls into part floor((v - low) / width), computed in
  // double. What lies outside counts for the first or the last part, NaN for the first. Requires
  // that low < high and that high - low is finite.
  using Function = absl::Status(KernelContext& ctx, double low, double high, const Tensor& values,
                                Tensor* counts);
};

struct Bucketize {
  // Sets each element of `buckets`, which is int32 and has the shape of `values`, to the number of
  // boundaries that are not above the value, a real number; to the number of all for NaN. The
  // boundaries lie in host memory and do not fall.
  using Function = absl::Status(KernelContext& ctx, absl::Span<const float> boundaries,
                                const Tensor& values, Tensor* buckets);
};

}  // namespace tessera
