#include "runtime/kernels/primitives/selected_boxes.h"

#include <algorithm>

namespace tessera {
namespace {

struct Sides {
  explicit Sides(const float* box)
      : top(std::min(box[0], box[2])),
        bottom(std::max(box[0], box[2])),
        left(std::min(box[1], box[3])),
        right(std::max(box[1], box[3])),
        area((bottom - top) * (right - left)) {}

  float top, bottom, left, right, area;
};

// Return std::min() and std::max() of each lane, with the same result for NaN.
template <typename Vector>
Vector Least(Vector a, Vector b) {
  return b < a ? b : a;
}
template <typename Vector>
Vector Greatest(Vector a, Vector b) {
  return a < b ? b : a;
}

// Returns true if any lane of a comparison is true.
template <typename Mask>
bool Any(Mask mask) {
  bool any = false;
  for (size_t i = 0; i < sizeof(Mask) / sizeof(mask[0]); ++i) any |= mask[i] != 0;
  return any;
}

}  // namespace

void SelectedFloatBoxes::Add(int32_t box) {
  if (used_ == kLanes) {
    blocks_.emplace_back();
    used_ = 0;
  }
  const Sides sides(boxes_ + box * stride_);
  Block& block = blocks_.back();
  block.top[used_] = sides.top;
  block.bottom[used_] = sides.bottom;
  block.left[used_] = sides.left;
  block.right[used_] = sides.right;
  block.area[used_] = sides.area;
  ++used_;
}

SelectedBoxes::Overlap SelectedFloatBoxes::Compare(int32_t box) const {
  const Sides sides(boxes_ + box * stride_);
  constexpr Vector kZero{};
  auto above = kZero != kZero, ordered = kZero == kZero;
  for (const Block& other : blocks_) {
    const Vector height = Greatest(
        Least(kZero + sides.bottom, other.bottom) - Greatest(kZero + sides.top, other.top), kZero);
    const Vector width = Greatest(
        Least(kZero + sides.right, other.right) - Greatest(kZero + sides.left, other.left), kZero);
    const Vector shared = height * width;
    const auto is_empty = (other.area <= kZero) | (kZero + sides.area <= kZero);
    const Vector overlap = is_empty ? kZero : shared / (sides.area + other.area - shared);
    const auto is_above = overlap > threshold_;
    above |= is_above;
    ordered &= is_above | (overlap <= threshold_);
  }
  if (Any(ordered == 0)) return Overlap::kUnknown;
  return Any(above) ? Overlap::kSome : Overlap::kNone;
}

}  // namespace tessera
