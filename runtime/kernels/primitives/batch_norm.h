// Batch normalisation (Ioffe and Szegedy, arXiv:1502.03167), for inference and for training.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// The shape of a tensor, seen as [outer, channels, inner]; inner is 1 if the channels are the last
// dimension.
struct ChannelShape {
  int64_t outer = 0, channels = 0, inner = 1;
};

struct BatchNorm {
  struct Operands {
    ChannelShape shape;
    // This is added to the variance.
    float epsilon = 0;
    // Normalises x by its own moments if true, and by `mean` and `variance` if false.
    bool is_training = false;
    // In training, the share of this batch in the moving averages; `mean` and `variance` are read
    // only if it is not 1.
    float average_factor = 1;

    // The tensor to normalise, of half, bfloat16 or float.
    const Tensor& x;
    // These are vectors of `channels` elements, of float or bfloat16.
    const Tensor& scale;
    const Tensor& offset;
    const Tensor& mean;
    const Tensor& variance;

    // The result (x - mean) * scale / sqrt(variance + epsilon) + offset, of the dtype of x.
    Tensor* y;
    // Both are vectors of `channels` elements, of float or bfloat16. In training they get the
    // moving averages, where the variance has Bessel's correction; otherwise they get `mean` and
    // `variance`. They are NaN if x has no elements.
    Tensor* average_mean;
    Tensor* average_variance;
    // Both get the moments that normalised x; this variance has no correction. In training they are
    // 0 if x has no elements.
    Tensor* saved_mean;
    Tensor* saved_variance;
  };

  // Computes the outputs, none of which shares memory with an input. Moments are summed in an order
  // that depends on the shape only. They are exact enough for means that are large compared to the
  // deviation: a CPU adds in double, in two passes, or in float where x is of half and channels
  // come last, as TensorFlow does. A GPU's library adds floats.
  using Function = absl::Status(KernelContext& ctx, const Operands& operands);
};

struct BatchNormGradient {
  struct Operands {
    ChannelShape shape;
    float epsilon = 0;
    // If false, `mean` and `variance` do not depend on x.
    bool is_training = true;

    // The gradient of y, and x. Both have one dtype, which is half, bfloat16 or float.
    const Tensor& dy;
    const Tensor& x;
    // These are vectors of `channels` floats. The mean and the variance are those that normalised
    // x.
    const Tensor& scale;
    const Tensor& mean;
    const Tensor& variance;

    Tensor* dx;      // of the dtype of x
    Tensor* dscale;  // vectors of `channels` floats
    Tensor* doffset;
  };

  // Computes the gradients of x, scale and offset. Sums are as exact as those of BatchNorm.
  using Function = absl::Status(KernelContext& ctx, const Operands& operands);
};

}  // namespace tessera
