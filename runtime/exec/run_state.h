// What both executors do around a kernel.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Makes the value behind a reference edge fit for a kernel: with `read`, the variable's value
// becomes the slot's tensor.
// Errors: FAILED_PRECONDITION if the variable has no value and the op minds.
absl::Status PrepareRefInput(Value& value, bool read, bool may_be_uninitialized);

// Why the step must not go on: CANCELLED or DEADLINE_EXCEEDED; else OK.
absl::Status CheckGoingOn(const StepContext& step);

// Ends a step that has failed: kernels that wait are woken, the rendezvous gives `error`.
void FailStep(StepContext& step, const absl::Status& error);

// Of the errors in which the parts of a step end: keeps the first in *first, but for CANCELLED,
// with which the others end once one has failed.
inline void AddError(const absl::Status& error, absl::Status* first) {
  if (first->ok() || (absl::IsCancelled(*first) && !absl::IsCancelled(error))) *first = error;
}

inline bool HasValue(const Value& value) { return value.tensor.has_value() || value.ref; }

inline void Clear(Value& value) {
  // Moving out costs less than moving an empty tensor in.
  if (value.tensor.has_value()) Tensor(std::move(value.tensor));
  if (value.ref) value.ref.reset();
}

}  // namespace tessera
