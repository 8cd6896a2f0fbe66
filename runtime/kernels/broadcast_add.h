// Sums of shapes that differ, for fused ops, which seldom meet them.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/elementwise.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// a + b, broadcast and computed as AddV2 does.
class BroadcastAdd {
 public:
  // `build` gets an error if AddV2 does not take the dtype.
  BroadcastAdd(const KernelBuild& build, DType dtype)
      : dtype_(dtype),
        add_(Primitive<Elementwise>(build)(build, {.name = "AddV2", .dtype = dtype})) {}

  // Both have the constructor's dtype. Errors: INVALID_ARGUMENT for shapes that do not broadcast.
  absl::StatusOr<Tensor> Run(KernelContext& ctx, const Tensor& a, const Tensor& b) const;

 private:
  const DType dtype_;
  const std::unique_ptr<Elementwise> add_;
};

}  // namespace tessera
