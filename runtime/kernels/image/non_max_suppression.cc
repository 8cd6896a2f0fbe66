// The best of boxes that overlap: NonMaxSuppression and its versions, of which the fifth may lower
// scores instead of dropping boxes (Bodla et al., arXiv:1704.04503).
#include "runtime/kernels/primitives/non_max_suppression.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/box_selection.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/selected_boxes.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT unless there is one number.
absl::StatusOr<float> ReadScalar(const Tensor& input, absl::string_view name) {
  if (!input.shape().IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' must be a scalar, has shape ", input.shape().ToString()));
  }
  if (input.dtype() == DType::kHalf) return static_cast<float>(input.scalar<Eigen::half>());
  return input.scalar<float>();
}

absl::Status CheckOverlapThreshold(float threshold) {
  if (threshold >= 0 && threshold <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'iou_threshold' must lie in [0, 1], is ", threshold));
}

// The first `count` elements of a vector as output `i`.
absl::Status OutputPrefix(KernelContext& ctx, int i, const Tensor& vector, int64_t count) {
  ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(i, Shape{count}));
  if (count == 0) return absl::OkStatus();
  const Tensor prefix = vector.Slice(0, count);
  if (ctx.stream() != nullptr) {
    ctx.stream()->Copy(prefix, output);
  } else {
    std::memcpy(output->mutable_raw(), prefix.raw(), prefix.size_bytes());
  }
  return absl::OkStatus();
}

// Inputs boxes [n, 4] or overlaps [n, n], scores [n], the number of boxes to select at most, and as
// the version has them thresholds and sigma; outputs indices, scores for version 5, and for 4 and 5
// how many of them count. Waits for the device unless outputs are padded, since their shapes depend
// on the selection. Errors: INVALID_ARGUMENT for other shapes, or a threshold beyond [0, 1].
class NonMaxSuppressionKernel : public OpKernel {
 public:
  explicit NonMaxSuppressionKernel(const KernelBuild& build)
      : select_(build),
        from_overlaps_(build.op().name == "NonMaxSuppressionWithOverlaps"),
        pad_(build.has_attr("pad_to_max_output_size") &&
             build.attr<bool>("pad_to_max_output_size")),
        overlap_threshold_(build.has_attr("iou_threshold") ? build.attr<float>("iou_threshold")
                                                           : 0) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& boxes = ctx.input(0);
    const Tensor& scores = ctx.input(1);
    const int64_t columns = from_overlaps_ && boxes.rank() > 0 ? boxes.dim(0) : 4;
    if (!boxes.shape().IsMatrix() || boxes.dim(1) != columns ||
        !(scores.shape() == Shape{boxes.dim(0)})) {
      return absl::InvalidArgumentError(
          absl::StrCat("inputs must be ", from_overlaps_ ? "overlaps [n, n]" : "boxes [n, 4]",
                       " and scores [n], have shapes ", boxes.shape().ToString(), " and ",
                       scores.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int64_t wanted, ReadIntegerOfScalar(ctx.input(2), "max_output_size"));
    if (wanted < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'max_output_size' must not be negative, is ", wanted));
    }
    ASSIGN_OR_RETURN(const NonMaxSuppression::Options options, ReadOptions(ctx));
    return pad_ ? SelectPadded(ctx, options, wanted)
                : SelectAll(ctx, options, std::min(wanted, boxes.dim(0)));
  }

 private:
  absl::StatusOr<NonMaxSuppression::Options> ReadOptions(KernelContext& ctx) const {
    NonMaxSuppression::Options options;
    options.from_overlaps = from_overlaps_;
    options.overlap_threshold = overlap_threshold_;
    options.score_threshold = ctx.input(1).dtype() == DType::kHalf
                                  ? static_cast<float>(std::numeric_limits<Eigen::half>::lowest())
                                  : std::numeric_limits<float>::lowest();
    if (ctx.num_inputs() > 3) {
      ASSIGN_OR_RETURN(options.overlap_threshold, ReadScalar(ctx.input(3), "iou_threshold"));
    }
    if (ctx.num_inputs() > 4) {
      ASSIGN_OR_RETURN(options.score_threshold, ReadScalar(ctx.input(4), "score_threshold"));
    }
    if (ctx.num_inputs() > 5) {
      ASSIGN_OR_RETURN(options.soft_sigma, ReadScalar(ctx.input(5), "soft_nms_sigma"));
      if (!(options.soft_sigma >= 0)) {  // NaN is refused, too
        return absl::InvalidArgumentError("'soft_nms_sigma' must not be negative");
      }
    }
    if (!from_overlaps_) RETURN_IF_ERROR(CheckOverlapThreshold(options.overlap_threshold));
    return options;
  }

  bool has_scores(const KernelContext& ctx) const { return ctx.num_outputs() == 3; }

  absl::Status SelectPadded(KernelContext& ctx, const NonMaxSuppression::Options& options,
                            int64_t size) const {
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape{size}));
    Tensor* scores = nullptr;
    if (has_scores(ctx)) {
      ASSIGN_OR_RETURN(scores, ctx.AllocateOutput(1, Shape{size}));
    }
    ASSIGN_OR_RETURN(Tensor * count, ctx.AllocateOutput(ctx.num_outputs() - 1, Shape{}));
    return select_(ctx, options, ctx.input(0), ctx.input(1), indices, scores, count);
  }

  absl::Status SelectAll(KernelContext& ctx, const NonMaxSuppression::Options& options,
                         int64_t limit) const {
    ASSIGN_OR_RETURN(Tensor indices, ctx.AllocateTemp(DType::kInt32, Shape{limit}));
    Tensor scores;
    if (has_scores(ctx)) {
      ASSIGN_OR_RETURN(scores, ctx.AllocateTemp(ctx.input(1).dtype(), Shape{limit}));
    }
    ASSIGN_OR_RETURN(Tensor count, ctx.AllocateTemp(DType::kInt32, Shape{}));
    RETURN_IF_ERROR(select_(ctx, options, ctx.input(0), ctx.input(1), &indices,
                            has_scores(ctx) ? &scores : nullptr, &count));
    Tensor host_count = count;
    if (ctx.stream() != nullptr) {
      ASSIGN_OR_RETURN(host_count, ctx.AllocateTemp(DType::kInt32, Shape{}, MemoryKind::kPinned));
      ctx.stream()->Copy(count, &host_count);
      RETURN_IF_ERROR(ctx.stream()->Synchronize());
    }
    const int64_t selected = host_count.scalar<int32_t>();
    RETURN_IF_ERROR(OutputPrefix(ctx, 0, indices, selected));
    if (has_scores(ctx)) RETURN_IF_ERROR(OutputPrefix(ctx, 1, scores, selected));
    if (ctx.num_outputs() > 1) ctx.set_output(ctx.num_outputs() - 1, std::move(count));
    return absl::OkStatus();
  }

  const Primitive<NonMaxSuppression> select_;
  const bool from_overlaps_, pad_;
  const float overlap_threshold_;
};

REGISTER_KERNEL("NonMaxSuppression", DevicesOf<NonMaxSuppression>, NonMaxSuppressionKernel)
    .HostMemory("max_output_size");
REGISTER_KERNEL("NonMaxSuppressionV2", DevicesOf<NonMaxSuppression>, NonMaxSuppressionKernel)
    .HostMemory("max_output_size")
    .HostMemory("iou_threshold");
REGISTER_KERNEL("NonMaxSuppressionV3", DevicesOf<NonMaxSuppression>, NonMaxSuppressionKernel)
    .HostMemory("max_output_size")
    .HostMemory("iou_threshold")
    .HostMemory("score_threshold");
REGISTER_KERNEL("NonMaxSuppressionV4", DevicesOf<NonMaxSuppression>, NonMaxSuppressionKernel)
    .HostMemory("max_output_size")
    .HostMemory("iou_threshold")
    .HostMemory("score_threshold");
REGISTER_KERNEL("NonMaxSuppressionV5", DevicesOf<NonMaxSuppression>, NonMaxSuppressionKernel)
    .HostMemory("max_output_size")
    .HostMemory("iou_threshold")
    .HostMemory("score_threshold")
    .HostMemory("soft_nms_sigma");
REGISTER_KERNEL("NonMaxSuppressionWithOverlaps", DevicesOf<NonMaxSuppression>,
                NonMaxSuppressionKernel)
    .HostMemory("max_output_size")
    .HostMemory("overlap_threshold")
    .HostMemory("score_threshold");

// One box of one class.
struct Detection {
  float score;
  int32_t box, class_index;
};

// For each image the best boxes of each class, and of these the best. Inputs boxes
// [batch, n, 1 or classes, 4], scores [batch, n, classes], boxes a class, boxes in all, thresholds.
// Errors: INVALID_ARGUMENT for other shapes, sizes that are not positive, or a threshold beyond
// [0, 1].
class CombinedNonMaxSuppressionKernel : public OpKernel {
 public:
  explicit CombinedNonMaxSuppressionKernel(const KernelBuild& build)
      : pad_per_class_(build.attr<bool>("pad_per_class")),
        clip_boxes_(build.attr<bool>("clip_boxes")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& boxes = ctx.input(0);
    const Tensor& scores = ctx.input(1);
    if (boxes.rank() != 4 || boxes.dim(3) != 4 || scores.rank() != 3 ||
        scores.dim(0) != boxes.dim(0) || scores.dim(1) != boxes.dim(1) ||
        (boxes.dim(2) != 1 && boxes.dim(2) != scores.dim(2))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "inputs must be boxes [batch, n, 1 or classes, 4] and scores [batch, n, classes], have ",
          "shapes ", boxes.shape().ToString(), " and ", scores.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int64_t per_class, ReadCount(ctx.input(2), "max_output_size_per_class"));
    ASSIGN_OR_RETURN(int64_t total, ReadCount(ctx.input(3), "max_total_size"));
    BoxThresholds<float> t;
    ASSIGN_OR_RETURN(t.overlap, ReadScalar(ctx.input(4), "iou_threshold"));
    ASSIGN_OR_RETURN(t.score, ReadScalar(ctx.input(5), "score_threshold"));
    RETURN_IF_ERROR(CheckOverlapThreshold(t.overlap));
    const int64_t batch = boxes.dim(0), classes = scores.dim(2);
    if (pad_per_class_) total = std::min(total, per_class * classes);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({batch, total}));
    ASSIGN_OR_RETURN(const Shape box_shape, Shape::Make({batch, total, 4}));
    ASSIGN_OR_RETURN(Tensor * out_boxes, ctx.AllocateOutput(0, box_shape));
    ASSIGN_OR_RETURN(Tensor * out_scores, ctx.AllocateOutput(1, shape));
    ASSIGN_OR_RETURN(Tensor * out_classes, ctx.AllocateOutput(2, shape));
    ASSIGN_OR_RETURN(Tensor * out_valid, ctx.AllocateOutput(3, Shape{batch}));
    // Of each image, for each class, the boxes that were selected.
    std::vector<std::vector<Detection>> selected(scores.num_elements() == 0 ? 0 : batch * classes);
    const double cost = 20.0 * static_cast<double>(boxes.dim(1));
    ctx.ParallelFor(static_cast<int64_t>(selected.size()), cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        selected[i] = Select(boxes, scores, i / classes, i % classes, per_class, t);
      }
    });
    ctx.ParallelFor(batch, 20.0 * static_cast<double>(classes), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        std::vector<Detection> best;
        if (!selected.empty())
          best = Best(absl::MakeSpan(selected).subspan(b * classes, classes), total);
        out_valid->data<int32_t>()[b] = static_cast<int32_t>(best.size());
        for (int64_t i = 0; i < total; ++i) {
          const bool valid = i < static_cast<int64_t>(best.size());
          const float* const box =
              valid ? BoxOf(boxes, b, best[i].box, best[i].class_index) : nullptr;
          out_scores->data<float>()[b * total + i] = valid ? best[i].score : 0;
          out_classes->data<float>()[b * total + i] =
              valid ? static_cast<float>(best[i].class_index) : 0;
          for (int k = 0; k < 4; ++k) {
            float corner = valid ? box[k] : 0;
            if (clip_boxes_) corner = std::max(std::min(corner, 1.0f), 0.0f);
            out_boxes->data<float>()[(b * total + i) * 4 + k] = corner;
          }
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<int64_t> ReadCount(const Tensor& input, absl::string_view name) {
    ASSIGN_OR_RETURN(const int64_t count, ReadIntegerOfScalar(input, name));
    if (count > 0) return count;
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' must be positive, is ", count));
  }

  static const float* BoxOf(const Tensor& boxes, int64_t image, int64_t box, int64_t class_index) {
    const int64_t sets = boxes.dim(2);
    return boxes.data<float>() +
           ((image * boxes.dim(1) + box) * sets + (sets > 1 ? class_index : 0)) * 4;
  }

  // The boxes of one class that are selected in one image.
  static std::vector<Detection> Select(const Tensor& boxes, const Tensor& scores, int64_t image,
                                       int64_t class_index, int64_t per_class,
                                       const BoxThresholds<float>& thresholds) {
    const int64_t count = boxes.dim(1), classes = scores.dim(2);
    std::vector<float> of_class(count);
    for (int64_t i = 0; i < count; ++i) {
      of_class[i] = scores.data<float>()[(image * count + i) * classes + class_index];
    }
    const auto box = [&](int32_t i) { return BoxOf(boxes, image, i, class_index); };
    SelectedFloatBoxes selected(box(0), boxes.dim(2) * 4, thresholds.overlap);
    const BoxSelection<float> selection = SelectBoxes<float>(
        of_class, per_class, thresholds,
        [&](int32_t a, int32_t b) { return IntersectionOverUnion(box(a), box(b)); }, &selected);
    std::vector<Detection> detections;
    for (const int32_t i : selection.boxes) {
      detections.push_back({of_class[i], i, static_cast<int32_t>(class_index)});
    }
    return detections;
  }

  // The `total` best of those of all classes.
  static std::vector<Detection> Best(absl::Span<const std::vector<Detection>> of_classes,
                                     int64_t total) {
    std::vector<Detection> all;
    for (const auto& of_class : of_classes) all.insert(all.end(), of_class.begin(), of_class.end());
    std::stable_sort(all.begin(), all.end(),
                     [](const Detection& a, const Detection& b) { return a.score > b.score; });
    if (static_cast<int64_t>(all.size()) > total) all.resize(total);
    return all;
  }

  const bool pad_per_class_, clip_boxes_;
};
REGISTER_KERNEL("CombinedNonMaxSuppression", kCpu, CombinedNonMaxSuppressionKernel);

}  // namespace
}  // namespace tessera
