// Ends the run when the loss is no finite number, before anything is saved.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/training/job/hook.h"

namespace tessera {

// Errors of the hook: OUT_OF_RANGE (RunFailure::kNotFinite), naming the step and where the run goes
// on. `locate` is asked for where the value came up first, and may be null.
std::unique_ptr<Hook> MakeNanHook(
    std::function<absl::StatusOr<std::string>(const StepResult& result)> locate);

}  // namespace tessera
