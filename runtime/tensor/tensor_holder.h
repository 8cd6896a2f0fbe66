// Values that hold tensors, which may lie in the memory of a device.
#pragma once

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "runtime/tensor/variant.h"

namespace tessera {

// Implemented by a VariantValue whose tensors move with it from one memory to another. A Variant
// itself is always in host memory.
class TensorHolder {
 public:
  using Move = absl::FunctionRef<absl::StatusOr<Tensor>(const Tensor&)>;

  virtual ~TensorHolder() = default;
  // Returns a copy of the value that holds move(t) for each of its tensors t. `move` is called for
  // tensors with a value only. Errors: those of `move`.
  virtual absl::StatusOr<std::shared_ptr<VariantValue>> Moved(Move move) const = 0;
};

}  // namespace tessera
