// The CPU's kernel of a node, in the program of another device.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Returns a kernel that runs the CPU's kernel of the node on inputs in host memory, and leaves its
// outputs there. For nodes without state that call no functions. Errors: those of CreateKernel().
absl::StatusOr<std::unique_ptr<OpKernel>> MakeHostKernel(const KernelBuild& build);

}  // namespace tessera
