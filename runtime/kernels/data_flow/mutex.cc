// Mutexes of graphs, which critical sections are made of: MutexV2, MutexLock, ConsumeMutexLock.
#include <memory>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/data_flow/blocking_resource.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/tensor/variant.h"

namespace tessera {
namespace {

// Steps get it in the order in which they asked. Thread-safe.
class GraphMutex final : public BlockingResource {
 public:
  static constexpr absl::string_view kTypeName = "mutex";

  GraphMutex() : BlockingResource({Order::kFirstInFirstOut}) {}

  // Ends when the caller holds the mutex, or with CANCELLED.
  void Lock(CancellationManager* cancellation, Done done) {
    Run(
        0, cancellation,
        [this]() -> std::optional<absl::Status> {
          if (held_) return std::nullopt;
          held_ = true;
          return absl::OkStatus();
        },
        std::move(done));
  }
  void Unlock() {
    (void)Change([this] {
      held_ = false;
      return absl::OkStatus();
    });
  }

  std::string DebugString() const override { return "mutex"; }

 private:
  bool held_ = false;  // guarded by mu_
};

// Holds a mutex until the last tensor with it is gone.
class HeldLock final : public VariantValue {
 public:
  explicit HeldLock(IntrusivePtr<GraphMutex> mutex) : mutex_(std::move(mutex)) {}
  ~HeldLock() override { mutex_->Unlock(); }
  std::string TypeName() const override { return "(anonymous namespace)::MutexLockWrapper"; }
  std::string DebugString() const override { return "lock of a mutex"; }

 private:
  const IntrusivePtr<GraphMutex> mutex_;
};

class MakeMutexKernel final : public ResourceHandleKernel {
 public:
  explicit MakeMutexKernel(const KernelBuild& build)
      : ResourceHandleKernel(build, GraphMutex::kTypeName) {}

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext&) override {
    return IntrusivePtr<Resource>(MakeRefCounted<GraphMutex>());
  }
};
REGISTER_KERNEL("MutexV2", kCpu, MakeMutexKernel);

class LockKernel final : public AsyncOpKernel {
 public:
  explicit LockKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  void ComputeAsync(KernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<IntrusivePtr<GraphMutex>> mutex = ResourceInput<GraphMutex>(ctx, 0);
    if (!mutex.ok()) {
      done(mutex.status());
      return;
    }
    (*mutex)->Lock(ctx.step().cancellation, [mutex = *mutex, &ctx, done](absl::Status status) {
      if (status.ok()) {
        status = SetScalarOutput(ctx, 0, Variant(std::make_shared<HeldLock>(mutex)));
      }
      done(std::move(status));
    });
  }
};
REGISTER_KERNEL("MutexLock", kCpu, LockKernel);

// Drops its share of the lock. Errors: INVALID_ARGUMENT unless the input is one.
class ConsumeLockKernel final : public OpKernel {
 public:
  explicit ConsumeLockKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor lock = ctx.TakeInput(0);
    if (lock.rank() == 0 && lock.scalar<Variant>().get<HeldLock>() != nullptr) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("mutex_lock must be a scalar that MutexLock gave, is ", lock.ToString()));
  }
};
REGISTER_KERNEL("ConsumeMutexLock", kCpu, ConsumeLockKernel);

}  // namespace
}  // namespace tessera
