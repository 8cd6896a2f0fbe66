// 3x3 convolutions of float images in a quarter or half of the multiplications.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/kernels/primitives/cpu/convolution.h"

namespace tessera {

// True if ConvolveWinograd() can compute this and is expected to be clearly faster than a direct
// convolution: dense 3x3 filters with stride 1 over NHWC images, multiples of 16 channels, on a
// machine with AVX-512, where the transformed filter (almost two or four times the filter's size)
// costs less to read than its use saves. At most a clamping activation follows.
bool WinogradPays(const ConvolutionShape& shape, const PostOps& post_ops);

// As Convolve(), for what WinogradPays(). The result is within about 1e-5 of the largest output of
// the exact one, the direct sum's within 1e-6. The filter is transformed once, for each of two
// sizes of tiles, of which the number of images decides which is faster; one with infinities or
// NaNs is left to compute_exactly(). Those of the input stay with the outputs that they belong to:
// their tiles are summed directly. Errors: compute_exactly()'s; RESOURCE_EXHAUSTED for scratch
// memory.
absl::Status ConvolveWinograd(KernelContext& ctx, const ConvolutionShape& shape,
                              const PostOps& post_ops, const float* input,
                              const ScaledWeights& filter, const Tensor* bias,
                              PackedWeights* packed, float* output,
                              absl::FunctionRef<absl::Status()> compute_exactly);

}  // namespace tessera
