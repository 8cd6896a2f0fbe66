// Several parts that run as one.
#pragma once

#include <memory>
#include <vector>

#include "runtime/exec/executor.h"

namespace tessera {

// How parts that run at once find each other's tensors.
enum class PartsMeet {
  kInStep,  // in the step's rendezvous, which then must be one that no other run uses
  kInCall,  // in a rendezvous of each run's own, as calls of functions need that run side by side
};

// One executor for all parts of a plan. Arguments and results are numbered across the parts; each
// belongs to one. A part that fails ends the others. Requires a part at least.
std::unique_ptr<Executor> MakePartitionedExecutor(std::vector<std::unique_ptr<Executor>> parts,
                                                  PartsMeet meet);

}  // namespace tessera
