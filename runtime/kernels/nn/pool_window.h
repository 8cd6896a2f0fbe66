// Common parts of pools and their gradients: the geometry of their windows, from attributes and
// shapes.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/pooling.h"
#include "runtime/kernels/window.h"

namespace tessera {

// Whether a pool's window may reach over channels. TensorFlow's pools of images ignore the stride
// over channels of a window that does not; all others refuse it. What is refused at once is so when
// the kernel is made, what is refused late only after the rank of the input was checked.
enum class ChannelWindow { kRefused, kRefusedLate, kAllowed };

// Window and strides of one pool.
struct PoolWindow {
  WindowAttrs attrs;
  std::vector<int64_t> ksize;

  // Reads the attributes `ksize` and `strides` of a node. Creation fails with UNIMPLEMENTED for a
  // window over the batch, or over channels where they are refused at once, and with
  // INVALID_ARGUMENT for lists of another length and numbers that are not positive.
  static PoolWindow FromAttrs(const KernelBuild& build, int spatial_rank, ChannelWindow channels);
  // For ops over images that take both as inputs; `node_attrs` are the node's. Errors: as above.
  static absl::StatusOr<PoolWindow> FromInputs(const OpDef& op, const AttrMap& node_attrs,
                                               const Tensor& ksize, const Tensor& strides,
                                               ChannelWindow channels);

  bool reaches_over_channels() const { return ksize[attrs.channel_dim()] != 1; }
  // The geometry over an input of this shape. Errors: INVALID_ARGUMENT for another rank, or a
  // window that does not fit; UNIMPLEMENTED for one that reaches over channels.
  absl::StatusOr<PoolShape> Geometry(const Shape& input) const;
  // The window without its reach over channels.
  PoolWindow OverPoints() const;
  // The shape of the output.
  Shape OutputShape(const PoolShape& shape) const;
};

// Checks a window over the channels of images: TensorFlow has those that part all channels evenly
// and reach over one point only. Errors: UNIMPLEMENTED for others; INVALID_ARGUMENT for a `shape`
// of another rank than 4.
absl::Status CheckChannelWindow(const PoolWindow& window, const Shape& shape);

}  // namespace tessera
