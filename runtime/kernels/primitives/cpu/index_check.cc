#include "runtime/kernels/primitives/cpu/index_check.h"

#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/index_type.h"

namespace tessera {

std::string PositionText(const Shape& shape, int rank, int64_t i) {
  std::string text;
  for (int d = rank - 1; d >= 0; --d) {
    text = absl::StrCat(i % shape.dim(d), text.empty() ? "" : ",", text);
    i /= shape.dim(d);
  }
  return absl::StrCat("[", text, "]");
}

absl::Status CheckIndices(const Tensor& indices, int64_t limit) {
  return VisitIndexType(indices.dtype(), [&]<typename Index>() -> absl::Status {
    const auto values = indices.flat<Index>();
    // The unsigned comparison covers negative indices. The loop is vectorised because it has no
    // branch.
    bool bad = false;
    for (Index value : values) {
      bad |= static_cast<uint64_t>(static_cast<int64_t>(value)) >= static_cast<uint64_t>(limit);
    }
    if (!bad) return absl::OkStatus();
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t value = static_cast<int64_t>(values[i]);
      if (value < 0 || value >= limit) {
        return absl::InvalidArgumentError(absl::StrCat(
            "indices", indices.rank() == 0 ? "" : PositionText(indices.shape(), indices.rank(), i),
            " = ", value, " is not in [0, ", limit, ")"));
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace tessera
