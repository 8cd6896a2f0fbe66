// Timestamp: the time of the run.
#include "absl/time/clock.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// Output: seconds since 1970.
class TimestampKernel : public OpKernel {
 public:
  explicit TimestampKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ctx.set_output(0,
                   Tensor::Scalar<double>(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch())));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("Timestamp", kAnyDevice, TimestampKernel).HostMemory("ts");

}  // namespace
}  // namespace tessera
