// Ends the run after a time.
#pragma once

#include <memory>

#include "absl/time/time.h"
#include "runtime/training/job/hook.h"
#include "runtime/training/job/run_end.h"

namespace tessera {

// The run ends, to be resumed later, `after` the creation of the hook. `end` must outlive the hook.
std::unique_ptr<Hook> MakeStopHook(absl::Duration after, RunEnd* end);

}  // namespace tessera
