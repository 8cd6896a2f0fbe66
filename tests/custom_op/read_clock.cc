// The second example of docs/custom-ops.md: an op whose output depends on more than its inputs.
#include "absl/time/clock.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/shape_inference.h"

namespace {

REGISTER_OP("ReadClock")
    .Output("seconds: double")
    .Stateful()
    .ShapeFn(tessera::shape::Scalar)
    .ReadsOutside();

class ReadClockKernel : public tessera::OpKernel {
 public:
  explicit ReadClockKernel(const tessera::KernelBuild&) {}
  absl::Status Compute(tessera::KernelContext& ctx) override {
    ctx.set_output(0,
                   tessera::Tensor::Scalar(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch())));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ReadClock", tessera::kCpu, ReadClockKernel);

}  // namespace
