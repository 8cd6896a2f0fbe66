// _ScaleWeights: multiplies weights by the scale of a batch norm that was folded into them.
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/scaled_weights.h"

namespace tessera {
namespace {

// The result is long-lived, because it is usually computed while a graph is optimised. Errors:
// INVALID_ARGUMENT if the weights are not rows of as many elements as there are factors.
class ScaleWeightsKernel : public OpKernel {
 public:
  explicit ScaleWeightsKernel(const KernelBuild& build) : scale_weights_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor &weights = ctx.input(0), &scale = ctx.input(1);
    const int64_t channels = scale.num_elements();
    if (channels == 0 ? weights.num_elements() > 0 : weights.num_elements() % channels != 0) {
      return absl::InvalidArgumentError(absl::StrCat("cannot scale weights of shape ",
                                                     weights.shape().ToString(), " by ", channels,
                                                     " factors"));
    }
    ASSIGN_OR_RETURN(Tensor scaled, scale_weights_(ctx, ScaledWeights(weights, &scale)));
    ctx.set_output(0, std::move(scaled));
    return absl::OkStatus();
  }

 private:
  const Primitive<ScaleWeights> scale_weights_;
};

REGISTER_KERNEL("_ScaleWeights", DevicesOf<ScaleWeights>, ScaleWeightsKernel);

}  // namespace
}  // namespace tessera
