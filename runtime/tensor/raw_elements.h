// Bytes from outside as elements of a tensor.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "runtime/tensor/dtype.h"

namespace tessera {

// The integer of a sub-byte dtype (int4, uint4, int2, uint2) that the low bits of `value` make,
// sign-extended if the type is signed.
int8_t NarrowInt(DType dtype, int32_t value);

// True if every element of these bytes is a value of its type. Of most types any bytes are; a bool
// is 0 or 1 (to C++, anything else is undefined behaviour wherever it is read), and a sub-byte
// integer is in its range.
bool AreElements(DType dtype, absl::string_view bytes);

// Copies the bytes to `out`, making values of what is none: true of a bool that is not 0, the low
// bits of a sub-byte integer. Requires a trivially copyable dtype and bytes.size() bytes at `out`.
void CopyElements(DType dtype, absl::string_view bytes, char* out);

}  // namespace tessera
