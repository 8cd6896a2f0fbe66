// Recorded Predict requests on SavedModels, and TensorFlow's answers. Format: tests/data/README.md.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/session.h"

namespace tessera {

struct Recording {
  std::string name;   // "bert_tiny/1"
  std::string model;  // directory of the SavedModel
  std::string cases;  // directory of the cases
};

// The recorded versions of the models in `directory` whose names match one of `patterns`, which may
// have wildcards; all of them if there are no patterns.
absl::StatusOr<std::vector<Recording>> FindRecordings(const std::string& directory,
                                                      const std::vector<std::string>& patterns);

// Loads the model with `options` and runs its cases, each four times unless the model has state.
// `metadata`, unless null, gets the statistics of all runs.
// Errors: DATA_LOSS with the first difference; whatever loading and running give.
absl::Status ReplayModel(const Recording& recording, const SessionOptions& options,
                         tensorflow::RunMetadata* metadata = nullptr);

}  // namespace tessera
