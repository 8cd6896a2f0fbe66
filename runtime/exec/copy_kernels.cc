// Copies between the memory of a device and the host's.
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// Enqueues the copy and is done: what reads the output is enqueued later.
class CopyToDeviceKernel : public OpKernel {
 public:
  explicit CopyToDeviceKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& from = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * to, ctx.AllocateOutput(0, from.shape()));
    if (from.num_elements() > 0) ctx.stream()->Copy(from, to);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("_CopyToDevice", kAnyDevice, CopyToDeviceKernel).HostMemory("from");

// Ends when the bytes have come.
class CopyToHostKernel : public AsyncOpKernel {
 public:
  explicit CopyToHostKernel(const KernelBuild&) {}
  void ComputeAsync(KernelContext& ctx, DoneCallback done) override {
    const Tensor& from = ctx.input(0);
    absl::StatusOr<Tensor> to =
        ctx.AllocateTemp(from.dtype(), from.shape(), MemoryKind::kPinned);
    if (!to.ok()) {
      done(to.status());
      return;
    }
    if (from.num_elements() > 0) ctx.stream()->Copy(from, &*to);
    ctx.set_output(0, *std::move(to));
    ctx.stream()->Then(std::move(done));
  }
};
REGISTER_KERNEL("_CopyToHost", kAnyDevice, CopyToHostKernel).HostMemory("to");

}  // namespace
}  // namespace tessera
