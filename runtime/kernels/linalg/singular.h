// Matrices that have no inverse.
#pragma once

#include "absl/status/status.h"

namespace tessera {

// Returns true if a pivot of the factors, which stand on the diagonal, is 0 or NaN.
template <typename Factors>
bool IsSingular(const Factors& lu) {
  return !(lu.diagonal().cwiseAbs().minCoeff() > 0.0);
}

inline absl::Status SingularError() {
  return absl::InvalidArgumentError("the matrix is not invertible");
}

}  // namespace tessera
