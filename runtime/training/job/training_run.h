// RunTraining: a job's run in its folder, from the first step or the last checkpoint to the end.
#pragma once

#include "absl/status/status.h"
#include "runtime/training/job/prepared_job.h"
#include "runtime/training/job/run_control.h"
#include "runtime/training/job/run_log.h"

namespace tessera {

// Steps are numbered from 1. After a step come the hooks, then the evaluation if one is due, then
// the checkpoint if one is due, so that a checkpoint has all that belongs to its step: a resumed
// run goes on as if it had not been interrupted.
//
//   ASSIGN_OR_RETURN(PreparedJob prepared, PrepareJob(job, base_folder, &errors));
//   RunControl control;
//   RETURN_IF_ERROR(RunTraining(std::move(prepared), &observer, &control));
//
// Returns OK also for a run that was stopped, by RunControl::Stop() or a hook, after its checkpoint
// was written. Errors carry a RunFailure where one fits. A failed run leaves the checkpoints that
// it wrote before. `observer` may be null; `control` must outlive the call.
absl::Status RunTraining(PreparedJob prepared, RunObserver* observer, RunControl* control);

}  // namespace tessera
