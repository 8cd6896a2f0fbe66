// Saves the run, every some steps or seconds and at its end.
#pragma once

#include <functional>
#include <memory>

#include "runtime/training/job/hook.h"

namespace tessera {

namespace training {
class CheckpointHook;
}  // namespace training

// `save` writes a checkpoint of the current step.
std::unique_ptr<Hook> MakeCheckpointHook(const training::CheckpointHook& spec,
                                         std::function<absl::Status(int64_t step)> save);

}  // namespace tessera
