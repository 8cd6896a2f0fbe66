// ToBool: a tensor as the condition of If and While.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/truth.h"

namespace tessera {
namespace {

class ToBoolKernel : public OpKernel {
 public:
  explicit ToBoolKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const bool truth, IsTrue(ctx.input(0)));
    ctx.set_output(0, Tensor::Scalar(truth));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ToBool", kCpu, ToBoolKernel);

}  // namespace
}  // namespace tessera
