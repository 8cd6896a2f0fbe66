// What pools and their gradients share: the geometry of windows that slide over images or volumes.
#pragma once

#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/window.h"

namespace tessera {

// The geometry of one run: windows over spatial dimensions, padded to three with sizes of 1.
struct PoolShape {
  int64_t batch = 0, channels = 0;
  int64_t input[3] = {1, 1, 1}, window[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  int64_t output[3] = {1, 1, 1}, pad[3] = {0, 0, 0};
  bool channels_first = false;

  int64_t input_points() const { return input[0] * input[1] * input[2]; }
  int64_t output_points() const { return output[0] * output[1] * output[2]; }
  // Steps in memory from one spatial point to the next, and from one channel to the next.
  int64_t point_step() const { return channels_first ? 1 : channels; }
  int64_t channel_step(int64_t points) const { return channels_first ? points : 1; }
};

// The geometry over an input of this shape.
// Errors: INVALID_ARGUMENT for another rank, or a window that does not fit.
absl::StatusOr<PoolShape> PoolGeometry(const WindowAttrs& attrs, const std::vector<int64_t>& ksize,
                                       const Shape& input);

// Whether a pool's window may reach over channels.
enum class ChannelWindow { kRefused, kAllowed };

// Attribute `ksize`; makes creation fail unless it is positive, and 1 for the batch. Where channel
// windows are refused, ksize and strides must be 1 for channels, too.
std::vector<int64_t> ReadPoolWindow(const KernelBuild& build, const WindowAttrs& attrs,
                                    ChannelWindow channels = ChannelWindow::kRefused);

// Window and strides of one pool.
struct PoolWindow {
  WindowAttrs attrs;
  std::vector<int64_t> ksize;

  // For ops over images that take both as inputs; `node_attrs` are the node's.
  // Errors: INVALID_ARGUMENT or UNIMPLEMENTED unless they are as the attributes would have to be.
  static absl::StatusOr<PoolWindow> FromInputs(const OpDef& op, const AttrMap& node_attrs,
                                               const Tensor& ksize, const Tensor& strides,
                                               ChannelWindow channels = ChannelWindow::kRefused);
};

// The shape of the pool's output.
Shape PoolOutputShape(const WindowAttrs& attrs, const PoolShape& shape);

// Calls visit(input offset) for each input point that lies in the window of an output point.
template <typename Visit>
void ForWindow(const PoolShape& s, const int64_t (&at)[3], Visit&& visit) {
  int64_t begin[3], end[3];
  for (int d = 0; d < 3; ++d) {
    const int64_t first = at[d] * s.stride[d] - s.pad[d];
    begin[d] = std::max<int64_t>(first, 0);
    end[d] = std::min(first + s.window[d], s.input[d]);
  }
  for (int64_t z = begin[0]; z < end[0]; ++z) {
    for (int64_t y = begin[1]; y < end[1]; ++y) {
      for (int64_t x = begin[2]; x < end[2]; ++x) {
        visit((z * s.input[1] + y) * s.input[2] + x);
      }
    }
  }
}

// Calls body(batch, point, position) for all output points, in parallel.
template <typename Body>
void ForOutputPoints(KernelContext& ctx, const PoolShape& s, Body&& body) {
  const int64_t points = s.output_points();
  const double cost = 0.5 * s.channels * s.window[0] * s.window[1] * s.window[2];
  ctx.ParallelFor(s.batch * points, cost, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t point = item % points;
      const int64_t at[3] = {point / (s.output[1] * s.output[2]), point / s.output[2] % s.output[1],
                             point % s.output[2]};
      body(item / points, point, at);
    }
  });
}

}  // namespace tessera
