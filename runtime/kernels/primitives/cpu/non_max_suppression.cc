#include "runtime/kernels/primitives/non_max_suppression.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/box_selection.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/selected_boxes.h"

namespace tessera {
namespace {

// Copies the values to `output` and fills the rest with zeros.
template <typename T>
void CopyPadded(const std::vector<T>& values, Tensor* to) {
  T* const end = std::copy(values.begin(), values.end(), to->data<T>());
  std::fill(end, to->data<T>() + to->num_elements(), T(0));
}

template <typename T>
void SelectOf(const NonMaxSuppression::Options& options, const Tensor& boxes, const Tensor& scores,
              Tensor* indices, Tensor* selected_scores, Tensor* count) {
  const BoxThresholds<T> thresholds{static_cast<T>(options.overlap_threshold),
                                    static_cast<T>(options.score_threshold),
                                    static_cast<T>(options.soft_sigma)};
  const T* const data = boxes.data<T>();
  const int64_t columns = boxes.dim(1);
  std::optional<SelectedFloatBoxes> selected;
  if constexpr (std::is_same_v<T, float>) {
    if (!options.from_overlaps) selected.emplace(data, columns, thresholds.overlap);
  }
  const BoxSelection<T> selection = SelectBoxes<T>(
      scores.flat<T>(), indices->num_elements(), thresholds,
      [&](int32_t a, int32_t b) {
        return options.from_overlaps ? data[a * columns + b]
                                     : IntersectionOverUnion(data + a * 4, data + b * 4);
      },
      selected.has_value() ? &*selected : nullptr);
  CopyPadded(selection.boxes, indices);
  if (selected_scores != nullptr) CopyPadded(selection.scores, selected_scores);
  *count->data<int32_t>() = static_cast<int32_t>(selection.boxes.size());
}

absl::Status RunNonMaxSuppression(KernelContext& /*ctx*/, const NonMaxSuppression::Options& options,
                                  const Tensor& boxes, const Tensor& scores, Tensor* indices,
                                  Tensor* selected_scores, Tensor* count) {
  switch (boxes.dtype()) {
    case DType::kFloat:
      SelectOf<float>(options, boxes, scores, indices, selected_scores, count);
      return absl::OkStatus();
    case DType::kHalf:
      SelectOf<Eigen::half>(options, boxes, scores, indices, selected_scores, count);
      return absl::OkStatus();
    default:
      return absl::UnimplementedError(
          absl::StrCat("not implemented for elements of ", DTypeName(boxes.dtype())));
  }
}
REGISTER_PRIMITIVE(NonMaxSuppression, kCpu, RunNonMaxSuppression);

}  // namespace
}  // namespace tessera
