// The batch norm of a fused convolution.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/activation.h"

namespace tessera {

// Statistics and parameters of a batch norm at inference: vectors with an element for each channel,
// of the dtype of what is normalised.
struct ChannelNorm {
  const Tensor& scale;
  const Tensor& offset;
  const Tensor& mean;
  const Tensor& variance;
  float epsilon;
};

// Replaces each x of `values` by activation((x - mean) * scale / sqrt(variance + epsilon) + offset)
// of its channel. Channels are the last dimension, or the second one with `channels_first`; `alpha`
// is that of kLeakyRelu.
// Errors: INVALID_ARGUMENT for a vector of another size; UNIMPLEMENTED for other dtypes than real
// ones.
absl::Status NormalizeChannels(KernelContext& ctx, const ChannelNorm& norm, Activation activation,
                               float alpha, bool channels_first, Tensor* values);

}  // namespace tessera
