// Runs a graph node by node on the calling thread.
#pragma once

#include <memory>

#include "runtime/exec/executor.h"
#include "runtime/exec/straight_program.h"

namespace tessera {

// The executor of a laid-out program. A run takes no lock and no memory of its own beyond what
// kernels ask for: its slots come from a pool. The step's deadline and cancellation are looked at
// before every node that is expensive, and when the run starts.
// `device` must outlive it.
std::unique_ptr<Executor> MakeStraightExecutor(StraightProgram program, Device* device);

}  // namespace tessera
