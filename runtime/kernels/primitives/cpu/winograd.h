// Winograd's minimal filtering for 3x3 convolutions of float images, which needs a quarter or half
// of the multiplications of a direct convolution.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/kernels/primitives/cpu/convolution.h"

namespace tessera {

// Returns true if ConvolveWinograd() can compute this convolution and is expected to be clearly
// faster than a direct one. It takes dense 3x3 filters with stride 1 over NHWC images, channels in
// multiples of 16, and at most a clamping activation. It requires AVX-512, and reading the
// transformed filter (about two or four times the filter's size) must cost less than it saves.
bool WinogradPays(const ConvolutionShape& shape, const PostOps& post_ops);

// As Convolve(), for shapes for which WinogradPays() is true. The result is within 5e-6 of
// the largest output; a direct sum is within 1e-6. The filter is transformed once for each of the
// two tile sizes, and the number of images decides which one is faster. A filter with infinities or
// NaNs is left to fallback(). Infinities and NaNs of the input reach the same outputs as in a
// direct convolution, because their tiles are summed directly. Errors: those of fallback();
// RESOURCE_EXHAUSTED for scratch memory.
absl::Status ConvolveWinograd(KernelContext& ctx, const ConvolutionShape& shape,
                              const PostOps& post_ops, const float* input,
                              const ScaledWeights& filter, const Tensor* bias,
                              PackedWeights* packed, float* output,
                              absl::FunctionRef<absl::Status()> fallback);

}  // namespace tessera
