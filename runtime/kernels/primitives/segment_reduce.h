// Reductions of rows that have the same segment number.
#pragma once

#include <memory>

#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/reduce.h"

namespace tessera {

// The value of a segment without rows. kLowest and kHighest are finite. A maximum or a minimum
// begins with either of them, so that a segment of nothing but infinities becomes it, too.
enum class EmptySegment { kZero, kOne, kLowest, kHighest };

// Tells whether all rows of a segment follow one another, by the segments' numbers. CPUs add up
// sorted rows of half and bfloat16 in another order, as TensorFlow does.
enum class SegmentOrder { kSorted, kAny };

// One kind of reduction (kSum, kMean, kProd; kMax and kMin of real numbers) of rows of one numeric
// dtype. Thread-safe.
class SegmentReduce {
 public:
  using Function = std::unique_ptr<SegmentReduce>(ReduceKind kind, DType dtype, EmptySegment empty,
                                                  SegmentOrder order);
  virtual ~SegmentReduce() = default;

  // Row s of `out` becomes the reduction of the rows i of `data` with segment_ids[i] == s. `data`
  // holds as many rows as there are ids, and each has as many elements as a row of `out`, whatever
  // its own dimensions are. Rows with a negative id are left out. The ids, int32 or int64 and of
  // any rank, lie in host memory or in that of the device.
  //
  // The rows of a segment are added in their order. On CPUs, sums, means and products of half and
  // bfloat16 round after each row; elsewhere they accumulate in float.
  // Errors: INVALID_ARGUMENT for an id that is not a row of `out`. A device that cannot see the ids
  // before it returns leaves such rows out.
  virtual absl::Status Run(KernelContext& ctx, const Tensor& data, const Tensor& segment_ids,
                           Tensor* out) const = 0;
};

}  // namespace tessera
