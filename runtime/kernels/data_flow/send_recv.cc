// Send and Recv: values that go from one device's graph to another's, or from a partial run's
// caller into the graph.
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// The attributes that make a key, alike on both sides.
struct Channel {
  explicit Channel(const KernelBuild& build)
      : send_device(build.attr<std::string>("send_device")),
        recv_device(build.attr<std::string>("recv_device")),
        tensor_name(build.attr<std::string>("tensor_name")),
        incarnation(static_cast<uint64_t>(build.attr<int64_t>("send_device_incarnation"))) {}

  std::string Key(const KernelContext& ctx) const {
    return RendezvousKey(send_device, incarnation, recv_device, tensor_name, ctx.frame_id(),
                         ctx.iteration());
  }

  const std::string send_device, recv_device, tensor_name;
  const uint64_t incarnation;
};

absl::Status CheckRendezvous(const KernelContext& ctx) {
  if (ctx.step().rendezvous != nullptr) return absl::OkStatus();
  return absl::InternalError("the step has no rendezvous");
}

class SendKernel : public OpKernel {
 public:
  explicit SendKernel(const KernelBuild& build) : channel_(build) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckRendezvous(ctx));
    const bool is_dead = ctx.is_input_dead();
    return ctx.step().rendezvous->Send(channel_.Key(ctx), is_dead ? Tensor() : ctx.TakeInput(0),
                                       is_dead);
  }

 private:
  const Channel channel_;
};
REGISTER_KERNEL("_Send", kAnyDevice, SendKernel).HostMemory("tensor");
REGISTER_KERNEL("Send", kAnyDevice, SendKernel).HostMemory("tensor");
REGISTER_KERNEL("_HostSend", kAnyDevice, SendKernel).HostMemory("tensor");

// The output stays without a value if what was sent is dead.
class RecvKernel : public AsyncOpKernel {
 public:
  explicit RecvKernel(const KernelBuild& build) : channel_(build) {}
  bool IsExpensive() const override { return false; }
  void ComputeAsync(KernelContext& ctx, DoneCallback done) override {
    if (absl::Status status = CheckRendezvous(ctx); !status.ok()) {
      done(std::move(status));
      return;
    }
    ctx.step().rendezvous->RecvAsync(
        channel_.Key(ctx),
        [&ctx, done = std::move(done)](absl::Status status, Tensor tensor, bool is_dead) {
          if (status.ok() && !is_dead) {
            if (tensor.dtype() != RemoveRef(ctx.output_type(0))) {
              status = absl::InvalidArgumentError(absl::StrCat("received a tensor of type ",
                                                               DTypeName(tensor.dtype()), " for ",
                                                               DTypeName(ctx.output_type(0))));
            } else {
              ctx.set_output(0, std::move(tensor));
            }
          }
          done(std::move(status));
        });
  }

 private:
  const Channel channel_;
};
REGISTER_KERNEL("_Recv", kAnyDevice, RecvKernel).HostMemory("tensor");
REGISTER_KERNEL("Recv", kAnyDevice, RecvKernel).HostMemory("tensor");
REGISTER_KERNEL("_HostRecv", kAnyDevice, RecvKernel).HostMemory("tensor");

}  // namespace
}  // namespace tessera
