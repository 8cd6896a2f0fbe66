// Random values for the inputs of a signature, for load that asks about speed and not about
// answers.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "serving/commands/signature_inputs.h"

namespace tessera::serving {

// Returns a tensor for each input without a default value: floats from 0 to 1, integers and bools 0
// or 1, so that they are valid as indices. An unknown first dimension becomes `batch_size`, other
// unknown dimensions 1; an input of unknown rank becomes a vector. The same inputs give the same
// values each time.
// Errors: INVALID_ARGUMENT for a dtype without random values, such as string; RESOURCE_EXHAUSTED
// for more than a gibibyte.
absl::StatusOr<std::map<std::string, Tensor>> RandomInputs(const SignatureInputs& signature,
                                                           int64_t batch_size);

}  // namespace tessera::serving
