// Convolutions of float images with constant filters by the kernels of panel_kernel.h.
#pragma once

#include "absl/status/status.h"
#include "runtime/kernels/primitives/cpu/convolution.h"
#include "runtime/kernels/primitives/cpu/panel_product.h"

namespace tessera {

// The kernel by which ConvolvePanels() can compute this and is expected to be faster than oneDNN's
// convolution, or null: dense filters over NHWC images, with enough channels, have one.
const panel::PanelKernel* PanelKernelFor(const ConvolutionShape& shape);

// As Convolve(). The filter is packed once. Images that the kernel has no products of, or
// all if it has none of the filter, are left to compute_exactly().
//
// The padded images become rows of channels, one for each point, so that a tap of the filter is a
// product of all rows, moved, with the tap's matrix. With a stride of s, points that are s apart
// lie beside each other.
// Errors: those of compute_exactly(); RESOURCE_EXHAUSTED for scratch memory.
absl::Status ConvolvePanels(KernelContext& ctx, const panel::PanelKernel& kernel,
                            const ConvolutionShape& shape, const PostOps& post_ops,
                            const float* input, const ScaledWeights& filter, const float* bias,
                            PackedWeights* packed, float* output, ComputeItems compute_exactly);

}  // namespace tessera
