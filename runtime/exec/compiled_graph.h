// The first half of compiling, common to both executors: a graph's nodes in order, with kernels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/executor.h"
#include "runtime/framework/kernel.h"
#include "runtime/graph/graph.h"

namespace tessera {

// The way in which an executor runs a node.
enum class NodeRole : uint8_t {
  kKernel,          // run its kernel
  kConst,           // hand out a tensor known since compiling
  kArg,             // hand out an argument of the run
  kRetval,          // put its input into the run's results
  kNoOp,            // nothing: it exists for its control edges
  kMerge,           // as kKernel, but ready with its first live input
  kEnter,           // as kKernel; the output goes into a child frame
  kExit,            // as kKernel; the output goes to the parent frame
  kNextIteration,   // as kKernel; the output goes to the next iteration
  kControlTrigger,  // nothing; runs even if its inputs are dead
  kTransfer,        // as kKernel; runs even if its inputs are dead (Send, Recv)
};

NodeRole RoleOf(const Node& node);

struct CompiledNode {
  const Node* node = nullptr;  // of the graph; only while the graph lives
  NodeRole role = NodeRole::kKernel;
  std::shared_ptr<OpKernel> kernel;  // of kKernel and the roles that say "as kKernel"
  Tensor value;                      // of kConst, in the memory where its users want it
  // The memory kinds of a kernel's outputs; empty if all are host memory.
  std::vector<MemoryKind> output_kinds;
  int index = 0;  // of kArg and kRetval
};

// The names of a node in messages and statistics.
struct NodeLabel {
  std::string name;
  std::string op;
};

struct CompiledGraph {
  std::vector<CompiledNode> nodes;  // in topological order
  int num_args = 0;                 // one more than the largest index
  int num_results = 0;
  // Empty if the graph can run straight through, else the node that needs the dataflow executor.
  std::string needs_dataflow;
  bool may_wait = false;  // some kernel is asynchronous
};

// Errors: see Compile().
absl::StatusOr<CompiledGraph> CreateKernels(const Graph& graph, const CompileOptions& options);

// How the error of a node is reported: `status` with "{{node NAME}} " in front of its message.
absl::Status AtNode(absl::string_view node_name, const absl::Status& status);

}  // namespace tessera
