// Execution plans of cuDNN's graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/primitives/cuda/cudnn_graph.h"

namespace tessera::cuda {

// The GPU that a plan is for.
struct PlanTarget {
  cudnnHandle_t handle = nullptr;
  // Instead of a handle, the properties of a GPU that need not be there. Such a plan cannot be run,
  // but shows what cuDNN takes.
  cudnnBackendDescriptor_t properties = nullptr;
};

struct PlanLimits {
  // True if operands of float may not be rounded to fewer bits.
  bool exact = false;
  size_t workspace_size = 0;
};

// Returns the first plan that cuDNN's heuristics propose within the limits, and that gives the same
// bits in every run; none if there is none.
absl::StatusOr<std::optional<Descriptor>> ChoosePlan(const CudnnGraph& graph,
                                                     const PlanTarget& target,
                                                     const PlanLimits& limits);

// The tensors of a graph: their numbers, and where they lie. Scalars lie in host memory.
struct Bindings {
  std::vector<int64_t> ids;
  std::vector<const void*> data;

  void Add(int64_t id, const void* address) {
    ids.push_back(id);
    data.push_back(address);
  }
};

// Enqueues a plan for the stream of the handle.
absl::Status ExecutePlan(const Cudnn& cudnn, cudnnHandle_t handle, const Descriptor& plan,
                         void* workspace, const Bindings& bindings);

}  // namespace tessera::cuda
