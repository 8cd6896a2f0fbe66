#include "runtime/framework/kernel.h"

#include "absl/synchronization/notification.h"

namespace tessera {

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

const CallableFunction* KernelBuild::function(absl::string_view attr_name) const {
  absl::StatusOr<FunctionRef> ref = GetAttr<FunctionRef>(attrs_, attr_name);
  if (!ref.ok()) {
    Fail(ref.status());
    return nullptr;
  }
  return function(*ref);
}

const CallableFunction* KernelBuild::function(const FunctionRef& ref) const {
  if (functions_ == nullptr) {
    Fail(absl::FailedPreconditionError(
        absl::StrCat("function '", ref.name, "' cannot be called here: no function library")));
    return nullptr;
  }
  absl::StatusOr<const CallableFunction*> callable = functions_->Instantiate(ref);
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
  Allocator* allocator = step_->allocator;
  if (output_memory_ != nullptr) {
    output_memory_->SetPlace(first_place_, i);
    allocator = output_memory_;
  }
  absl::StatusOr<Tensor> tensor = Tensor::Allocate(dtype, shape, allocator);
  if (!tensor.ok()) [[unlikely]]
    return std::move(tensor).status();
  outputs_[i].tensor = *std::move(tensor);
  return &outputs_[i].tensor;
}

absl::StatusOr<Tensor*> KernelContext::ForwardOrAllocateOutput(
    std::initializer_list<int> candidates, int i, const Shape& shape) {
  const DType dtype = RemoveRef(output_types_[i]);
  for (int candidate : candidates) {
    const InputSlot slot = inputs_[candidate];
    Value& value = values_[slot.index];
    Tensor& tensor = value.tensor;
    if (!slot.last_use || value.ref || tensor.dtype() != dtype || !tensor.CanWriteInPlace() ||
        tensor.num_elements() != shape.num_elements()) {
      continue;
    }
    if (tensor.shape() == shape) {
      outputs_[i].tensor = std::move(tensor);
    } else {
      absl::StatusOr<Tensor> reshaped = tensor.Reshaped(shape);
      if (!reshaped.ok()) return std::move(reshaped).status();
      tensor = Tensor();
      outputs_[i].tensor = *std::move(reshaped);
    }
    return &outputs_[i].tensor;
  }
  return AllocateOutput(i, dtype, shape);
}

}  // namespace tessera
