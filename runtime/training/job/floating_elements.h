// The elements of tensors of floating point, whichever type they are of.
#pragma once

#include "Eigen/Core"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Calls `visit` with the elements, a span of float, double, Eigen::half or Eigen::bfloat16, in host
// memory. Returns false, and calls nothing, for a tensor of another type.
template <typename Visit>
bool VisitFloatingElements(const Tensor& tensor, Visit visit) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      visit(tensor.flat<float>());
      return true;
    case DType::kDouble:
      visit(tensor.flat<double>());
      return true;
    case DType::kHalf:
      visit(tensor.flat<Eigen::half>());
      return true;
    case DType::kBfloat16:
      visit(tensor.flat<Eigen::bfloat16>());
      return true;
    default:
      return false;
  }
}

}  // namespace tessera
