// A library that declares an op of its own and one that another library has declared.
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/shape_inference.h"

namespace {

REGISTER_OP("NotTaken").Output("y: float").ShapeFn(tessera::shape::Scalar);
REGISTER_OP("ZeroOut").Output("y: float").ShapeFn(tessera::shape::Scalar);

class NotTakenKernel : public tessera::OpKernel {
 public:
  explicit NotTakenKernel(const tessera::KernelBuild&) {}
  absl::Status Compute(tessera::KernelContext& ctx) override {
    ctx.set_output(0, tessera::Tensor::Scalar(1.0f));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("NotTaken", tessera::kCpu, NotTakenKernel);

}  // namespace
