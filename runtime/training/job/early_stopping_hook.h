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

// `end` must outlive the hook. A checkpoint keeps the best value and how long it has been so.
std::unique_ptr<Hook> MakeEarlyStoppingHook(const training::EarlyStoppingHook& spec, RunEnd* end);

}  // namespace tessera
