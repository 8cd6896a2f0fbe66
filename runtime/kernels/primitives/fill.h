// Sets all elements of a tensor to one value.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct Fill {
  // Sets all elements of *output to the single element of `value`, which has the same dtype and
  // lies in the memory of the device as well. Without a value they become zero bits, or empty
  // objects.
  using Function = absl::Status(KernelContext& ctx, const Tensor* value, Tensor* output);
};

}  // namespace tessera
