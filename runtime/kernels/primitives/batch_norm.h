// Batch normalisation (Ioffe and Szegedy, arXiv:1502.03167), for inference and for training.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// A tensor as [outer, channels, inner]: inner is 1 where channels are the last dimension.
struct ChannelShape {
  int64_t outer = 0, channels = 0, inner = 1;
};

struct BatchNorm {
  struct Operands {
    ChannelShape shape;
    // Added to the variance.
    float epsilon = 0;
    // True: x is normalised by its own moments. False: by `mean` and `variance`.
    bool is_training = false;
    // In training, the share of this batch in the moving averages; `mean` and `variance` are read
    // only if it is not 1.
    float average_factor = 1;

    // half, bfloat16 or float.
    const Tensor& x;
    // Vectors of `channels` elements: float or bfloat16.
    const Tensor& scale;
    const Tensor& offset;
    const Tensor& mean;
    const Tensor& variance;

    // (x - mean) * scale / sqrt(variance + epsilon) + offset, of the dtype of x.
    Tensor* y;
    // Vectors of `channels` elements, float or bfloat16: in training the moving averages, the
    // variance with Bessel's correction; else `mean` and `variance`. NaN where x has no elements.
    Tensor* average_mean;
    Tensor* average_variance;
    // The same vectors as they normalised x: the variance without the correction. In training they
    // are 0 where x has no elements.
    Tensor* saved_mean;
    Tensor* saved_variance;
  };

  // Computes the outputs, none of which shares memory with an input. Moments are added up in an
  // order that depends on the shape only, exactly enough for means that are large beside the
  // deviation: a CPU adds in double, in two passes. A GPU whose library does it adds floats.
  using Function = absl::Status(KernelContext& ctx, const Operands& operands);
};

struct BatchNormGradient {
  struct Operands {
    ChannelShape shape;
    float epsilon = 0;
    // False: `mean` and `variance` do not depend on x.
    bool is_training = true;

    // Gradients of y, and x: of one dtype, half, bfloat16 or float.
    const Tensor& dy;
    const Tensor& x;
    // Vectors of `channels` floats; mean and variance are those that normalised x.
    const Tensor& scale;
    const Tensor& mean;
    const Tensor& variance;

    Tensor* dx;      // of the dtype of x
    Tensor* dscale;  // vectors of `channels` floats
    Tensor* doffset;
  };

  // Computes the gradients of x, scale and offset. Sums as BatchNorm does.
  using Function = absl::Status(KernelContext& ctx, const Operands& operands);
};

}  // namespace tessera
