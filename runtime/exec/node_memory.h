// In which memory a node takes and gives its values.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/framework/device.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/graph/graph.h"

namespace tessera {

// The attribute of nodes of a device's part which the host computes, from values in host memory.
// They are marked by KeepShapeArithmeticOnHost().
inline constexpr absl::string_view kOnHost = "_on_host";
bool IsOnHost(const Node& node);

// The memory kinds of a graph's arguments and results: those of a session's run in host memory,
// those of a function where the caller's device keeps values of their dtype.
struct BoundaryMemory {
  bool args_on_host = true;
  bool results_on_host = true;
};

// The memory kinds of all inputs and outputs of a node that runs on `device`: what its kernel's
// registration says, and for nodes that have no kernel of a registry:
//   _Arg, _Retval           see BoundaryMemory
//   Const                   Device::KindOf(): its value is there before the first run
//   HostConst, kOnHost      host memory
//   calls of a function     Device::KindOf()
// A node without any kernel is taken for one that works in host memory: compiling it will fail.
// Errors: those of MemoryOf().
absl::StatusOr<KernelMemory> MemoryOfNode(const Graph& graph, const Node& node,
                                          const Device& device, const BoundaryMemory& boundary);

}  // namespace tessera
