// Convolutions along one axis, such as those over series and audio, as products of matrices.
#pragma once

#include "absl/status/status.h"
#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/primitives/cpu/blocked_gemm.h"

namespace tessera {

// True for a dense filter over several points of a line: NHWC images of one row.
bool IsLineConvolution(const ConvolutionShape& shape);

// As Convolve(), for a shape that IsLineConvolution() and a filter that StrassenSupports() as a
// matrix. The points under the filter lie side by side, so that they are a row of a matrix; the next
// row begins as many points further as the stride says. Lines that are padded are copied first.
// Lines are left to fallback() if the filter holds infinities or NaNs.
// Errors: those of fallback(); RESOURCE_EXHAUSTED for scratch memory.
absl::Status ConvolveLines(KernelContext& ctx, const ConvolutionShape& shape,
                           const PostOps& post_ops, const float* input,
                           const ScaledWeights& filter, const float* bias, PackedWeights* packed,
                           float* output, ComputeItems fallback);

}  // namespace tessera
