// Setting all elements of a tensor to one value.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct Fill {
  // Sets all elements of *output to the one element of `value`, which is of the same dtype and lies
  // in the memory of the device too. Without a value they become zero bits, or empty objects.
  using Function = absl::Status(KernelContext& ctx, const Tensor* value, Tensor* output);
};

}  // namespace tessera
