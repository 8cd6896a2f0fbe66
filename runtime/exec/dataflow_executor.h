// Runs nodes as their inputs come.
#pragma once

#include <memory>

#include "runtime/exec/dataflow_program.h"
#include "runtime/exec/executor.h"

namespace tessera {

// The executor for any graph: v1 loops and conditionals, asynchronous kernels, Send and Recv.
// Cheap nodes run on the thread that made them ready, expensive ones on the step's inter-op pool if
// it has one. `device` must outlive it.
std::unique_ptr<Executor> MakeDataflowExecutor(DataflowProgram program, Device* device);

}  // namespace tessera
