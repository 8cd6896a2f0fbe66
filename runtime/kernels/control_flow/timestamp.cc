// Timestamp: the time of the run.
#include "absl/time/clock.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Output: seconds since 1970.
class TimestampKernel : public OpKernel {
 public:
  explicit TimestampKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    return SetScalarOutput<double>(ctx, 0, absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  }
};
REGISTER_KERNEL("Timestamp", kAnyDevice, TimestampKernel).HostMemory("ts");

}  // namespace
}  // namespace tessera
