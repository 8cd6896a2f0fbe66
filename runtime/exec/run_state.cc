#include "runtime/exec/run_state.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tessera {

absl::Status PrepareRefInput(Value& value, bool read, bool may_be_uninitialized) {
  if (!value.ref) return absl::InternalError("a reference edge carries no variable");
  if (read) {
    value.tensor = value.ref->Read();
    if (value.tensor.has_value() || may_be_uninitialized) return absl::OkStatus();
  } else if (may_be_uninitialized || value.ref->initialized()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("attempting to use an uninitialized value: ", value.ref->DebugString(),
                   " has none yet; run its initializer or restore a checkpoint first"));
}

void FailStep(StepContext& step, const absl::Status& error) {
  if (step.rendezvous != nullptr) step.rendezvous->Abort(error);
  if (step.cancellation != nullptr) step.cancellation->Cancel();
}

}  // namespace tessera
