// The exit codes of `tessera train`, which docs/training.md lists.
#pragma once

#include "absl/status/status.h"

namespace tessera::serving {

enum TrainExitCode {
  kTrainDone = 0,           // also: stopped by a signal or a hook, after a checkpoint
  kTrainFailed = 1,         // any other failure
  kTrainUsage = 2,          // wrong arguments
  kTrainBadJob = 3,         // the job's file is wrong, or does not fit its graph and data
  kTrainFolderInUse = 4,    // another process trains in the folder
  kTrainNotFinite = 5,      // the loss is NaN or infinite
  kTrainBadData = 6,        // damaged or missing examples, or none at all
  kTrainBadCheckpoint = 7,  // the checkpoint is damaged, or does not fit the graph
  kTrainWriteFailed = 8,    // a checkpoint or another file could not be written
  kTrainStepTimeout = 9,    // a step, or the wait for its batch, took too long
};

// Returns the code for the result of a run.
int TrainExitCodeOf(const absl::Status& status);

}  // namespace tessera::serving
