// Kernels of nodes that call a function.
#pragma once

#include <memory>

#include "runtime/framework/kernel.h"

namespace tessera {

// Calls `function` with the node's inputs; its results are the outputs. Asynchronous if the
// function may wait. For nodes whose op is itself a function of the graph's library.
std::unique_ptr<OpKernel> MakeCallKernel(const CallableFunction* function);

}  // namespace tessera
