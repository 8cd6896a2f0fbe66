// The batch norm of a fused convolution at inference, with the activation after it.
#pragma once

#include "runtime/kernels/primitives/activation.h"
#include "runtime/kernels/primitives/batch_norm.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct ChannelNorm {
  struct Operands {
    ChannelShape shape;
    float epsilon = 0;
    Activation activation = Activation::kNone;
    float alpha = 0;  // of kLeakyRelu
    // These are vectors of `channels` elements of the dtype of `values`.
    const Tensor& scale;
    const Tensor& offset;
    const Tensor& mean;
    const Tensor& variance;
    // The numbers to normalise, of a real dtype. half and bfloat16 are computed in float.
    Tensor* values;
  };

  // Replaces each x of `values` by activation((x - mean) * scale / sqrt(variance + epsilon) +
  // offset) of its channel. Errors: UNIMPLEMENTED for a dtype that is not a real number.
  using Function = absl::Status(KernelContext& ctx, const Operands& operands);
};

}  // namespace tessera
