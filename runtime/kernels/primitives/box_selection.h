// Choosing among boxes by score and overlap, on the host.
//
// Boxes are given by two opposite corners, [y1, x1, y2, x2] in either order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

namespace tessera {

// Returns the area of the intersection of two boxes, divided by the area of their union; 0 if one
// of them is empty.
template <typename T>
T IntersectionOverUnion(const T* a, const T* b) {
  const T top_a = std::min<T>(a[0], a[2]), bottom_a = std::max<T>(a[0], a[2]);
  const T left_a = std::min<T>(a[1], a[3]), right_a = std::max<T>(a[1], a[3]);
  const T top_b = std::min<T>(b[0], b[2]), bottom_b = std::max<T>(b[0], b[2]);
  const T left_b = std::min<T>(b[1], b[3]), right_b = std::max<T>(b[1], b[3]);
  const T area_a = (bottom_a - top_a) * (right_a - left_a);
  const T area_b = (bottom_b - top_b) * (right_b - left_b);
  if (area_a <= T(0) || area_b <= T(0)) return T(0);
  const T height = std::max<T>(std::min<T>(bottom_a, bottom_b) - std::max<T>(top_a, top_b), T(0));
  const T width = std::max<T>(std::min<T>(right_a, right_b) - std::max<T>(left_a, left_b), T(0));
  const T shared = height * width;
  return shared / (area_a + area_b - shared);
}

template <typename T>
struct BoxCandidate {
  int32_t box;
  T score;
  int32_t first_unseen = 0;  // boxes selected before this one were taken into account
};
// The best candidate is on top; of equal ones, the one with the lower index.
template <typename T>
struct IsWorseCandidate {
  bool operator()(const BoxCandidate<T>& a, const BoxCandidate<T>& b) const {
    return a.score == b.score ? a.box > b.box : a.score < b.score;
  }
};

template <typename T>
struct BoxThresholds {
  T overlap, score;
  T soft_sigma = T(0);
};

template <typename T>
struct BoxSelection {
  std::vector<int32_t> boxes;
  std::vector<T> scores;
};

// The boxes that were selected. Others are compared with them.
class SelectedBoxes {
 public:
  // Tells whether the overlap with any selected box exceeds the threshold. kUnknown: an overlap is
  // NaN.
  enum class Overlap { kNone, kSome, kUnknown };

  virtual ~SelectedBoxes() = default;
  virtual void Add(int32_t box) = 0;
  virtual Overlap Compare(int32_t box) const = 0;
};

// Selects at most `max_selected` boxes, as runtime/kernels/primitives/non_max_suppression.h says.
// `overlap_of` returns the overlap of two boxes, given by index. `selected`, which may be null,
// saves calls of it.
template <typename T>
BoxSelection<T> SelectBoxes(absl::Span<const T> scores, int64_t max_selected,
                            const BoxThresholds<T>& t,
                            absl::FunctionRef<T(int32_t, int32_t)> overlap_of,
                            SelectedBoxes* selected = nullptr) {
  std::vector<BoxCandidate<T>> candidates;
  candidates.reserve(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > t.score) candidates.push_back({static_cast<int32_t>(i), scores[i]});
  }
  std::priority_queue queue(IsWorseCandidate<T>(), std::move(candidates));
  const bool soft = t.soft_sigma > T(0);
  if (soft) selected = nullptr;  // each overlap lowers the score
  const T scale = soft ? static_cast<T>(-0.5) / t.soft_sigma : T(0);
  BoxSelection<T> selection;
  while (static_cast<int64_t>(selection.boxes.size()) < max_selected && !queue.empty()) {
    BoxCandidate<T> next = queue.top();
    queue.pop();
    const T original = next.score;
    auto overlap_with_any = SelectedBoxes::Overlap::kUnknown;
    if (selected != nullptr) overlap_with_any = selected->Compare(next.box);
    bool dropped = overlap_with_any == SelectedBoxes::Overlap::kSome;
    const auto count = static_cast<int32_t>(selection.boxes.size());
    if (overlap_with_any != SelectedBoxes::Overlap::kUnknown) next.first_unseen = count;
    for (int32_t j = count - 1; j >= next.first_unseen; --j) {
      const T overlap = overlap_of(next.box, selection.boxes[j]);
      if (!soft && overlap > t.overlap) {
        dropped = true;
        break;
      }
      next.score *= soft ? static_cast<T>(std::exp(static_cast<float>(scale * overlap * overlap)))
                         : T(overlap <= t.overlap ? 1 : 0);
      if (next.score <= t.score) break;
    }
    next.first_unseen = count;
    if (dropped) continue;
    if (next.score == original) {
      selection.boxes.push_back(next.box);
      selection.scores.push_back(next.score);
      if (selected != nullptr) selected->Add(next.box);
    } else if (next.score > t.score) {
      queue.push(next);  // other candidates may be better now
    }
  }
  return selection;
}

}  // namespace tessera
