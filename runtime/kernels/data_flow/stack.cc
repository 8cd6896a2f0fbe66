// Stacks: what v1 loops keep values in for their gradients.
#include <atomic>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// Thread-safe. Lives as long as its handles.
class TensorStack : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "stack";

  // `max_size` < 0: no limit.
  TensorStack(DType dtype, int64_t max_size) : dtype_(dtype), max_size_(max_size) {}

  // Errors: INVALID_ARGUMENT for another dtype, a full or a closed stack.
  absl::Status Push(Tensor value) {
    absl::MutexLock lock(&mu_);
    RETURN_IF_ERROR(CheckOpen());
    if (value.dtype() != dtype_) {
      return absl::InvalidArgumentError(absl::StrCat("a stack of ", DTypeName(dtype_),
                                                     " cannot take ", DTypeName(value.dtype())));
    }
    if (max_size_ >= 0 && static_cast<int64_t>(values_.size()) >= max_size_) {
      return absl::InvalidArgumentError(
          absl::StrCat("the stack is full: it may hold ", max_size_, " values"));
    }
    values_.push_back(std::move(value));
    return absl::OkStatus();
  }
  // Errors: INVALID_ARGUMENT for an empty or a closed stack.
  absl::StatusOr<Tensor> Pop() {
    absl::MutexLock lock(&mu_);
    RETURN_IF_ERROR(CheckOpen());
    if (values_.empty()) return absl::InvalidArgumentError("the stack is empty");
    Tensor value = std::move(values_.back());
    values_.pop_back();
    return value;
  }
  void Close() {
    std::vector<Tensor> doomed;  // dies after the lock is dropped
    absl::MutexLock lock(&mu_);
    closed_ = true;
    doomed.swap(values_);
  }

  std::string DebugString() const override { return absl::StrCat("stack of ", DTypeName(dtype_)); }

 private:
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!closed_) return absl::OkStatus();
    return absl::InvalidArgumentError("the stack was closed");
  }

  const DType dtype_;
  const int64_t max_size_;
  absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Tensor> values_ ABSL_GUARDED_BY(mu_);
};

// The stack of a handle, or (v1) of a reference to a name.
absl::StatusOr<IntrusivePtr<TensorStack>> StackInput(const KernelContext& ctx) {
  if (!ctx.has_ref(0)) return ctx.Resource<TensorStack>(0);
  const Tensor name = ctx.ref_input(0)->Read();
  if (name.dtype() != DType::kString || name.num_elements() != 1) {
    return absl::InvalidArgumentError("input 0 must be the handle of a stack");
  }
  ASSIGN_OR_RETURN(
      const IntrusivePtr<Resource> resource,
      ctx.step().step_resources->Lookup("", TensorStack::kTypeName, name.scalar<std::string>()));
  return IntrusivePtr<TensorStack>(static_cast<TensorStack*>(resource.get()));
}

// A new stack in every run, which its handle owns.
class StackKernel : public OpKernel {
 public:
  explicit StackKernel(const KernelBuild& build)
      : name_(build.node_name()), dtype_(build.attr<DType>("elem_type")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t max_size, ReadIntegerOfScalar(ctx.input(0), "max_size"));
    ResourceHandle handle;
    handle.name = name_;
    handle.type_name = std::string(TensorStack::kTypeName);
    handle.resource = MakeRefCounted<TensorStack>(dtype_, max_size);
    return SetScalarOutput(ctx, 0, std::move(handle));
  }

 private:
  const std::string name_;
  const DType dtype_;
};
REGISTER_KERNEL("StackV2", kAnyDevice, StackKernel).HostMemory("max_size").HostMemory("handle");

// A new stack in every run, which ends with the step. Its handle is a reference to its name.
class RefStackKernel : public OpKernel {
 public:
  explicit RefStackKernel(const KernelBuild& build)
      : name_(build.node_name()), dtype_(build.attr<DType>("elem_type")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const std::string name = absl::StrCat(name_, ";", next_.fetch_add(1));
    RETURN_IF_ERROR(ctx.step().step_resources->Create("", TensorStack::kTypeName, name,
                                                      MakeRefCounted<TensorStack>(dtype_, -1)));
    auto handle = MakeRefCounted<Variable>(DType::kString, PartialShape(Shape()));
    handle->Assign(Tensor::Scalar<std::string>(name));
    ctx.set_ref_output(0, std::move(handle));
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  const DType dtype_;
  std::atomic<int64_t> next_{0};
};
REGISTER_KERNEL("Stack", kCpu, RefStackKernel);

class StackPushKernel : public OpKernel {
 public:
  explicit StackPushKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto stack, StackInput(ctx));
    RETURN_IF_ERROR(stack->Push(ctx.input(1)));
    ctx.set_output(0, ctx.TakeInput(1));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("StackPush", kCpu, StackPushKernel);
REGISTER_KERNEL("StackPushV2", kAnyDevice, StackPushKernel).HostMemory("handle");

class StackPopKernel : public OpKernel {
 public:
  explicit StackPopKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto stack, StackInput(ctx));
    ASSIGN_OR_RETURN(Tensor value, stack->Pop());
    if (value.dtype() != ctx.output_type(0)) {
      return absl::InternalError(absl::StrCat("the stack holds ", DTypeName(value.dtype()),
                                              ", elem_type is ", DTypeName(ctx.output_type(0))));
    }
    ctx.set_output(0, std::move(value));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("StackPop", kCpu, StackPopKernel);
REGISTER_KERNEL("StackPopV2", kAnyDevice, StackPopKernel).HostMemory("handle");

class StackCloseKernel : public OpKernel {
 public:
  explicit StackCloseKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto stack, StackInput(ctx));
    stack->Close();
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("StackClose", kCpu, StackCloseKernel);
REGISTER_KERNEL("StackCloseV2", kAnyDevice, StackCloseKernel).HostMemory("handle");

}  // namespace
}  // namespace tessera
