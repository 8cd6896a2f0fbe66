// Outputs that are scalars which the host computed.
#pragma once

#include <utility>

#include "runtime/base/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Sets output i, whose memory kind is the host's, to a scalar of the dtype of T.
// Errors: RESOURCE_EXHAUSTED.
template <typename T>
absl::Status SetScalarOutput(KernelContext& ctx, int i, T value) {
  ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(i, DTypeOf<T>, Shape()));
  *output->data<T>() = std::move(value);
  return absl::OkStatus();
}

}  // namespace tessera
