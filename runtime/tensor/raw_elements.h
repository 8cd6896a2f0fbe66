// Bytes from outside the program as elements of a tensor.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "runtime/tensor/dtype.h"

namespace tessera {

// Returns the low bits of `value` as an integer of a sub-byte dtype (int4, uint4, int2, uint2),
// sign-extended if the type is signed.
int8_t NarrowInt(DType dtype, int32_t value);

// Returns whether each element of these bytes is a value of the dtype. Any bytes are for most
// dtypes. A bool must be 0 or 1, because reading any other value is undefined behaviour in C++, and
// a sub-byte integer must be in its range.
bool AreElements(DType dtype, absl::string_view bytes);

// Copies the bytes to `out`. Elements that are no value of the dtype become one: a bool that is not
// 0 becomes true, and a sub-byte integer keeps its low bits. Requires a trivially copyable dtype
// and bytes.size() bytes at `out`.
void CopyElements(DType dtype, absl::string_view bytes, char* out);

}  // namespace tessera
