// The steps that both executors take before and after a kernel.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Prepares the value of a reference edge for a kernel. If `read` is true, the kernel takes a plain
// tensor, and the value of the variable becomes the tensor of the slot.
// Errors: FAILED_PRECONDITION if the variable is not initialised and must be.
absl::Status PrepareRefInput(Value& value, bool read, bool may_be_uninitialized);

// Ends a step that has failed: wakes the kernels that wait, and aborts the rendezvous with `error`.
void FailStep(StepContext& step, const absl::Status& error);

// Combines the errors in which the parts of a step end: keeps the first in *first, but for
// CANCELLED, with which the others end once one has failed.
inline void AddError(const absl::Status& error, absl::Status* first) {
  if (first->ok() || (absl::IsCancelled(*first) && !absl::IsCancelled(error))) *first = error;
}

inline bool HasValue(const Value& value) { return value.tensor.has_value() || value.ref; }

inline void Clear(Value& value) {
  // Moving the value out costs less than moving an empty tensor in.
  if (value.tensor.has_value()) Tensor(std::move(value.tensor));
  if (value.ref) value.ref.reset();
}

}  // namespace tessera
