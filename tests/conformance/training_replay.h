// Replays the recorded training of one folder. Format: tests/conformance/training_case.h.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "rapidjson/document.h"
#include "runtime/session/session.h"
#include "tests/conformance/tensor_compare.h"

namespace tessera {

// Errors: DATA_LOSS if the file does not parse.
absl::StatusOr<rapidjson::Document> ReadJson(const std::string& path);

// How all graphs are run: on one thread each, as they were recorded. A test may change it before it
// replays anything.
SessionOptions& TrainingSession();

// The tensors of feed_K.pb, by name.
absl::StatusOr<std::vector<NamedTensor>> ReadFeed(const std::string& directory, int64_t k);
// The tensors of a PredictResponse, by name.
absl::StatusOr<std::vector<NamedTensor>> ReadAnswer(const std::string& path);

// The largest absolute value of a real tensor, NaN if it has one; 0 for other dtypes and empty
// tensors.
double LargestElement(const Tensor& tensor);

// The value of a scalar of a real dtype.
absl::StatusOr<double> RealScalar(const Tensor& scalar);

// Errors: DATA_LOSS if the scalar is farther off than a loss may be after `step` steps.
absl::Status CheckLoss(const Tensor& loss, double want, int64_t step);
// Errors: DATA_LOSS, naming the tensor, if an element is off by more than `tolerance` times the
// largest absolute value of `want`.
absl::Status CheckTensor(const std::string& name, const Tensor& got, const Tensor& want,
                         double tolerance);

// A curve with one optimizer, a graph without gradients, the gradients that AddGradients() makes
// for it, a SavedModel.
absl::Status ReplayMetaGraph(const std::string& directory, const rapidjson::Document& info,
                             const std::string& optimizer);
absl::Status ReplayForward(const std::string& directory, const rapidjson::Document& info);
absl::Status ReplayGradients(const std::string& directory, const rapidjson::Document& info);
absl::Status ReplayTrainedModel(const std::string& directory, const rapidjson::Document& info);

// The same curves by MakeTrainingProgram(), from the graph with its train op, from the graph
// without gradients, and from a SavedModel.
bool IsOptimizerType(const std::string& optimizer);  // of training::OptimizerSpec
absl::Status ReplayMetaGraphProgram(const std::string& directory, const rapidjson::Document& info,
                                    const std::string& optimizer);
absl::Status ReplayForwardProgram(const std::string& directory, const rapidjson::Document& info,
                                  const std::string& optimizer);
absl::Status ReplaySavedModelProgram(const std::string& directory, const rapidjson::Document& info);

}  // namespace tessera
