// Assigns the fields of a batch to the inputs of a graph.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/training/pipeline/batch_source.h"
#include "runtime/training/program/training_program.h"

namespace tessera {

// Returns the index of the field that feeds each of `inputs`. Errors: INVALID_ARGUMENT for an input
// that no field feeds, with the fields that there are, or that its field does not fit by dtype or
// shape.
absl::StatusOr<std::vector<int>> MatchFields(const std::vector<BatchInput>& inputs,
                                             const std::vector<BatchField>& fields);

// The names of the tensors that a run feeds: the inputs, then the constants.
std::vector<std::string> FeedNames(const std::vector<BatchInput>& inputs,
                                   const std::vector<NamedTensor>& constants);

// Sets what a run feeds, in that order.
void SelectFeeds(const std::vector<int>& fields, const std::vector<Tensor>& batch,
                 const std::vector<NamedTensor>& constants, std::vector<Tensor>* feeds);

// Returns the number of rows of a batch; 0 for one without fields.
int64_t RowsOf(const std::vector<Tensor>& batch);

// Returns the mean of the elements of a loss. Errors: INVALID_ARGUMENT if it has none, or is not of
// a floating-point type.
absl::StatusOr<double> LossValue(const Tensor& loss);

}  // namespace tessera
