#include "runtime/kernels/primitives/device_constant.h"

#include <utility>

#include "runtime/base/status.h"

namespace tessera {

absl::Status MoveToDevice(Device* device, Tensor* constant) {
  if (device == nullptr) return absl::OkStatus();
  const MemoryKind kind = device->KindOf(constant->dtype());
  if (IsHostAccessible(kind)) return absl::OkStatus();
  ASSIGN_OR_RETURN(Tensor moved,
                   Tensor::Allocate(constant->dtype(), constant->shape(), device->allocator(kind)));
  device->stream()->Copy(*constant, &moved);
  *constant = std::move(moved);
  return absl::OkStatus();
}

}  // namespace tessera
