#include "runtime/kernels/truth.h"

#include <algorithm>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"

namespace tessera {

absl::StatusOr<bool> IsTrue(const Tensor& tensor) {
  if (tensor.dtype() == DType::kBool && tensor.num_elements() == 1 && tensor.rank() == 0) {
    return tensor.scalar<bool>();
  }
  if (tensor.rank() > 0) return tensor.num_elements() > 0;
  switch (tensor.dtype()) {
    case DType::kString:
      return !tensor.scalar<std::string>().empty();
    case DType::kFloat:
      return tensor.scalar<float>() != 0;
    case DType::kDouble:
      return tensor.scalar<double>() != 0;
    case DType::kHalf:
      return tensor.scalar<Eigen::half>() != Eigen::half(0);
    case DType::kBfloat16:
      return tensor.scalar<Eigen::bfloat16>() != Eigen::bfloat16(0);
    default:
      break;
  }
  if (!IsInteger(tensor.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", DTypeName(tensor.dtype()), " is neither true nor false"));
  }
  const char* const bytes = tensor.raw();
  return std::any_of(bytes, bytes + tensor.size_bytes(), [](char byte) { return byte != 0; });
}

}  // namespace tessera
