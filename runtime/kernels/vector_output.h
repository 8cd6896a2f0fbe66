// Outputs that are vectors of values which the host computed.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Sets output i, whose memory kind is the host's, to a vector of `values`. Errors:
// RESOURCE_EXHAUSTED.
template <typename T>
absl::Status SetVectorOutput(KernelContext& ctx, int i, absl::Span<const T> values) {
  ASSIGN_OR_RETURN(Tensor* const output,
                   ctx.AllocateOutput(i, Shape{static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), output->data<T>());
  return absl::OkStatus();
}
template <typename T>
absl::Status SetVectorOutput(KernelContext& ctx, int i, std::initializer_list<T> values) {
  return SetVectorOutput(ctx, i, absl::MakeConstSpan(values.begin(), values.size()));
}

}  // namespace tessera
