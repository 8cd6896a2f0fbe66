// ToBool: a tensor as the condition of If and While.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/kernels/truth.h"

namespace tessera {
namespace {

class ToBoolKernel : public OpKernel {
 public:
  explicit ToBoolKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const bool truth, IsTrue(ctx.input(0)));
    return SetScalarOutput(ctx, 0, truth);
  }
};
REGISTER_KERNEL("ToBool", kCpu, ToBoolKernel);

}  // namespace
}  // namespace tessera
