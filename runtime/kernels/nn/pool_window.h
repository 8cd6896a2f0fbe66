// What pools and their gradients share: the geometry of their windows, from attributes and shapes.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/pooling.h"
#include "runtime/kernels/window.h"

namespace tessera {

// The geometry over an input of this shape.
// Errors: INVALID_ARGUMENT for another rank, or a window that does not fit.
absl::StatusOr<PoolShape> PoolGeometry(const WindowAttrs& attrs, const std::vector<int64_t>& ksize,
                                       const Shape& input);

// Whether a pool's window may reach over channels. TensorFlow's pools ignore the stride over
// channels of a window that does not; its gradients of maxima refuse it.
enum class ChannelWindow { kRefused, kStrideIgnored, kAllowed };

// Attribute `ksize`; makes creation fail unless it is positive, and 1 for the batch. Where channel
// windows are refused, ksize and strides must be 1 for channels, too.
std::vector<int64_t> ReadPoolWindow(const KernelBuild& build, const WindowAttrs& attrs,
                                    ChannelWindow channels = ChannelWindow::kRefused);

// Checks a window over the channels of images: TensorFlow has those that part all channels evenly
// and reach over one point only. Requires a `shape` of rank 4. Errors: UNIMPLEMENTED for others.
absl::Status CheckChannelWindow(const WindowAttrs& attrs, const std::vector<int64_t>& ksize,
                                const Shape& shape);

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

}  // namespace tessera
