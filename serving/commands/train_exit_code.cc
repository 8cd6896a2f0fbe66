#include "serving/commands/train_exit_code.h"

#include <optional>

#include "runtime/training/job/failure.h"

namespace tessera::serving {

int TrainExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kTrainDone;
  const std::optional<RunFailure> failure = FailureOf(status);
  if (!failure) return kTrainFailed;
  switch (*failure) {
    case RunFailure::kFolderInUse:
      return kTrainFolderInUse;
    case RunFailure::kNotFinite:
      return kTrainNotFinite;
    case RunFailure::kData:
      return kTrainBadData;
    case RunFailure::kCheckpoint:
      return kTrainBadCheckpoint;
    case RunFailure::kWrite:
      return kTrainWriteFailed;
    case RunFailure::kStepTimeout:
      return kTrainStepTimeout;
  }
  return kTrainFailed;
}

}  // namespace tessera::serving
