// The primitive of convolutions with one to three spatial dimensions.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/primitives/post_ops.h"
#include "runtime/kernels/primitives/scaled_weights.h"

namespace tessera {

// The convolutions of one kernel: grouped, depthwise and dilated ones. It keeps what it derives
// from a constant filter, such as a packed or an uploaded copy of it.
//
//   explicit Conv2DKernel(const KernelBuild& build)
//       : convolution_(Primitive<Convolution>(build)(build, /*filter_input=*/1)) {}
//   ...
//   return convolution_->Run(ctx, shape, PostOps(), ctx.input(0), ctx.input(1), {}, output);
//
// KernelBuild::numerics() says how exact the convolutions are. Thread-safe.
class Convolution {
 public:
  // Makes the convolutions of the kernel whose filter is input `filter_input`.
  using Function = std::unique_ptr<Convolution>(const KernelBuild& build, int filter_input);
  virtual ~Convolution() = default;

  // Uploads or converts a constant filter, whose last `out_dims` dimensions are the output
  // channels. OpKernel::Prepare() calls it. On the CPU the first run packs the filter: the
  // algorithm, and with it the packed form, depends on the number and the size of the images, and
  // with strict numerics on the number of groups, which only the images tell.
  virtual absl::Status Prepare(const PrepareContext& /*context*/, int /*out_dims*/) {
    return absl::OkStatus();
  }

  // Computes output = activation(convolution(input, filter) + bias + addend). All tensors have the
  // dtype of `input`, which is a real number, and is float if the filter is scaled. The filter's
  // values are the kernel's input. `output` is allocated, and overlaps neither operand. Empty sums
  // are 0.
  // Errors: UNIMPLEMENTED for other dtypes; RESOURCE_EXHAUSTED for scratch memory.
  virtual absl::Status Run(KernelContext& ctx, const ConvolutionShape& shape,
                           const PostOps& post_ops, const Tensor& input,
                           const ScaledWeights& filter, const PostOpInputs& inputs,
                           Tensor* output) = 0;
};

}  // namespace tessera
