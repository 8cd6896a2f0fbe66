// Constants of kernels, in the memory of the kernel's device.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/device.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Moves *constant from host memory to where `device` keeps values of its dtype; null is the host.
// For OpKernel::Prepare(): work that is enqueued later finds the value there.
// Errors: RESOURCE_EXHAUSTED.
absl::Status MoveToDevice(Device* device, Tensor* constant);

}  // namespace tessera
