// The best of boxes that overlap: NonMaxSuppression and its versions, of which the fifth may lower
// scores instead of dropping boxes (Bodla et al., arXiv:1704.04503).
#include <cmath>
#include <limits>
#include <queue>
#include <vector>

#include "Eigen/Core"
#include "absl/functional/function_ref.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/image/box_overlap.h"
#include "runtime/kernels/index_input.h"

namespace tessera {
namespace {

template <typename T>
struct Candidate {
  int32_t box;
  T score;
  int32_t first_unseen = 0;  // the selected boxes before it have had their effect
};
// The best on top; of equal ones the first.
template <typename T>
struct IsWorse {
  bool operator()(const Candidate<T>& a, const Candidate<T>& b) const {
    return a.score == b.score ? a.box > b.box : a.score < b.score;
  }
};

template <typename T>
struct Thresholds {
  T overlap, score;
  T soft_sigma = T(0);
};

template <typename T>
struct Selection {
  std::vector<int32_t> boxes;
  std::vector<T> scores;
};

template <typename T>
Selection<T> Select(absl::Span<const T> scores, int64_t max_selected, const Thresholds<T>& t,
                    absl::FunctionRef<T(int32_t, int32_t)> overlap_of) {
  std::priority_queue<Candidate<T>, std::vector<Candidate<T>>, IsWorse<T>> queue;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > t.score) queue.push({static_cast<int32_t>(i), scores[i]});
  }
  const bool soft = t.soft_sigma > T(0);
  const T scale = soft ? static_cast<T>(-0.5) / t.soft_sigma : T(0);
  Selection<T> selection;
  while (static_cast<int64_t>(selection.boxes.size()) < max_selected && !queue.empty()) {
    Candidate<T> next = queue.top();
    queue.pop();
    const T original = next.score;
    bool dropped = false;
    const auto count = static_cast<int32_t>(selection.boxes.size());
    for (int32_t j = count - 1; j >= next.first_unseen; --j) {
      const T overlap = overlap_of(next.box, selection.boxes[j]);
      if (!soft && overlap > t.overlap) {
        dropped = true;
        break;
      }
      const T weight = static_cast<T>(std::exp(static_cast<float>(scale * overlap * overlap)));
      next.score = next.score * (soft || overlap <= t.overlap ? weight : T(0));
      if (next.score <= t.score) break;
    }
    next.first_unseen = count;
    if (dropped) continue;
    if (next.score == original) {
      selection.boxes.push_back(next.box);
      selection.scores.push_back(next.score);
    } else if (next.score > t.score) {
      queue.push(next);  // others may be better by now
    }
  }
  return selection;
}

// Errors: INVALID_ARGUMENT unless there is one number.
template <typename T>
absl::StatusOr<T> ReadScalar(const Tensor& input, absl::string_view name) {
  if (!input.shape().IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' must be a scalar, has shape ", input.shape().ToString()));
  }
  if (input.dtype() == DType::kHalf) return static_cast<T>(input.scalar<Eigen::half>());
  return static_cast<T>(input.scalar<float>());
}

// Inputs boxes [n, 4] or overlaps [n, n], scores [n], the number of boxes to select at most, and as
// the version has them thresholds and sigma; outputs indices, scores for version 5, and for 4 and 5
// how many of them count. Errors: INVALID_ARGUMENT for other shapes, or a threshold beyond [0, 1].
class NonMaxSuppressionKernel : public OpKernel {
 public:
  explicit NonMaxSuppressionKernel(const KernelBuild& build)
      : from_overlaps_(build.op().name == "NonMaxSuppressionWithOverlaps"),
        pad_(build.has_attr("pad_to_max_output_size") &&
             build.attr<bool>("pad_to_max_output_size")),
        overlap_threshold_(build.has_attr("iou_threshold") ? build.attr<float>("iou_threshold")
                                                           : 0) {}

  absl::Status Compute(KernelContext& ctx) override {
    if (ctx.input(0).dtype() == DType::kHalf) return Run<Eigen::half>(ctx);
    return Run<float>(ctx);
  }

 private:
  template <typename T>
  absl::StatusOr<Thresholds<T>> ReadThresholds(KernelContext& ctx) const {
    Thresholds<T> t{static_cast<T>(overlap_threshold_), std::numeric_limits<T>::lowest()};
    if (ctx.num_inputs() > 3) {
      ASSIGN_OR_RETURN(t.overlap, ReadScalar<T>(ctx.input(3), "iou_threshold"));
    }
    if (ctx.num_inputs() > 4) {
      ASSIGN_OR_RETURN(t.score, ReadScalar<T>(ctx.input(4), "score_threshold"));
    }
    if (ctx.num_inputs() > 5) {
      ASSIGN_OR_RETURN(t.soft_sigma, ReadScalar<T>(ctx.input(5), "soft_nms_sigma"));
      if (t.soft_sigma < T(0)) {
        return absl::InvalidArgumentError("'soft_nms_sigma' must not be negative");
      }
    }
    if (!from_overlaps_ && !(t.overlap >= T(0) && t.overlap <= T(1))) {
      return absl::InvalidArgumentError(
          absl::StrCat("'iou_threshold' must lie in [0, 1], is ", static_cast<float>(t.overlap)));
    }
    return t;
  }

  // Zeros follow the values.
  template <typename T>
  static void CopyPadded(const std::vector<T>& values, Tensor* to) {
    T* const end = std::copy(values.begin(), values.end(), to->data<T>());
    std::fill(end, to->data<T>() + to->num_elements(), T(0));
  }

  template <typename T>
  absl::Status Run(KernelContext& ctx) const {
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
    if (!ctx.input(2).shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'max_output_size' must be a scalar, has shape ", ctx.input(2).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int64_t wanted, ReadIndexScalar(ctx.input(2), "max_output_size"));
    if (wanted < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'max_output_size' must not be negative, is ", wanted));
    }
    ASSIGN_OR_RETURN(const Thresholds<T> thresholds, ReadThresholds<T>(ctx));
    const T* const data = boxes.data<T>();
    const Selection<T> chosen =
        Select<T>(scores.flat<T>(), wanted, thresholds, [&](int32_t a, int32_t b) {
          return from_overlaps_ ? data[a * columns + b]
                                : IntersectionOverUnion(data + a * 4, data + b * 4);
        });
    const auto valid = static_cast<int32_t>(chosen.boxes.size());
    const Shape shape{pad_ ? wanted : valid};
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, shape));
    CopyPadded(chosen.boxes, indices);
    int output = 1;
    if (ctx.num_outputs() == 3) {
      ASSIGN_OR_RETURN(Tensor * out_scores, ctx.AllocateOutput(output++, shape));
      CopyPadded(chosen.scores, out_scores);
    }
    if (ctx.num_outputs() > 1) ctx.set_output(output, Tensor::Scalar<int32_t>(valid));
    return absl::OkStatus();
  }

  const bool from_overlaps_, pad_;
  const float overlap_threshold_;
};
REGISTER_KERNEL("NonMaxSuppression", kCpu, NonMaxSuppressionKernel);
REGISTER_KERNEL("NonMaxSuppressionV2", kCpu, NonMaxSuppressionKernel);
REGISTER_KERNEL("NonMaxSuppressionV3", kCpu, NonMaxSuppressionKernel);
REGISTER_KERNEL("NonMaxSuppressionV4", kCpu, NonMaxSuppressionKernel);
REGISTER_KERNEL("NonMaxSuppressionV5", kCpu, NonMaxSuppressionKernel);
REGISTER_KERNEL("NonMaxSuppressionWithOverlaps", kCpu, NonMaxSuppressionKernel);

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
    Thresholds<float> t;
    ASSIGN_OR_RETURN(t.overlap, ReadScalar<float>(ctx.input(4), "iou_threshold"));
    ASSIGN_OR_RETURN(t.score, ReadScalar<float>(ctx.input(5), "score_threshold"));
    if (!(t.overlap >= 0 && t.overlap <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'iou_threshold' must lie in [0, 1], is ", t.overlap));
    }
    const int64_t batch = boxes.dim(0), classes = scores.dim(2);
    if (pad_per_class_) total = std::min(total, per_class * classes);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({batch, total}));
    ASSIGN_OR_RETURN(const Shape box_shape, Shape::Make({batch, total, 4}));
    ASSIGN_OR_RETURN(Tensor * out_boxes, ctx.AllocateOutput(0, box_shape));
    ASSIGN_OR_RETURN(Tensor * out_scores, ctx.AllocateOutput(1, shape));
    ASSIGN_OR_RETURN(Tensor * out_classes, ctx.AllocateOutput(2, shape));
    ASSIGN_OR_RETURN(Tensor * out_valid, ctx.AllocateOutput(3, Shape{batch}));
    const double cost = 20.0 * static_cast<double>(boxes.dim(1) * classes);
    ctx.ParallelFor(batch, cost, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const std::vector<Detection> best = Best(boxes, scores, b, per_class, total, t);
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
    if (!input.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' must be a scalar, has shape ", input.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int64_t count, ReadIndexScalar(input, name));
    if (count > 0) return count;
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' must be positive, is ", count));
  }

  static const float* BoxOf(const Tensor& boxes, int64_t image, int64_t box, int64_t class_index) {
    const int64_t sets = boxes.dim(2);
    return boxes.data<float>() +
           ((image * boxes.dim(1) + box) * sets + (sets > 1 ? class_index : 0)) * 4;
  }

  static std::vector<Detection> Best(const Tensor& boxes, const Tensor& scores, int64_t image,
                                     int64_t per_class, int64_t total,
                                     const Thresholds<float>& thresholds) {
    if (scores.num_elements() == 0) return {};
    const int64_t count = boxes.dim(1), classes = scores.dim(2);
    std::vector<Detection> all;
    std::vector<float> of_class(count);
    for (int32_t c = 0; c < classes; ++c) {
      for (int64_t i = 0; i < count; ++i) {
        of_class[i] = scores.data<float>()[(image * count + i) * classes + c];
      }
      const Selection<float> chosen =
          Select<float>(of_class, per_class, thresholds, [&](int32_t a, int32_t b) {
            return IntersectionOverUnion(BoxOf(boxes, image, a, c), BoxOf(boxes, image, b, c));
          });
      for (int32_t box : chosen.boxes) all.push_back({of_class[box], box, c});
    }
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
