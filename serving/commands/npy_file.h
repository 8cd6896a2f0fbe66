// Arrays that numpy.save() wrote.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tessera::serving {

// The array in the bytes of a .npy file, of format version 1 to 3. Arrays of numbers and bools in
// either byte order and either memory order; of fixed-width byte strings ("S5") as string tensors,
// without their padding.
//
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// Errors: INVALID_ARGUMENT for what is no such file or is cut short; UNIMPLEMENTED for other
// element types.
absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes);

}  // namespace tessera::serving
