// Primitive: the best of boxes that overlap.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Selects boxes by their scores, the best first and of equal ones the first. A selected box drops
// those that overlap it by more than a threshold; or, with a positive `soft_sigma`, it multiplies
// all scores by exp(-overlap^2 / (2 soft_sigma)) (Bodla et al., arXiv:1704.04503). Only scores
// above a threshold count; a NaN is above none.
//
// `boxes` [n, 4] are opposite corners y1, x1, y2, x2, or, if `from_overlaps`, [n, n] the overlap of
// each pair. `scores` [n] has the dtype of the boxes, float or half. Writes the indices of the
// selected boxes and zeros after them, and their scores likewise unless `selected_scores` is null:
// their length is the most that is selected. `count`, a scalar of int32, gets how many were
// selected. Errors: UNIMPLEMENTED for other dtypes.
struct NonMaxSuppression {
  struct Options {
    float overlap_threshold = 0;
    float score_threshold = 0;
    float soft_sigma = 0;
    bool from_overlaps = false;
  };
  using Function = absl::Status(KernelContext& ctx, const Options& options, const Tensor& boxes,
                                const Tensor& scores, Tensor* indices, Tensor* selected_scores,
                                Tensor* count);
};

}  // namespace tessera
