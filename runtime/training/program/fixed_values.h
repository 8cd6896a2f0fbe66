// Values that a job gives for placeholders which no field of a batch feeds, such as is_training.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/map.h"
#include "runtime/training/program/training_program.h"

namespace tessera {

// Texts such as "true", "0.5" or "-3", by the name of a placeholder or of a signature's input.
struct FixedValues {
  const google::protobuf::Map<std::string, std::string>& texts;
  const char* block;  // their key in the job, for errors

  // Appends the value of an input to `constants`, if it has one, and returns whether it has. `name`
  // is that of a node or an alias, `input` is the tensor to feed.
  // Errors: INVALID_ARGUMENT for a text that is no value of the input's dtype, for dtypes other
  // than booleans, strings and real numbers, and for an input that cannot be a scalar.
  absl::StatusOr<bool> Take(const std::string& name, const BatchInput& input,
                            std::vector<NamedTensor>* constants) const;
};

// Makes constants of the placeholders of a graph that have a value. Errors: those of Take().
absl::Status ReplacePlaceholders(const FixedValues& values, Graph* graph);

}  // namespace tessera
