// Batch normalisation of half in training, with the floats and the order of additions of
// TensorFlow's CPU kernels on one thread: other floats are rounded to other halves now and then.
// Errors: RESOURCE_EXHAUSTED for scratch memory.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "runtime/kernels/primitives/batch_norm.h"

namespace tessera {

// True for tensors of half that have elements and whose channels come last.
bool HasOrderedBatchNorm(const Tensor& x, const ChannelShape& shape);

// Computes the moments of each channel of operands.x, the variance without correction, and
// operands.y.
absl::Status BatchNormInOrder(KernelContext& ctx, const BatchNorm::Operands& operands,
                              const std::vector<float>& scale, const std::vector<float>& offset,
                              std::vector<float>* mean, std::vector<float>* variance);

// Computes all gradients. Requires operands.is_training.
absl::Status BatchNormGradientInOrder(KernelContext& ctx,
                                      const BatchNormGradient::Operands& operands);

}  // namespace tessera
