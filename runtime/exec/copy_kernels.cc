// Copies between the memory of a device and the host's.
#include "runtime/framework/kernel_registry.h"
#include "runtime/tensor/tensor_holder.h"

namespace tessera {
namespace {

// Enqueues the copy and is done: what reads the output is enqueued later. A feed may have come to
// the device before the run (see FeedUploader), and is handed on.
class CopyToDeviceKernel : public OpKernel {
 public:
  explicit CopyToDeviceKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& from = ctx.input(0);
    // A CPU has no memory of its own to copy to.
    if (!IsHostAccessible(from.memory_kind()) || ctx.stream() == nullptr) {
      ctx.set_output(0, from);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * to, ctx.AllocateOutput(0, from.shape()));
    if (from.num_elements() > 0) ctx.stream()->Copy(from, to);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("_CopyToDevice", kAnyDevice, CopyToDeviceKernel).HostMemory("from");

// Brings a tensor to the host, and of variants the tensors that they hold.
class ToHost {
 public:
  explicit ToHost(KernelContext& ctx) : ctx_(ctx) {}

  // The bytes of what is returned come with the work of the stream if something had to be copied.
  absl::StatusOr<Tensor> Moved(const Tensor& from) {
    if (from.dtype() == DType::kVariant) return MovedVariants(from);
    if (IsHostAccessible(from.memory_kind())) return from;
    ASSIGN_OR_RETURN(Tensor to, ctx_.AllocateTemp(from.dtype(), from.shape(), MemoryKind::kPinned));
    if (from.num_elements() > 0) {
      ctx_.stream()->Copy(from, &to);
      has_copied_ = true;
    }
    return to;
  }
  bool has_copied() const { return has_copied_; }

 private:
  absl::StatusOr<Tensor> MovedVariants(const Tensor& from) {
    ASSIGN_OR_RETURN(Tensor to,
                     ctx_.AllocateTemp(DType::kVariant, from.shape(), MemoryKind::kHost));
    for (int64_t i = 0; i < from.num_elements(); ++i) {
      const Variant& variant = from.flat<Variant>()[i];
      Variant& moved = to.flat<Variant>()[i];
      const auto* const holder = variant.get<TensorHolder>();
      if (holder == nullptr) {
        moved = variant;
        continue;
      }
      ASSIGN_OR_RETURN(std::shared_ptr<VariantValue> value,
                       holder->Moved([this](const Tensor& tensor) { return Moved(tensor); }));
      moved = Variant(std::move(value));
    }
    return to;
  }

  KernelContext& ctx_;
  bool has_copied_ = false;
};

// Ends when the bytes have come.
class CopyToHostKernel : public AsyncOpKernel {
 public:
  explicit CopyToHostKernel(const KernelBuild&) {}
  void ComputeAsync(KernelContext& ctx, DoneCallback done) override {
    ToHost to_host(ctx);
    absl::StatusOr<Tensor> to = to_host.Moved(ctx.input(0));
    if (!to.ok()) {
      // What was enqueued keeps a share in its memory.
      done(to.status());
      return;
    }
    ctx.set_output(0, *std::move(to));
    if (!to_host.has_copied()) {
      done(absl::OkStatus());
      return;
    }
    ctx.stream()->Then(std::move(done));
  }
};
REGISTER_KERNEL("_CopyToHost", kAnyDevice, CopyToHostKernel).HostMemory("to");

}  // namespace
}  // namespace tessera
