// Boxes given by two opposite corners, [y1, x1, y2, x2] in either order.
#pragma once

#include <algorithm>

namespace tessera {

// The area that two boxes share, over the area that either covers; 0 if one is empty.
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

}  // namespace tessera
