// Convolutions of float images with constant filters as implicit GEMMs on a micro-kernel.
#pragma once

#include "absl/status/status.h"
#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/primitives/cpu/blocked_gemm.h"
#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// Does what Convolution::Run() does, for a dense filter over two-dimensional NHWC images, if the
// addend is in `output` already. `bias` is null unless post_ops.bias. The filter is packed once.
// Images that the micro-kernel rejects are left to fallback(), and so are all images if it rejects
// the filter.
//
// The padded images become rows of channels, one row for each point, so that each filter position
// is a GEMM of all rows, shifted, with the position's matrix. With a stride of s, points that are s
// apart lie beside each other. Errors: those of fallback(); RESOURCE_EXHAUSTED for scratch memory.
absl::Status ConvolveByImplicitGemm(KernelContext& ctx, const gemm::MicroKernel& kernel,
                                    const ConvolutionShape& shape, const PostOps& post_ops,
                                    const float* input, const ScaledWeights& filter,
                                    const float* bias, PackedWeights* packed, float* output,
                                    ComputeItems fallback);

}  // namespace tessera
