#include "runtime/exec/captured_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {

namespace {

// The memory of a tensor without a share in it: kernels see a value that nobody else holds.
class BorrowedBuffer final : public Buffer {
 public:
  static Tensor View(const Tensor& tensor) {
    return Tensor::View(tensor.dtype(), tensor.shape(),
                        IntrusivePtr<Buffer>(new BorrowedBuffer(tensor)));
  }

 private:
  explicit BorrowedBuffer(const Tensor& tensor)
      : Buffer(tensor.address(), tensor.size_bytes(), /*writable=*/true, tensor.memory_kind()) {}
};

}  // namespace

absl::Status CapturedState::Add(const Tensor& handle, const ResourceManager& resources,
                                bool is_written) {
  if (handle.dtype() != DType::kResource || handle.num_elements() != 1) {
    return absl::FailedPreconditionError("a handle is not one of a variable");
  }
  const auto found = LookupResource<Variable>(resources, handle.scalar<ResourceHandle>());
  if (!found.ok()) return absl::FailedPreconditionError(found.status().message());
  const auto at = std::lower_bound(variables_.begin(), variables_.end(), found->get(),
                                   [](const CapturedVariable& captured, const Variable* variable) {
                                     return captured.variable.get() < variable;
                                   });
  if (at != variables_.end() && at->variable == *found) {
    at->is_written = at->is_written || is_written;
    return absl::OkStatus();
  }
  CapturedVariable added;
  added.variable = *found;
  added.is_written = is_written;
  variables_.insert(at, std::move(added));
  return absl::OkStatus();
}

bool CapturedState::is_written() const {
  return std::any_of(variables_.begin(), variables_.end(),
                     [](const CapturedVariable& captured) { return captured.is_written; });
}

absl::Status CapturedState::Prepare(CapturedVariable& captured, Tensor& value) {
  if (!value.has_value()) {
    return absl::UnavailableError(
        absl::StrCat("the ", captured.variable->DebugString(), " has no value yet"));
  }
  if (value.num_elements() > 0 && IsHostAccessible(value.memory_kind())) {
    return absl::FailedPreconditionError(
        absl::StrCat("the ", captured.variable->DebugString(), " is in host memory"));
  }
  captured.dtype = value.dtype();
  captured.shape = value.shape();
  captured.address = value.address();
  captured.size = value.size_bytes();
  if (value.num_elements() == 0) return absl::OkStatus();
  if (!captured.is_written) {
    // A share, so that another value cannot come to lie there meanwhile.
    captured.value = value;
    return absl::OkStatus();
  }
  if (!value.CanWriteInPlace()) {
    return absl::UnavailableError(
        absl::StrCat("the value of the ", captured.variable->DebugString(), " is shared"));
  }
  // The one share in the view is the variable's, so that kernels may write in place.
  captured.value = std::move(value);
  value = BorrowedBuffer::View(captured.value);
  return absl::OkStatus();
}

absl::Status CapturedState::Begin(Device& device) {
  if (is_written()) {
    auto* const multi_stream = dynamic_cast<MultiStreamDevice*>(&device);
    if (multi_stream == nullptr) {
      return absl::FailedPreconditionError("the stream is not the one that orders state");
    }
    if (!multi_stream->streams().TryBeginExclusive(0)) {
      return absl::UnavailableError("other steps use the state of the device");
    }
    exclusive_ = &multi_stream->streams();
  }
  for (size_t i = 0; i < variables_.size(); ++i) {
    CapturedVariable& captured = variables_[i];
    const absl::Status status =
        captured.variable->Update([&](Tensor& value) { return Prepare(captured, value); });
    if (status.ok()) continue;
    TakeBack(i);
    Release();
    return status;
  }
  return absl::OkStatus();
}

std::vector<Tensor> CapturedState::TakeBack(size_t count) {
  std::vector<Tensor> finals(count);
  for (size_t i = 0; i < count; ++i) {
    CapturedVariable& captured = variables_[i];
    if (!captured.is_written || !captured.value.has_value()) continue;
    captured.variable
        ->Update([&](Tensor& value) {
          finals[i] = std::exchange(value, std::exchange(captured.value, Tensor()));
          return absl::OkStatus();
        })
        .IgnoreError();
  }
  return finals;
}

bool CapturedState::Release() {
  bool is_unchanged = true;
  for (CapturedVariable& captured : variables_) {
    if (captured.is_written || !captured.value.has_value()) continue;
    is_unchanged = is_unchanged && captured.variable->Read().SharesBufferWith(captured.value);
    captured.value = Tensor();
  }
  if (exclusive_ != nullptr) exclusive_->EndExclusive(0);
  exclusive_ = nullptr;
  return is_unchanged;
}

absl::Status CapturedState::CopyBack(KernelContext& ctx, std::vector<Tensor>* finals) const {
  for (size_t i = 0; i < variables_.size(); ++i) {
    const CapturedVariable& captured = variables_[i];
    Tensor& final = (*finals)[i];
    if (!captured.is_written || captured.size == 0) continue;
    if (captured.IsAt(final)) {
      final = Tensor();
    } else if (final.dtype() != captured.dtype || !(final.shape() == captured.shape) ||
               IsHostAccessible(final.memory_kind())) {
      return absl::FailedPreconditionError(
          absl::StrCat("the ", captured.variable->DebugString(), " gets a value of another shape"));
    }
  }
  // What one variable gets of another one is taken before that one gets its own.
  for (Tensor& final : *finals) {
    if (final.has_value()) {
      ASSIGN_OR_RETURN(final, Snapshot(ctx, final));
    }
  }
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (!(*finals)[i].has_value()) continue;
    Tensor to = BorrowedBuffer::View(variables_[i].variable->Read());
    ctx.stream()->Copy((*finals)[i], &to);
  }
  return absl::OkStatus();
}

absl::Status CapturedState::End(KernelContext& ctx) {
  std::vector<Tensor> finals = TakeBack(variables_.size());
  const absl::Status copied = CopyBack(ctx, &finals);
  if (!Release()) return absl::UnavailableError("a variable has got another value meanwhile");
  return copied;
}

void CapturedState::Abandon() {
  TakeBack(variables_.size());
  Release();
}

absl::StatusOr<Tensor> CapturedState::Snapshot(KernelContext& ctx, const Tensor& tensor) const {
  for (const CapturedVariable& captured : variables_) {
    if (tensor.num_elements() > 0 && tensor.address() >= captured.address &&
        tensor.address() < captured.address + captured.size) {
      return ctx.CopyOf(BorrowedBuffer::View(tensor));
    }
  }
  return tensor;
}

absl::StatusOr<CapturedState::Change> CapturedState::IfUnchanged(
    absl::FunctionRef<absl::Status()> enqueue) const {
  return CheckFrom(0, enqueue);
}

absl::StatusOr<CapturedState::Change> CapturedState::CheckFrom(
    size_t next, absl::FunctionRef<absl::Status()> enqueue) const {
  if (next == variables_.size()) {
    RETURN_IF_ERROR(enqueue());
    return Change::kNone;
  }
  const CapturedVariable& captured = variables_[next];
  absl::StatusOr<Change> change = Change::kNone;
  RETURN_IF_ERROR(captured.variable->Update([&](Tensor& value) {
    if (!value.has_value() || !captured.IsAt(value)) {
      change = Change::kMoved;
    } else if (captured.is_written && captured.size > 0 && !value.CanWriteInPlace()) {
      change = Change::kShared;
    } else {
      change = CheckFrom(next + 1, enqueue);
    }
    return absl::OkStatus();
  }));
  return change;
}

}  // namespace tessera
