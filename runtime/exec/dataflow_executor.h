// Runs each node when its inputs have arrived.
#pragma once

#include <memory>

#include "runtime/exec/dataflow_program.h"
#include "runtime/exec/executor.h"

namespace tessera {

// Makes an executor that can run any graph: v1 loops and conditionals, asynchronous kernels, Send
// and Recv. Cheap nodes run on the thread that made them ready, expensive ones on the inter-op pool
// of the step if there is one. `device` must outlive the executor.
std::unique_ptr<Executor> MakeDataflowExecutor(DataflowProgram program, Device* device);

}  // namespace tessera
