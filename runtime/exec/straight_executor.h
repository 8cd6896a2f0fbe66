// Runs a graph node by node on the calling thread.
#pragma once

#include <memory>
#include <optional>

#include "runtime/exec/capture_plan.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/straight_program.h"

namespace tessera {

// Makes the executor of a program. A run takes no lock, and allocates only what its kernels ask
// for, because its slots come from a pool. It checks the deadline and the cancellation of the step
// when it starts and before each expensive node. `device` must outlive the executor.
//
// With a capture plan, for which the device must be a CapturingDevice, runs with arguments of
// shapes that came before are enqueued at once (CapturedRun).
std::unique_ptr<Executor> MakeStraightExecutor(StraightProgram program, Device* device,
                                               std::optional<CapturePlan> capture = std::nullopt);

}  // namespace tessera
