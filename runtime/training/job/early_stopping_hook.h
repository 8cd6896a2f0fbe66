// Ends the run when evaluations no longer become better.
#pragma once

#include <memory>
#include <string>

#include "runtime/training/job/hook.h"
#include "runtime/training/job/run_end.h"

namespace tessera {

namespace training {
class EarlyStoppingHook;
}  // namespace training

// Here `spec.higher_is_better` is false unless it is set: what the metric says is the caller's to
// fill in. `end` must outlive the hook. A checkpoint keeps the best value and how long it has been
// so, for this metric and direction alone.
std::unique_ptr<Hook> MakeEarlyStoppingHook(const training::EarlyStoppingHook& spec, RunEnd* end);

}  // namespace tessera
