// The geometry of a convolution from its node's attributes and its tensors' shapes.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/window.h"

namespace tessera {

enum class FilterKind {
  kGrouped,    // [spatial..., in / groups, out]
  kDepthwise,  // [spatial..., in, multiplier]
};

// The window of a convolution; `build` gets the errors. Filters stay within an image and see all
// its channels. Depthwise ones move equally far in both dimensions and have no dilations, as in
// TensorFlow's own kernels. The codes are TensorFlow's.
WindowAttrs ReadConvolutionWindow(const KernelBuild& build, int spatial_rank, FilterKind kind);

// Errors: INVALID_ARGUMENT for ranks, depths or sizes that do not fit.
absl::StatusOr<ConvolutionShape> ConvolutionGeometry(const WindowAttrs& window, FilterKind kind,
                                                     const Shape& input, const Shape& filter);

}  // namespace tessera
