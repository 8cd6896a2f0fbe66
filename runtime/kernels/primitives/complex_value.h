// The value of a scalar of any numeric dtype.
#pragma once

#include <complex>

#include "absl/status/statusor.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Returns the value. Requires a tensor with one element, in memory that the host may access.
// Errors: those of VisitNumericType().
inline absl::StatusOr<std::complex<double>> ComplexValueOf(const Tensor& scalar) {
  std::complex<double> value;
  RETURN_IF_ERROR(VisitNumericType(scalar.dtype(), [&]<typename T>() -> absl::Status {
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      value = std::complex<double>(scalar.scalar<T>());
    } else {
      value = static_cast<double>(scalar.scalar<T>());
    }
    return absl::OkStatus();
  }));
  return value;
}

}  // namespace tessera
