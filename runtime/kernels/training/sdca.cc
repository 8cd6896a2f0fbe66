// What surrounds stochastic dual coordinate ascent: SdcaFprint, which gives examples their ids, and
// SdcaShrinkL1, which applies the L1 part of the regularisation.
#include <algorithm>
#include <cmath>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/fingerprint.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

// Two words for each string of a vector, the first of which is never 0 or 1: these mark free and
// deleted places of tables. Errors: INVALID_ARGUMENT for another rank.
class FingerprintKernel final : public OpKernel {
 public:
  explicit FingerprintKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input must be a vector, has shape ", input.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, Shape{input.dim(0), 2}));
    auto to = output->flat<int64_t>();
    for (int64_t i = 0; i < input.dim(0); ++i) {
      const Fingerprint128Value value = Fingerprint128(input.flat<std::string>()[i]);
      to[2 * i] = static_cast<int64_t>(value.low >= 2 ? value.low : value.low - 2);
      to[2 * i + 1] = static_cast<int64_t>(value.high);
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SdcaFprint", kCpu, FingerprintKernel);

// Moves each weight towards 0 by l1 / l2, and no further.
class ShrinkL1Kernel final : public OpKernel {
 public:
  explicit ShrinkL1Kernel(const KernelBuild& build)
      : shrinkage_(build.attr<float>("l1") / build.attr<float>("l2")) {}
  absl::Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(const IntrusivePtr<Variable> variable, VariableInput(ctx, i));
      RETURN_IF_ERROR(UpdateVariable(ctx, *variable, [this](Tensor& weights) {
        for (float& weight : weights.flat<float>()) {
          const float sign = static_cast<float>((weight > 0) - (weight < 0));
          const float size = std::abs(weight) - shrinkage_;
          // NaN stays NaN.
          weight = sign * (size < 0 ? 0.0f : size);
        }
        return absl::OkStatus();
      }));
    }
    return absl::OkStatus();
  }

 private:
  const float shrinkage_;
};
REGISTER_KERNEL("SdcaShrinkL1", kCpu, ShrinkL1Kernel);

}  // namespace
}  // namespace tessera
