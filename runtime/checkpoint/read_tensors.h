// Reads many tensors of a checkpoint at once.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Returns the tensors of these names in their order, read by as many threads as there are cores.
// They alias the mapped files where they can. Errors: those of CheckpointReader::Read(), for the
// first name that has one.
absl::StatusOr<std::vector<Tensor>> ReadTensors(const CheckpointReader& checkpoint,
                                                absl::Span<const std::string> names);

}  // namespace tessera
