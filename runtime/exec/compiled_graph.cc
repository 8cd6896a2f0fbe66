#include "runtime/exec/compiled_graph.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/exec/function_call.h"
#include "runtime/exec/host_kernel.h"
#include "runtime/exec/kernel_store.h"
#include "runtime/exec/missing_kernels.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/graph/control_flow_nodes.h"
#include "runtime/graph/function.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/graph/unknown_ops.h"

namespace tessera {
namespace {

// It waits for nothing but work of its own device, which comes by itself: a program may run
// straight through it.
bool IsCopy(const Node& node) { return node.IsOp("_CopyToHost"); }

bool NeedsDataflow(const CompiledNode& compiled) {
  switch (compiled.role) {
    case NodeRole::kMerge:
    case NodeRole::kEnter:
    case NodeRole::kExit:
    case NodeRole::kNextIteration:
      return true;
    case NodeRole::kKernel:
    case NodeRole::kTransfer:
      break;
    default:
      return false;
  }
  const Node& node = *compiled.node;
  return (compiled.kernel->IsAsync() && !IsCopy(node)) || IsBranch(node);
}

absl::Status CheckConnected(const Node& node) {
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (node.input(i).node == nullptr) {
      return AtNode(node.name(),
                    absl::InvalidArgumentError(absl::StrCat("input ", i, " of op ", node.op_name(),
                                                            " is not connected to any output")));
    }
  }
  return absl::OkStatus();
}

// A node whose op is a function: the op's attributes are the function's.
absl::StatusOr<std::unique_ptr<OpKernel>> MakeFunctionKernel(const Node& node,
                                                             const CompileOptions& options) {
  if (options.functions == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "function '", node.op_name(), "' cannot be called without a function runtime"));
  }
  FunctionRef ref{.name = node.op_name(), .attrs = {}};
  for (const AttrDef& attr : node.op().attrs) {
    auto it = node.attrs().find(attr.name);
    if (it != node.attrs().end()) ref.attrs.emplace(it->first, it->second);
  }
  ASSIGN_OR_RETURN(const CallableFunction* function,
                   options.functions->Instantiate(ref, {.device = options.device}));
  return MakeCallKernel(function);
}

bool IsShared(const Node& node, const CompileOptions& options) {
  return options.kernels != nullptr && node.is_stateful();
}

// The value of each input that is a constant, else null.
std::vector<const Tensor*> ConstantInputs(const Node& node) {
  std::vector<const Tensor*> constants(node.num_inputs(), nullptr);
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Node* from = node.input(i).node;
    // What only copies to where the kernel wants it hands on the same value.
    while (from->IsOp("_CopyToDevice") || from->IsOp("_CopyToHost")) from = from->input(0).node;
    if (!from->IsOp("Const") && !from->IsOp("HostConst")) continue;
    if (auto it = from->attrs().find("value"); it != from->attrs().end()) {
      constants[i] = it->second.get<Tensor>();
    }
  }
  return constants;
}

absl::StatusOr<std::shared_ptr<OpKernel>> MakeKernel(const Graph& graph, const Node& node,
                                                     const CompileOptions& options) {
  auto make = [&]() -> absl::StatusOr<std::unique_ptr<OpKernel>> {
    if (graph.library() != nullptr && graph.library()->Contains(node.op_name())) {
      return MakeFunctionKernel(node, options);
    }
    KernelBuild::Surroundings surroundings;
    surroundings.numerics = options.numerics;
    // Other programs, which feed other inputs, share the kernels of stateful nodes.
    if (!IsShared(node, options)) surroundings.constant_inputs = ConstantInputs(node);
    const KernelBuild build(node.op(), node.name(), node.attrs(), node.input_types(),
                            node.output_types(), options.device, options.functions,
                            std::move(surroundings));
    if (IsOnHost(node)) return MakeHostKernel(build);
    ASSIGN_OR_RETURN(std::unique_ptr<OpKernel> kernel, CreateKernel(build));
    RETURN_IF_ERROR(kernel->Prepare({.device = options.device, .pool = options.pool}));
    return kernel;
  };
  if (IsShared(node, options)) return options.kernels->FindOrMake(node, options.device, make);
  ASSIGN_OR_RETURN(std::unique_ptr<OpKernel> kernel, make());
  return std::shared_ptr<OpKernel>(std::move(kernel));
}

// Notes a node that has no kernel in `missing`. False if it has one.
bool NoteIfMissing(const Graph& graph, const Node& node, absl::string_view device_type,
                   MissingKernels* missing) {
  // What turned the node into an unknown op, or could not expand it, may have said why.
  const std::string reason = node.attr<std::string>("_unsupported").value_or("");
  if (node.IsOp(kUnsupportedOp)) {
    absl::StatusOr<std::string> op = node.attr<std::string>("_op");
    missing->Add(op.ok() ? *op : std::string(kUnsupportedOp), node.name(), reason);
    return true;
  }
  if (graph.library() != nullptr && graph.library()->Contains(node.op_name())) return false;
  const KernelRegistry& registry = KernelRegistry::Global();
  absl::StatusOr<const KernelDef*> kernel =
      registry.Find(node.op_name(), device_type, node.attrs());
  if (kernel.ok()) return false;
  missing->Add(node.op_name(), node.name(),
               registry.HasKernel(node.op_name()) ? kernel.status().message() : reason);
  return true;
}

// `value` in the memory of the device; for work that is enqueued later.
absl::StatusOr<Tensor> Upload(const Tensor& value, const Device& device, MemoryKind kind) {
  if (IsHostAccessible(kind) || value.num_elements() == 0) return value;
  ASSIGN_OR_RETURN(Tensor uploaded,
                   Tensor::Allocate(value.dtype(), value.shape(), device.allocator(kind)));
  device.stream()->Copy(value, &uploaded);
  return uploaded;
}

// Notes the memory of the outputs, unless all of it is the host's.
absl::Status ReadOutputKinds(const Graph& graph, const Node& node, const CompileOptions& options,
                             CompiledNode* compiled) {
  if (options.device == nullptr || options.device->memory_kind() == MemoryKind::kHost) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(KernelMemory memory,
                   MemoryOfNode(graph, node, *options.device, options.boundary));
  if (compiled->role == NodeRole::kConst) {
    ASSIGN_OR_RETURN(compiled->value, Upload(compiled->value, *options.device, memory.outputs[0]));
  }
  compiled->output_kinds = std::move(memory.outputs);
  return absl::OkStatus();
}

absl::Status ReadConst(const Node& node, CompiledNode* compiled) {
  ASSIGN_OR_RETURN(compiled->value, node.attr<Tensor>("value"));
  if (compiled->value.dtype() != node.output_type(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute dtype is ", DTypeName(node.output_type(0)), " but the value is ",
                     DTypeName(compiled->value.dtype())));
  }
  return absl::OkStatus();
}

// Notes the node's place among the arguments or results in `taken`, by index.
absl::Status ReadIndex(const Node& node, int* index, std::vector<bool>* taken) {
  ASSIGN_OR_RETURN(const int64_t value, node.attr<int64_t>("index"));
  // Far beyond any real graph; keeps a hostile one from asking for a huge vector.
  constexpr int64_t kMaxIndex = 1 << 20;
  if (value < 0 || value > kMaxIndex) {
    return absl::InvalidArgumentError(absl::StrCat("attribute index is ", value));
  }
  *index = static_cast<int>(value);
  taken->resize(std::max(taken->size(), static_cast<size_t>(value) + 1));
  if ((*taken)[*index]) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is another ", node.op_name(), " of index ", value));
  }
  (*taken)[*index] = true;
  return absl::OkStatus();
}

}  // namespace

NodeRole RoleOf(const Node& node) {
  static const auto* const kRoles = new absl::flat_hash_map<absl::string_view, NodeRole>{
      {"Const", NodeRole::kConst},
      {"HostConst", NodeRole::kConst},
      {"_Arg", NodeRole::kArg},
      {"_DeviceArg", NodeRole::kArg},
      {"_Retval", NodeRole::kRetval},
      {"_DeviceRetval", NodeRole::kRetval},
      {"NoOp", NodeRole::kNoOp},
      {"Merge", NodeRole::kMerge},
      {"RefMerge", NodeRole::kMerge},
      {"Enter", NodeRole::kEnter},
      {"RefEnter", NodeRole::kEnter},
      {"Exit", NodeRole::kExit},
      {"RefExit", NodeRole::kExit},
      {"NextIteration", NodeRole::kNextIteration},
      {"RefNextIteration", NodeRole::kNextIteration},
      {"ControlTrigger", NodeRole::kControlTrigger},
      {"Send", NodeRole::kTransfer},
      {"Recv", NodeRole::kTransfer},
      {"_Send", NodeRole::kTransfer},
      {"_Recv", NodeRole::kTransfer},
      {"_HostSend", NodeRole::kTransfer},
      {"_HostRecv", NodeRole::kTransfer},
  };
  auto it = kRoles->find(node.op_name());
  return it == kRoles->end() ? NodeRole::kKernel : it->second;
}

absl::StatusOr<CompiledGraph> CreateKernels(const Graph& graph, const CompileOptions& options) {
  const absl::string_view device_type = options.device == nullptr ? kCpu : options.device->type();
  ASSIGN_OR_RETURN(std::vector<Node*> order, TopologicalOrder(graph));
  CompiledGraph result;
  result.nodes.reserve(order.size());
  MissingKernels missing;
  std::vector<bool> args, results;
  for (const Node* node : order) {
    RETURN_IF_ERROR(CheckConnected(*node));
    CompiledNode compiled;
    compiled.node = node;
    compiled.role = RoleOf(*node);
    absl::Status status;
    switch (compiled.role) {
      case NodeRole::kConst:
        status = ReadConst(*node, &compiled);
        break;
      case NodeRole::kArg:
        status = ReadIndex(*node, &compiled.index, &args);
        break;
      case NodeRole::kRetval:
        status = ReadIndex(*node, &compiled.index, &results);
        break;
      case NodeRole::kNoOp:
      case NodeRole::kControlTrigger:
        break;
      default: {
        if (NoteIfMissing(graph, *node, device_type, &missing)) continue;
        absl::StatusOr<std::shared_ptr<OpKernel>> kernel = MakeKernel(graph, *node, options);
        if (!kernel.ok()) {
          // A function it calls may lack kernels: go on and report all of them together.
          if (missing.Merge(kernel.status())) continue;
          status = kernel.status();
        } else {
          compiled.kernel = *std::move(kernel);
        }
      }
    }
    if (status.ok()) status = ReadOutputKinds(graph, *node, options, &compiled);
    RETURN_IF_ERROR(AtNode(node->name(), status));
    if (compiled.kernel != nullptr && compiled.kernel->IsAsync() && !IsCopy(*node)) {
      result.may_wait = true;
    }
    if (result.needs_dataflow.empty() && NeedsDataflow(compiled)) {
      result.needs_dataflow = node->name();
    }
    result.nodes.push_back(std::move(compiled));
  }
  RETURN_IF_ERROR(missing.ToStatus());
  result.num_args = static_cast<int>(args.size());
  result.num_results = static_cast<int>(results.size());
  return result;
}

absl::Status AtNode(absl::string_view node_name, const absl::Status& status) {
  if (status.ok()) return status;
  // Calls put their node before that of the body. What goes deeper than this is a recursion, and
  // its innermost calls tell enough.
  constexpr int kMaxNodesNamed = 8;
  int named = 0;
  absl::string_view rest = status.message();
  while (absl::StartsWith(rest, "{{node ") && rest.find("}} ") != rest.npos) {
    rest.remove_prefix(rest.find("}} ") + 3);
    if (++named == kMaxNodesNamed) return status;
  }
  return Annotate(status, absl::StrCat("{{node ", node_name, "}} "));
}

}  // namespace tessera
