// How far a computed tensor may be from the recorded one.
#pragma once

#include <string>

#include "absl/types/optional.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// |got - want| <= atol + rtol * |want|. What is not given has the default of the dtype: 1e-5 for
// float and complex64, 1e-12 for double and complex128, 1e-2 for half and bfloat16.
struct Tolerance {
  absl::optional<double> rtol;
  absl::optional<double> atol;
};

// Empty if `got` is what was recorded, else the first difference in words. Dtypes and shapes must
// be equal; NaN matches NaN; infinities, integers, bools, strings and quantised numbers must be
// equal; complex numbers are compared by the modulus of the difference.
std::string FirstDifference(const Tensor& got, const Tensor& want, const Tolerance& tolerance);

}  // namespace tessera
