// The epilogue of a product: PostOps, in kernels.
#pragma once

#include "runtime/kernels/primitives/cuda/activation_functions.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/post_ops.h"

namespace tessera::cuda {

// Parameters of a kernel; `bias` is null if there is none, and the addend is in the output.
template <typename A>
struct Epilogue {
  Input<A> bias;
  bool add;
  Activation activation;
  float alpha;

  Epilogue(const PostOps& post_ops, const Tensor* bias, DType dtype)
      : bias(bias == nullptr ? nullptr : bias->address(), dtype),
        add(post_ops.add),
        activation(post_ops.activation),
        alpha(post_ops.alpha) {}

  // Stores `sum`, which belongs to a column or channel, as element `i` of the output.
  TESSERA_DEVICE_FUNCTION void Store(A sum, int64_t column, int64_t i,
                                     const Output<A>& output) const {
    if (bias.data != nullptr) sum += bias[column];
    if (add) sum += output[i];
    if constexpr (std::is_floating_point_v<A>) {
      sum = Activated(activation, alpha, sum);
    } else if constexpr (std::is_integral_v<A>) {
      if (activation != Activation::kNone) {
        sum = static_cast<A>(Activated(activation, alpha, static_cast<double>(sum)));
      }
    }
    output.Set(i, sum);
  }
};

// Copies the addend into the output, if it is not there already.
inline absl::Status CopyAddend(KernelContext& ctx, const PostOpInputs& inputs, Tensor* output) {
  if (inputs.addend == nullptr || inputs.addend->address() == output->address()) {
    return absl::OkStatus();
  }
#ifdef TESSERA_EMULATED_CUDA
  memcpy(output->address(), inputs.addend->address(), output->size_bytes());
#else
  ctx.stream()->Copy(*inputs.addend, output);
#endif
  return absl::OkStatus();
}

}  // namespace tessera::cuda
