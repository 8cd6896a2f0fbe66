// Convolutions on the CPU.
#pragma once

#include "absl/status/status.h"
#include "runtime/kernels/primitives/convolution.h"
#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// Does what Convolution::Run() does, but the previous content of `output` is added if post_ops.add.
// `bias` is null unless post_ops.bias. If `packed` is not null the filter is taken as constant and
// packed once.
absl::Status Convolve(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                      const Tensor& input, const ScaledWeights& filter, const Tensor* bias,
                      PackedWeights* packed, Tensor* output, Numerics numerics = Numerics::kFast);

}  // namespace tessera
