// Rows of a table that are looked up and added by segment, and the gradient of that.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// The divisor of a segment's sum: 1, the number of its rows, or the square root of this number.
enum class SegmentDivisor { kOne, kCount, kRootOfCount };

struct SegmentLookup {
  // Row s of `output` becomes the sum of the rows indices[i] of `data` with segment_ids[i] == s, in
  // order, divided by the divisor; 0 where there is none. `data` and `output` hold real numbers of
  // one dtype and rows of one size; `indices` and `segment_ids` are vectors of one length, int32 or
  // int64, and the segments ascend. half and bfloat16 accumulate in float.
  // Errors: INVALID_ARGUMENT for an index that is no row of `data`, and a segment that is no row of
  // `output` or is out of order. A device that cannot see the indices before it returns adds zeros
  // for such rows, and leaves such segments out.
  using Function = absl::Status(KernelContext& ctx, SegmentDivisor divisor, const Tensor& data,
                                const Tensor& indices, const Tensor& segment_ids, Tensor* output);
};

struct SegmentLookupGradient {
  // Computes the gradient of `data` from the gradient of the segments. Row r of `output` becomes
  // the sum of the rows segment_ids[i] of `gradient` with indices[i] == r, in order, each divided
  // like the sum of its segment. Errors: those of SegmentLookup, but the segments need not ascend.
  using Function = absl::Status(KernelContext& ctx, SegmentDivisor divisor, const Tensor& gradient,
                                const Tensor& indices, const Tensor& segment_ids, Tensor* output);
};

}  // namespace tessera
