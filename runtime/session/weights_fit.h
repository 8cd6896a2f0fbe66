// Whether the weights of a model fit into the memory of a session's accelerators.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/framework/device.h"

namespace tessera {

// Compares the numeric tensors of the checkpoint `prefix` with what is free on those of the devices
// that have memory of their own and a limit. To be asked before anything is uploaded: two versions
// that do not fit together then leave the first alone. OK if there are no such devices.
// Errors: RESOURCE_EXHAUSTED, saying what is needed and what is free; those of CheckpointReader.
absl::Status CheckWeightsFit(const std::string& prefix, const std::vector<const Device*>& devices);

}  // namespace tessera
