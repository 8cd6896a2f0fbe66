#include "runtime/framework/kernel.h"

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace tessera {

absl::Status CheckDeadlineAndCancellation(const StepContext& step) {
  if (step.deadline != absl::InfiniteFuture() && absl::Now() >= step.deadline) {
    return absl::DeadlineExceededError("the step ran longer than its timeout");
  }
  if (step.cancellation != nullptr && step.cancellation->IsCancelled()) {
    return absl::CancelledError("the step was cancelled");
  }
  return absl::OkStatus();
}

ArgRange KernelBuild::inputs(absl::string_view arg) const {
  absl::StatusOr<ArgRange> range = InputRange(op_, attrs_, arg);
  if (!range.ok()) Fail(range.status());
  return range.ok() ? *range : ArgRange();
}

ArgRange KernelBuild::outputs(absl::string_view arg) const {
  absl::StatusOr<ArgRange> range = OutputRange(op_, attrs_, arg);
  if (!range.ok()) Fail(range.status());
  return range.ok() ? *range : ArgRange();
}

const CallableFunction* KernelBuild::function(absl::string_view attr_name,
                                              bool results_on_host) const {
  absl::StatusOr<FunctionRef> ref = GetAttr<FunctionRef>(attrs_, attr_name);
  if (!ref.ok()) {
    Fail(ref.status());
    return nullptr;
  }
  return function(*ref, results_on_host);
}

const CallableFunction* KernelBuild::function(const FunctionRef& ref, bool results_on_host) const {
  if (functions_ == nullptr) {
    Fail(absl::FailedPreconditionError(
        absl::StrCat("function '", ref.name, "' cannot be called here: no function library")));
    return nullptr;
  }
  absl::StatusOr<const CallableFunction*> callable =
      functions_->Instantiate(ref, {.device = device_, .results_on_host = results_on_host});
  if (!callable.ok()) {
    Fail(callable.status());
    return nullptr;
  }
  return *callable;
}

absl::Status AsyncOpKernel::Compute(KernelContext& ctx) {
  absl::Notification done;
  absl::Status result;
  ComputeAsync(ctx, [&](absl::Status status) {
    result = std::move(status);
    done.Notify();
  });
  done.WaitForNotification();
  return result;
}

absl::StatusOr<Tensor*> KernelContext::AllocateOutput(int i, DType dtype, const Shape& shape) {
  const MemoryKind kind = output_kind(i);
  Tensor& output = outputs_[i].tensor;
  absl::Status status;
  if (output_memory_ != nullptr && kind == device_kind_) {
    output_memory_->SetPlace(first_place_, i);
    status = output.Reallocate(dtype, shape, output_memory_);
  } else {
    status = output.Reallocate(dtype, shape, allocator(kind));
  }
  if (!status.ok()) [[unlikely]]
    return status;
  return &output;
}

absl::StatusOr<Tensor*> KernelContext::ForwardOrAllocateOutput(
    std::initializer_list<int> candidates, int i, const Shape& shape) {
  const DType dtype = RemoveRef(output_types_[i]);
  for (int candidate : candidates) {
    const InputSlot slot = inputs_[candidate];
    Value& value = values_[slot.index];
    Tensor& tensor = value.tensor;
    if (!slot.last_use || value.ref || tensor.dtype() != dtype || !tensor.CanWriteInPlace() ||
        tensor.shape().num_elements() != shape.num_elements()) {
      continue;
    }
    if (device_kind_ != MemoryKind::kHost &&
        IsHostAccessible(tensor.memory_kind()) != IsHostAccessible(output_kind(i))) {
      continue;
    }
    Tensor& output = outputs_[i].tensor;
    // Before the move, because `shape` may be the shape of the candidate itself.
    if (tensor.shape() != shape) tensor.Reshape(shape);
    output = std::move(tensor);
    return &output;
  }
  return AllocateOutput(i, dtype, shape);
}

absl::StatusOr<Tensor> KernelContext::AllocateZeros(DType dtype, const Shape& shape,
                                                    MemoryKind kind) {
  if (IsHostAccessible(kind)) return Tensor::Zeros(dtype, shape, allocator(kind));
  absl::StatusOr<Tensor> tensor = AllocateTemp(dtype, shape, kind);
  if (tensor.ok() && tensor->num_elements() > 0) device_->stream()->Zero(&*tensor);
  return tensor;
}

absl::StatusOr<Tensor> KernelContext::CopyOf(const Tensor& tensor) {
  const MemoryKind kind = tensor.memory_kind();
  if (IsHostAccessible(kind)) return tensor.DeepCopy(allocator(kind));
  absl::StatusOr<Tensor> copy = AllocateTemp(tensor.dtype(), tensor.shape(), kind);
  if (copy.ok()) device_->stream()->Copy(tensor, &*copy);
  return copy;
}

}  // namespace tessera
