// Reads arrays that numpy.save() has written.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tessera::serving {

// Returns the array in the bytes of a .npy file of format version 1 to 3. The elements may be
// numbers and bools, in either byte order, and the array in either memory order. Fixed-width
// strings of bytes ("S5") or characters ("U5", which become UTF-8) make string tensors without
// their padding, and elements of two bytes without a type ("V2") bfloat16, which numpy saves so.
//
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// Errors: INVALID_ARGUMENT if the bytes are no such file, or end early, or hold characters that
// UTF-8 lacks; UNIMPLEMENTED for other element types.
absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes);

}  // namespace tessera::serving
