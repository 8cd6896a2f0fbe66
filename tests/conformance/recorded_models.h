// Recorded Predict requests on SavedModels, and TensorFlow's answers. Format: tests/data/README.md.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/saved_model.h"
#include "runtime/session/session.h"

namespace tessera {

struct Recording {
  std::string name;   // "bert_tiny/1"
  std::string model;  // directory of the SavedModel
  std::string cases;  // directory of the cases
};

// A request as a session takes it. `fetches` are of the outputs that were recorded, in the order of
// their names, which are `outputs`.
struct RecordedRun {
  std::vector<NamedTensor> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> outputs;
  std::vector<Tensor> answers;
};

// The recorded versions of the models in `directory` whose names match one of `patterns`, which may
// have wildcards; all of them if there are no patterns.
absl::StatusOr<std::vector<Recording>> FindRecordings(const std::string& directory,
                                                      const std::vector<std::string>& patterns);

// The paths of the Predict requests of a recording, without ".request.pb". Errors: DATA_LOSS for a
// damaged manifest.
absl::StatusOr<std::vector<std::string>> PredictRequests(const Recording& recording);

// Reads the request of this path, and its answer. Errors: NOT_FOUND for a name that the model does
// not have; those of reading the files.
absl::StatusOr<RecordedRun> ReadRun(const SavedModelBundle& bundle, const std::string& request);

// Loads the model with `options` and runs its cases, each four times unless the model has state.
// `metadata`, unless null, gets the statistics of all runs.
// Errors: DATA_LOSS with the first difference; whatever loading and running give.
absl::Status ReplayModel(const Recording& recording, const SessionOptions& options,
                         tensorflow::RunMetadata* metadata = nullptr);

}  // namespace tessera
