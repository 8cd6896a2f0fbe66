// Ops that tell a compiler something, or ask for the place in a cluster: one device has no more to
// do than to pass their inputs on.
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

class PassOnKernel final : public OpKernel {
 public:
  explicit PassOnKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, ctx.TakeInput(i));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};
REGISTER_KERNEL("XlaOptimizationBarrier", kCpu, PassOnKernel);
REGISTER_KERNEL("XlaSharding", kCpu, PassOnKernel);

class ReplicaIdKernel final : public OpKernel {
 public:
  explicit ReplicaIdKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor * id, ctx.AllocateOutput(0, Shape()));
    id->scalar<int32_t>() = 0;
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};
REGISTER_KERNEL("XlaReplicaId", kCpu, ReplicaIdKernel);

}  // namespace
}  // namespace tessera
