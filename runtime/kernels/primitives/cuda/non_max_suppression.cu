// One block selects box after box: each thread looks after a part of the boxes, all agree on the
// best one left, and each lowers or drops those of its own that overlap it.
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/non_max_suppression.h"

namespace tessera::cuda {
namespace {

struct SuppressionWork {
  Input<float> boxes, scores;
  int64_t num_boxes, max_selected;
  NonMaxSuppression::Options options;  // thresholds are rounded to the dtype

  // What half would have kept of a result.
  __device__ float Round(float value) const { return Rounded<float>(boxes.dtype, value); }

  __device__ float Overlap(int64_t a, int64_t b) const {
    if (options.from_overlaps) return boxes[a * num_boxes + b];
    float top[2], left[2], bottom[2], right[2], area[2];
    for (int i = 0; i < 2; ++i) {
      const int64_t box = (i == 0 ? a : b) * 4;
      const float y1 = boxes[box], x1 = boxes[box + 1], y2 = boxes[box + 2], x2 = boxes[box + 3];
      top[i] = y2 < y1 ? y2 : y1, bottom[i] = y1 < y2 ? y2 : y1;
      left[i] = x2 < x1 ? x2 : x1, right[i] = x1 < x2 ? x2 : x1;
      area[i] = Round(Round(bottom[i] - top[i]) * Round(right[i] - left[i]));
      if (area[i] <= 0) return 0;
    }
    const float height = Round((bottom[1] < bottom[0] ? bottom[1] : bottom[0]) -
                               (top[0] < top[1] ? top[1] : top[0]));
    const float width = Round((right[1] < right[0] ? right[1] : right[0]) -
                              (left[0] < left[1] ? left[1] : left[0]));
    const float shared = Round((height < 0 ? 0 : height) * (width < 0 ? 0 : width));
    return Round(shared / Round(Round(area[0] + area[1]) - shared));
  }

  // The score that is left of a box which overlaps a selected one; NaN if the box is dropped.
  __device__ float Lowered(float score, float overlap) const {
    const bool is_soft = options.soft_sigma > 0;
    if (!is_soft && overlap > options.overlap_threshold) return NAN;
    if (is_soft || !(overlap <= options.overlap_threshold)) {
      const float scale = is_soft ? Round(-0.5f / options.soft_sigma) : 0.0f;
      const float weight = is_soft ? Round(expf(Round(Round(scale * overlap) * overlap))) : 0.0f;
      score = Round(score * weight);
    }
    return score > options.score_threshold ? score : NAN;
  }
};

struct BestBox {
  float score;
  int32_t box;  // -1: there is none
};

// Of equal scores the first box.
__device__ BestBox BetterOf(BestBox a, BestBox b) {
  if (a.box < 0 || b.box < 0) return a.box < 0 ? b : a;
  if (a.score != b.score) return a.score < b.score ? b : a;
  return b.box < a.box ? b : a;
}

// `left` holds the scores of the boxes that are neither selected nor dropped, and NaN for others.
__global__ void SelectBoxes(SuppressionWork work, float* left, int32_t* indices,
                            Output<float> selected_scores, int32_t* count) {
  const Rows block{1, kBlockThreads};
  for (int64_t i = threadIdx.x; i < work.num_boxes; i += kBlockThreads) {
    const float score = work.scores[i];
    left[i] = score > work.options.score_threshold ? score : NAN;
  }
  int64_t selected = 0;
  for (; selected < work.max_selected; ++selected) {
    BestBox best{0, -1};
    for (int64_t i = threadIdx.x; i < work.num_boxes; i += kBlockThreads) {
      const float score = left[i];
      if (score == score) best = BetterOf(best, {score, static_cast<int32_t>(i)});
    }
    best = block.Reduce(best, BetterOf);
    if (best.box < 0) break;
    if (threadIdx.x == 0) {
      indices[selected] = best.box;
      if (selected_scores.data != nullptr) selected_scores.Set(selected, best.score);
    }
    for (int64_t i = threadIdx.x; i < work.num_boxes; i += kBlockThreads) {
      const float score = left[i];
      if (i == best.box) {
        left[i] = NAN;
      } else if (score == score) {
        left[i] = work.Lowered(score, work.Overlap(i, best.box));
      }
    }
  }
  for (int64_t i = selected + threadIdx.x; i < work.max_selected; i += kBlockThreads) {
    indices[i] = 0;
    if (selected_scores.data != nullptr) selected_scores.Set(i, 0);
  }
  if (threadIdx.x == 0) *count = static_cast<int32_t>(selected);
}

absl::Status RunNonMaxSuppression(KernelContext& ctx, const NonMaxSuppression::Options& options,
                                  const Tensor& boxes, const Tensor& scores, Tensor* indices,
                                  Tensor* selected_scores, Tensor* count) {
  if (boxes.dtype() != DType::kFloat && boxes.dtype() != DType::kHalf) {
    return absl::UnimplementedError(
        absl::StrCat("not implemented for elements of ", DTypeName(boxes.dtype())));
  }
  SuppressionWork work{boxes, scores, scores.num_elements(), indices->num_elements(), options};
  for (float* value :
       {&work.options.overlap_threshold, &work.options.score_threshold, &work.options.soft_sigma}) {
    *value = Rounded<float>(boxes.dtype(), *value);
  }
  ASSIGN_OR_RETURN(Tensor left, ctx.AllocateTemp(DType::kFloat, scores.shape()));
  const Output<float> to = selected_scores == nullptr ? Output<float>(nullptr, DType::kFloat)
                                                      : Output<float>(selected_scores);
  return LaunchBlocks(ctx, 1, SelectBoxes, work, DataOf<float>(left), DataOf<int32_t>(*indices), to,
                      DataOf<int32_t>(*count));
}
REGISTER_CUDA_PRIMITIVE(NonMaxSuppression, RunNonMaxSuppression);

}  // namespace
}  // namespace tessera::cuda
