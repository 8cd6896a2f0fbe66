#include "runtime/kernels/row_splits.h"

#include <limits>

#include "runtime/base/status.h"

namespace tessera {

absl::StatusOr<std::vector<int64_t>> ReadRowSplits(const Tensor& tensor, int64_t num_values,
                                                   absl::string_view name) {
  const bool wide = tensor.dtype() == DType::kInt64;
  if (tensor.rank() != 1 || tensor.dim(0) < 1 || (!wide && tensor.dtype() != DType::kInt32)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a vector of at least one split, is ",
                     DTypeName(tensor.dtype()), tensor.shape().ToString()));
  }
  std::vector<int64_t> splits(tensor.dim(0));
  for (size_t i = 0; i < splits.size(); ++i) {
    splits[i] = wide ? tensor.data<int64_t>()[i] : tensor.data<int32_t>()[i];
    if (i == 0 ? splits[i] != 0 : splits[i] < splits[i - 1]) {
      return absl::InvalidArgumentError(absl::StrCat(name, "[", i, "] = ", splits[i],
                                                     ": splits must begin with 0 and never fall"));
    }
  }
  if (num_values >= 0 && splits.back() != num_values) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " end with ", splits.back(), ", there are ", num_values, " values"));
  }
  return splits;
}

absl::Status WriteRowSplits(absl::Span<const int64_t> splits, Tensor* output) {
  if (output->dtype() == DType::kInt64) {
    std::copy(splits.begin(), splits.end(), output->data<int64_t>());
    return absl::OkStatus();
  }
  for (size_t i = 0; i < splits.size(); ++i) {
    if (splits[i] > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError("row splits do not fit in int32: set Tsplits to int64");
    }
    output->data<int32_t>()[i] = static_cast<int32_t>(splits[i]);
  }
  return absl::OkStatus();
}

}  // namespace tessera
