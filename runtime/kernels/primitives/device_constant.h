// Constants of kernels, in the memory of the kernel's device.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/device.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Moves *constant from host memory to the memory in which `device` keeps values of its dtype. A
// null device is the host. OpKernel::Prepare() calls this, and work that is enqueued later finds
// the value there.
// Errors: RESOURCE_EXHAUSTED.
absl::Status MoveToDevice(Device* device, Tensor* constant);

}  // namespace tessera
