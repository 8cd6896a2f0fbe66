// Runs a graph node by node on the calling thread.
#pragma once

#include <memory>

#include "runtime/exec/executor.h"
#include "runtime/exec/straight_program.h"

namespace tessera {

// Makes the executor of a program. A run takes no lock, and allocates only what its kernels ask
// for, because its slots come from a pool. It checks the deadline and the cancellation of the step
// when it starts and before each expensive node. `device` must outlive the executor.
std::unique_ptr<Executor> MakeStraightExecutor(StraightProgram program, Device* device);

}  // namespace tessera
