// The primitives that find the part of a range into which each number falls.
#pragma once

#include "absl/types/span.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct Histogram {
  // Counts real numbers in equal parts of [low, high). There is one part for each element of
  // `counts`, which is int32 or int64 and has at least one element. v falls into part floor((v -
  // low) / width), computed in double. Numbers outside the range count for the first or the last
  // part, and NaN for the first. Requires that low < high and that high - low is finite.
  using Function = absl::Status(KernelContext& ctx, double low, double high, const Tensor& values,
                                Tensor* counts);
};

struct Bucketize {
  // Sets each element of `buckets`, which is int32 and has the shape of `values`, to the number of
  // boundaries that do not exceed the value, which is a real number. NaN gives the number of all
  // boundaries. The boundaries lie in host memory and do not decrease.
  using Function = absl::Status(KernelContext& ctx, absl::Span<const float> boundaries,
                                const Tensor& values, Tensor* buckets);
};

}  // namespace tessera
