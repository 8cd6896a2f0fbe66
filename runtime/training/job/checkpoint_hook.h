// Saves the run, every some steps or seconds and at its end.
#pragma once

#include <functional>
#include <memory>

#include "runtime/training/job/hook.h"

namespace tessera {

namespace training {
class CheckpointHook;
}  // namespace training

// The functions with which the hook does its work.
struct CheckpointCalls {
  // Saves the step, or, if the job's checkpoints are asynchronous, begins to. Waits for the save
  // before, and returns its error if it failed.
  std::function<absl::Status(int64_t step)> save;
  // Whether the data have moved on since the last save although no step came: the read after the
  // last step of an epoch tells its end.
  std::function<bool()> have_data_moved;
  // Returns the error of a save that has ended since; waits for one that is under way if `wait`.
  std::function<absl::Status(bool wait)> finish;
};

// After End() everything is written.
std::unique_ptr<Hook> MakeCheckpointHook(const training::CheckpointHook& spec,
                                         CheckpointCalls calls);

}  // namespace tessera
