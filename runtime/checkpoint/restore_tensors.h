// Reads those tensors of a checkpoint that a program has variables for.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A tensor that a checkpoint must have.
struct ExpectedTensor {
  std::string key;
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

// Returns the tensors in the order of `expected`, read by as many threads as there are cores. They
// alias the mapped files where they can. What else the checkpoint holds is ignored. Errors:
// INVALID_ARGUMENT with the first tensors that are missing, or have another dtype or shape, both
// shapes being named, before anything is read; those of CheckpointReader::Read().
absl::StatusOr<std::vector<Tensor>> RestoreTensors(const CheckpointReader& checkpoint,
                                                   absl::Span<const ExpectedTensor> expected);

}  // namespace tessera
