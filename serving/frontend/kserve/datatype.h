// The datatypes and shapes of KServe's protocol, version 2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/shape.h"

namespace tessera::serving {

// Returns the protocol's name of a dtype: "FP32" of float, "BYTES" of string. Empty for a dtype
// that the protocol has no name for, such as complex64.
absl::string_view DatatypeOf(DType dtype);
// Returns the dtype of a name, which is case sensitive; kInvalid for an unknown one.
DType DTypeOfDatatype(absl::string_view datatype);

// Returns the dimensions as the protocol describes an input: -1 is any size. A shape of unknown
// rank is described as [-1], because the protocol has no word for it.
std::vector<int64_t> DescribedDims(const PartialShape& shape);
// Returns "[-1,3]" for error messages.
std::string DimsText(absl::Span<const int64_t> dims);

}  // namespace tessera::serving
