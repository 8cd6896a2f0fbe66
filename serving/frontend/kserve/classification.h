// The classification extension of KServe's protocol: an output as its largest values.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tessera::serving {

// The parameter of an output that asks for it, whose value is the number of classes.
inline constexpr absl::string_view kClassification = "classification";

// Errors: INVALID_ARGUMENT if the elements of an output are no real numbers.
absl::Status CheckClassification(absl::string_view output, DType dtype);

// Returns the `classes` largest elements as strings "VALUE:INDEX", the largest first and equal ones
// by index, in the shape [classes], or [n] of a tensor of fewer elements. All elements count as one
// vector, as Triton counts them for models without a batch dimension. A value is printed with six
// decimals; NaN comes last. Requires CheckClassification() and classes > 0.
absl::StatusOr<Tensor> Classification(const Tensor& scores, int64_t classes);

}  // namespace tessera::serving
