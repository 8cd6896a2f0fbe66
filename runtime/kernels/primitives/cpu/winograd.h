// Winograd's minimal filtering for 3x3 convolutions of float images, which needs a quarter or half
// of the multiplications of a direct convolution.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// Returns true if ConvolveWinograd() can compute this convolution: a 3x3 filter with stride 1 over
// NHWC images, dilated by no more than the size of the output, channels in multiples of 16, and at
// most a clamping activation.
bool WinogradSupports(const ConvolutionShape& shape, Activation activation);

// Does what Convolution::Run() does, for shapes that WinogradSupports(), with tiles of output_tile
// x output_tile outputs, where output_tile is 2 or 4. The addend is in `output` already, and `bias`
// is null unless post_ops.bias.
//
// The result is within 5e-6 of the largest output; a direct sum is within 1e-6. The filter is
// transformed once for each tile size. A filter with infinities or NaNs is left to fallback().
// Infinities and NaNs of the input reach the same outputs as in a direct convolution, because their
// tiles are summed directly. Errors: those of fallback(); RESOURCE_EXHAUSTED for scratch memory.
absl::Status ConvolveWinograd(KernelContext& ctx, const ConvolutionShape& shape, int output_tile,
                              const PostOps& post_ops, const float* input,
                              const ScaledWeights& filter, const Tensor* bias,
                              PackedWeights* packed, float* output,
                              absl::FunctionRef<absl::Status()> fallback);

}  // namespace tessera
