// Depthwise convolutions of float images, and those whose groups are as small.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/primitives/cpu/depthwise_row.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

using DepthwiseRowFunction = void (*)(const DepthwiseRow& row);

// Returns the function for AVX-512 if SpeedsForCpu() has it, and the one for AVX2 otherwise.
DepthwiseRowFunction DepthwiseRowFunctionForCpu();

// Returns true for groups of four input and four output channels.
bool IsGroupedByFour(const ConvolutionShape& shape);

// Returns true if ConvolveDepthwise() can compute this convolution: one output for each input
// channel, of which there are at least 16, over NHWC images, by a dense filter of 3 or 5 columns
// that moves by 1 or 2 columns. A filter of 3 columns may also be IsGroupedByFour().
bool DepthwiseSupports(const ConvolutionShape& shape);

// Does what Convolution::Run() does, for shapes that DepthwiseSupports(), if the addend is in
// `output` already. `bias` is null unless post_ops.bias. `filter` is read in place. Each output is
// a sum in the order of ComputeDepthwiseRow(), whatever the batch and the threads. Padding is left
// out of the sums, and not multiplied as zeros. `compute_row` is the function for an instruction
// set that this processor has.
absl::Status ConvolveDepthwise(KernelContext& ctx, const ConvolutionShape& shape,
                               const PostOps& post_ops, const float* input, const float* filter,
                               const float* bias, float* output,
                               DepthwiseRowFunction compute_row = DepthwiseRowFunctionForCpu());

}  // namespace tessera
