// The primitive that selects the best of overlapping boxes.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Selects boxes in the order of their scores, the best first; of equal ones, the one with the lower
// index first. A selected box removes those that overlap it by more than a threshold. With a
// positive `soft_sigma`, it multiplies all other scores by exp(-overlap^2 / (2 soft_sigma)) (Bodla
// et al., arXiv:1704.04503). Only scores above a threshold count, and NaN is not above it.
//
// `boxes` [n, 4] are opposite corners y1, x1, y2, x2, or, if `from_overlaps`, the overlap [n, n] of
// each pair. `scores` [n] has the dtype of the boxes, float or half. Writes the indices of the
// selected boxes, and their scores unless `selected_scores` is null. The length of these vectors is
// the largest number of boxes that is selected; zeros fill the rest. `count`, a scalar of int32,
// gets how many were selected. Errors: UNIMPLEMENTED for other dtypes.
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
