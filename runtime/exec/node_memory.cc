#include "runtime/exec/node_memory.h"

#include "runtime/graph/function.h"

namespace tessera {

bool IsOnHost(const Node& node) { return node.attrs().contains(kOnHost); }

absl::StatusOr<KernelMemory> MemoryOfNode(const Graph& graph, const Node& node,
                                          const Device& device, const BoundaryMemory& boundary) {
  KernelMemory memory;
  const auto fill = [&](bool on_host) {
    for (DType type : node.input_types()) {
      memory.inputs.push_back(on_host ? MemoryKind::kHost : device.KindOf(RemoveRef(type)));
    }
    for (DType type : node.output_types()) {
      memory.outputs.push_back(on_host ? MemoryKind::kHost : device.KindOf(RemoveRef(type)));
    }
    return memory;
  };
  if (device.memory_kind() == MemoryKind::kHost) return fill(/*on_host=*/true);
  if (node.IsOp("_Arg") || node.IsOp("_DeviceArg")) return fill(boundary.args_on_host);
  if (node.IsOp("_Retval") || node.IsOp("_DeviceRetval")) return fill(boundary.results_on_host);
  if (node.IsOp("Const")) return fill(/*on_host=*/false);
  if (node.IsOp("HostConst") || IsOnHost(node)) return fill(/*on_host=*/true);
  if (graph.library() != nullptr && graph.library()->Contains(node.op_name())) {
    return fill(/*on_host=*/false);
  }
  const absl::StatusOr<const KernelDef*> kernel =
      KernelRegistry::Global().Find(node.op_name(), device.type(), node.attrs());
  if (!kernel.ok()) return fill(/*on_host=*/true);
  return MemoryOf(**kernel, node.op(), node.attrs(), node.input_types(), node.output_types(),
                  device);
}

}  // namespace tessera
