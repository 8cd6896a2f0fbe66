// The loops of pools over windows and their elements.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/primitives/pooling.h"

namespace tessera {

// The coordinates of an output point. With fewer than three spatial dimensions the leading
// coordinates are 0.
using PoolPoint = std::array<int64_t, 3>;

inline PoolPoint PointAt(const PoolShape& s, int64_t point) {
  return {point / (s.output[1] * s.output[2]), point / s.output[2] % s.output[1],
          point % s.output[2]};
}

// The range of input points that lie in a window.
struct PoolBounds {
  PoolPoint begin, end;
};

// Returns the bounds of the window of an output point.
inline PoolBounds BoundsAt(const PoolShape& s, const PoolPoint& at) {
  PoolBounds bounds;
  for (int d = 0; d < 3; ++d) {
    const int64_t first = at[d] * s.stride[d] - s.pad[d];
    bounds.begin[d] = std::max<int64_t>(first, 0);
    bounds.end[d] = std::min(first + s.window[d], s.input[d]);
  }
  return bounds;
}

// Calls visit(input offset) for each input point within bounds.
template <typename Visit>
[[gnu::always_inline]] inline void ForWindow(const PoolShape& s, const PoolBounds& bounds,
                                             Visit&& visit) {
  for (int64_t z = bounds.begin[0]; z < bounds.end[0]; ++z) {
    for (int64_t y = bounds.begin[1]; y < bounds.end[1]; ++y) {
      const int64_t row = (z * s.input[1] + y) * s.input[2];
      for (int64_t x = bounds.begin[2]; x < bounds.end[2]; ++x) visit(row + x);
    }
  }
}

// Calls visit(input offset) for each input point that lies in the window of an output point.
template <typename Visit>
void ForWindow(const PoolShape& s, const PoolPoint& at, Visit&& visit) {
  ForWindow(s, BoundsAt(s, at), visit);
}

// Returns true if windows of 2x2 points tile the images, as in most networks, and channels come
// last. All windows lie inside the images; a last row or column may be left over.
inline bool IsTiledBy2x2(const PoolShape& s) {
  const bool is_flat = s.input[0] == 1 && s.output[0] == 1 && s.window[0] == 1 && s.pad[0] == 0;
  bool is_tiled = is_flat && !s.channels_first;
  for (int d = 1; d < 3; ++d) {
    is_tiled = is_tiled && s.window[d] == 2 && s.stride[d] == 2 && s.pad[d] == 0 &&
               2 * s.output[d] <= s.input[d];
  }
  return is_tiled;
}

// Calls body(top, bottom, pooled) for all output rows of a pool that IsTiledBy2x2(), in parallel.
// The arguments are the input elements at which the two rows of the windows start, and the first
// output element.
template <typename Body>
void ForRowsOf2x2(KernelContext& ctx, const PoolShape& s, Body&& body) {
  const int64_t row_size = s.input[2] * s.channels, pooled_size = s.output[2] * s.channels;
  const double cost = 2.0 * static_cast<double>(pooled_size);
  ctx.ParallelFor(s.batch * s.output[1], cost, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t image = row / s.output[1], y = row % s.output[1];
      const int64_t top = (image * s.input[1] + 2 * y) * row_size;
      body(top, top + row_size, row * pooled_size);
    }
  });
}

// Returns true if windows of 3x3 points lie one point apart, with at most one point of padding, if
// the images are large enough to hold some, and if channels come last.
inline bool OverlapsBy3x3(const PoolShape& s) {
  const bool is_flat = s.input[0] == 1 && s.output[0] == 1 && s.window[0] == 1 && s.pad[0] == 0;
  bool overlaps = is_flat && !s.channels_first;
  for (int d = 1; d < 3; ++d) {
    overlaps = overlaps && s.window[d] == 3 && s.stride[d] == 1 && s.pad[d] <= 1 &&
               s.input[d] >= 4 && s.output[d] >= s.input[d] - 2 + s.pad[d];
  }
  return overlaps;
}

// Calls body(windows, pooled) for pairs of output rows of a pool that OverlapsBy3x3(), in parallel.
// The arguments are the input element at which the first window without padding starts, and the
// output element of this window. One row of such windows may be left over.
template <typename Body>
void ForRowPairsOf3x3(KernelContext& ctx, const PoolShape& s, Body&& body) {
  const int64_t row_size = s.input[2] * s.channels, pooled_size = s.output[2] * s.channels;
  const int64_t pairs = (s.input[1] - 2) / 2;
  const double cost = 2.0 * static_cast<double>(pooled_size);
  ctx.ParallelFor(s.batch * pairs, cost, [&](int64_t begin, int64_t end) {
    for (int64_t pair = begin; pair < end; ++pair) {
      const int64_t image = pair / pairs, y = 2 * (pair % pairs);
      body((image * s.input[1] + y) * row_size,
           (image * s.output[1] + y + s.pad[1]) * pooled_size + s.pad[2] * s.channels);
    }
  });
}

// Adjacent output points of one row whose windows have the same form.
struct PoolRun {
  int64_t image;
  int64_t point;  // the first output point
  int64_t count;
  // The offsets, in the image, of the points of the first window, for the first channel. The points
  // of the next window lie `step` elements further.
  absl::Span<const int64_t> offsets;
  int64_t step;
  int64_t columns;  // adjacent points in each row of a window
};

// Calls body(run) for runs that cover all output points, in parallel.
template <typename Body>
void ForOutputRuns(KernelContext& ctx, const PoolShape& s, Body&& body) {
  // The range of points in a row whose windows are not cut off at an end of the row.
  const int64_t width = s.output[2], stride = s.stride[2];
  const int64_t inside = std::min((s.pad[2] + stride - 1) / stride, width);
  const int64_t room = s.input[2] - s.window[2] + s.pad[2];
  const int64_t inside_end = room < 0 ? 0 : std::min(room / stride + 1, width);
  const int64_t points = s.output_points();
  const double cost = 0.5 * s.channels * s.window[0] * s.window[1] * s.window[2];
  ctx.ParallelFor(s.batch * points, cost, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> offsets;
    while (begin < end) {
      const int64_t point = begin % points;
      const PoolPoint at = PointAt(s, point);
      const bool is_inside = at[2] >= inside && at[2] < inside_end;
      const int64_t count = is_inside ? std::min(inside_end - at[2], end - begin) : 1;
      offsets.clear();
      ForWindow(s, at, [&](int64_t source) { offsets.push_back(source * s.point_step()); });
      const PoolBounds bounds = BoundsAt(s, at);
      body(PoolRun{begin / points, point, count, offsets, stride * s.point_step(),
                   bounds.end[2] - bounds.begin[2]});
      begin += count;
    }
  });
}

}  // namespace tessera
