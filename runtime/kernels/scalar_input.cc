#include "runtime/kernels/scalar_input.h"

#include "absl/strings/str_cat.h"
#include "runtime/kernels/index_input.h"

namespace tessera {

absl::StatusOr<int64_t> ReadIntegerOfScalar(const Tensor& tensor, absl::string_view name) {
  if (!tensor.shape().IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a scalar, has shape ", tensor.shape().ToString()));
  }
  return ReadIndexScalar(tensor, name);
}

}  // namespace tessera
