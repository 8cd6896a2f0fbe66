// Outputs whose length is known only when everything has been found.
#pragma once

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Makes output i a vector of these values, which are converted to Out.
template <typename Out, typename T>
absl::Status WriteVector(KernelContext& ctx, int i, const std::vector<T>& values) {
  ASSIGN_OR_RETURN(Tensor* const output,
                   ctx.AllocateOutput(i, Shape{static_cast<int64_t>(values.size())}));
  Out* to = output->data<Out>();
  for (const T& value : values) *to++ = Out(value);
  return absl::OkStatus();
}

// Makes output i the row splits of rows of these lengths, as int32 or int64.
template <typename Out>
absl::Status WriteSplits(KernelContext& ctx, int i, const std::vector<int64_t>& lengths) {
  ASSIGN_OR_RETURN(Tensor* const output,
                   ctx.AllocateOutput(i, Shape{static_cast<int64_t>(lengths.size()) + 1}));
  Out* const splits = output->data<Out>();
  splits[0] = 0;
  for (size_t row = 0; row < lengths.size(); ++row) {
    splits[row + 1] = static_cast<Out>(splits[row] + lengths[row]);
  }
  return absl::OkStatus();
}

}  // namespace tessera
