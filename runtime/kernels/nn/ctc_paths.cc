#include "runtime/kernels/nn/ctc_paths.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/vector_output.h"

namespace tessera {

absl::Status CheckCtcInputs(const KernelContext& ctx) {
  const Tensor& logits = ctx.input(0);
  const Tensor& lengths = ctx.input(1);
  if (logits.rank() != 3 || !(lengths.shape() == Shape{logits.dim(1)})) {
    return absl::InvalidArgumentError(absl::StrCat(
        "inputs must be logits [time, batch, classes] and lengths [batch], have shapes ",
        logits.shape().ToString(), " and ", lengths.shape().ToString()));
  }
  for (const int32_t length : lengths.flat<int32_t>()) {
    if (length < 0) {
      return absl::InvalidArgumentError(absl::StrCat("a sequence has length ", length));
    }
    if (length > logits.dim(0)) {
      return absl::FailedPreconditionError(
          absl::StrCat("a sequence of length ", length, " does not fit ", logits.dim(0), " steps"));
    }
  }
  return absl::OkStatus();
}

absl::Status WriteCtcPaths(KernelContext& ctx, int indices, int values, int shape,
                           const std::vector<std::vector<int64_t>>& paths) {
  int64_t total = 0, longest = 0;
  for (const auto& path : paths) {
    total += static_cast<int64_t>(path.size());
    longest = std::max(longest, static_cast<int64_t>(path.size()));
  }
  ASSIGN_OR_RETURN(Tensor* const at, ctx.AllocateOutput(indices, Shape{total, 2}));
  ASSIGN_OR_RETURN(Tensor* const classes, ctx.AllocateOutput(values, Shape{total}));
  int64_t n = 0;
  for (size_t b = 0; b < paths.size(); ++b) {
    for (size_t i = 0; i < paths[b].size(); ++i, ++n) {
      at->data<int64_t>()[2 * n] = static_cast<int64_t>(b);
      at->data<int64_t>()[2 * n + 1] = static_cast<int64_t>(i);
      classes->data<int64_t>()[n] = paths[b][i];
    }
  }
  return SetVectorOutput(ctx, shape, {static_cast<int64_t>(paths.size()), longest});
}

}  // namespace tessera
