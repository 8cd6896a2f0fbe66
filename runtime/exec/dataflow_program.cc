#include "runtime/exec/dataflow_program.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/control_flow_nodes.h"

namespace tessera {
namespace {

constexpr int kUnplaced = -1;

// Finds the frame of each node, and numbers the frames.
class FrameFinder {
 public:
  FrameFinder(const CompiledGraph& graph, std::vector<DataflowProgram::Frame>* frames)
      : frames_(*frames) {
    frames_.resize(1);
    for (const CompiledNode& node : graph.nodes) roles_[node.node] = node.role;
    for (const CompiledNode& node : graph.nodes) {
      if (node.role == NodeRole::kConst && NeedsNotRun(*node.node)) free_.insert(node.node);
    }
  }

  // Takes `nodes` in topological order. Constants without control inputs belong to no frame.
  absl::Status Place(const CompiledGraph& graph) {
    for (const CompiledNode& compiled : graph.nodes) {
      const Node& node = *compiled.node;
      ASSIGN_OR_RETURN(const int frame, FrameOfInputs(node));
      place_[&node] = {.runs_in = frame, .outputs_in = frame};
      Placement& placement = place_[&node];
      absl::Status status;
      switch (compiled.role) {
        case NodeRole::kEnter: {
          absl::StatusOr<int> child = ChildFrame(node, frame);
          if (child.ok()) placement.outputs_in = *child;
          status = child.status();
          break;
        }
        case NodeRole::kExit:
          if (frame == 0) status = absl::InvalidArgumentError("leaves a loop, but is not in any");
          placement.outputs_in = static_cast<int>(frames_[frame].parent);
          break;
        case NodeRole::kNextIteration:
          if (frame == 0) status = absl::InvalidArgumentError("is not in any loop");
          break;
        default:
          break;
      }
      RETURN_IF_ERROR(AtNode(node.name(), status));
    }
    return CheckBackEdges(graph);
  }

  int runs_in(const Node* node) const { return place_.at(node).runs_in; }
  int outputs_in(const Node* node) const { return place_.at(node).outputs_in; }
  // Returns whether the node is a constant that need not run, because its readers have its value
  // from the start.
  bool IsFree(const Node* node) const { return free_.contains(node); }

 private:
  struct Placement {
    int runs_in;
    int outputs_in;
  };

  bool NeedsNotRun(const Node& constant) const {
    if (!constant.control_inputs().empty()) return false;
    for (const Use& use : constant.uses(0)) {
      // The value must arrive at run time, because a Merge counts its inputs.
      if (roles_.at(use.node) == NodeRole::kMerge) return false;
    }
    return true;
  }

  bool IsBackEdge(const Node& from, const Node& to) const {
    return roles_.at(&to) == NodeRole::kMerge && roles_.at(&from) == NodeRole::kNextIteration;
  }

  absl::StatusOr<int> FrameOfInputs(const Node& node) const {
    int frame = kUnplaced;
    const Node* witness = nullptr;
    auto see = [&](const Node* from) -> absl::Status {
      if (IsFree(from) || IsBackEdge(*from, node)) return absl::OkStatus();
      const int seen = outputs_in(from);
      if (frame == kUnplaced || frame == seen) {
        frame = seen;
        witness = from;
        return absl::OkStatus();
      }
      return AtNode(node.name(), absl::InvalidArgumentError(absl::StrCat(
                                     "has inputs from different frames: '", witness->name(),
                                     "' is in frame '", frames_[frame].name, "' and '",
                                     from->name(), "' in frame '", frames_[seen].name, "'")));
    };
    for (const Endpoint& input : node.inputs()) RETURN_IF_ERROR(see(input.node));
    for (const Node* control : node.control_inputs()) RETURN_IF_ERROR(see(control));
    return frame == kUnplaced ? 0 : frame;
  }

  absl::StatusOr<int> ChildFrame(const Node& enter, int parent) {
    ASSIGN_OR_RETURN(const std::string name, enter.attr<std::string>("frame_name"));
    ASSIGN_OR_RETURN(const int64_t parallel, enter.attr<int64_t>("parallel_iterations"));
    if (parallel < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("parallel_iterations is ", parallel, ", must be at least 1"));
    }
    auto [it, is_new] =
        children_.emplace(std::make_pair(parent, name), static_cast<int>(frames_.size()));
    if (is_new) {
      DataflowProgram::Frame frame;
      frame.name = name;
      frame.parent = static_cast<uint32_t>(parent);
      frame.place_in_parent = frames_[parent].num_children++;
      // Bounded, because each iteration in flight has slots of its own.
      frame.parallel_iterations = static_cast<int>(std::min<int64_t>(parallel, 1024));
      frames_.push_back(std::move(frame));
    }
    ++frames_[it->second].num_enters;
    return it->second;
  }

  // A NextIteration must lead back to the frame of its input.
  absl::Status CheckBackEdges(const CompiledGraph& graph) const {
    for (const CompiledNode& compiled : graph.nodes) {
      if (compiled.role != NodeRole::kMerge) continue;
      for (const Endpoint& input : compiled.node->inputs()) {
        if (IsBackEdge(*input.node, *compiled.node) &&
            outputs_in(input.node) != runs_in(compiled.node)) {
          return AtNode(compiled.node->name(),
                        absl::InvalidArgumentError(
                            absl::StrCat("'", input.node->name(), "' comes from another loop")));
        }
      }
    }
    return absl::OkStatus();
  }

  std::vector<DataflowProgram::Frame>& frames_;
  absl::flat_hash_map<const Node*, NodeRole> roles_;
  absl::flat_hash_set<const Node*> free_;
  absl::flat_hash_map<const Node*, Placement> place_;
  absl::flat_hash_map<std::pair<int, std::string>, int> children_;
};

// Returns true for optimizers and assignments: nodes that do no more than change variables, and
// that may give references to them.
bool IsUpdate(const Node& node) {
  const bool changes_variables = node.attrs().contains("use_locking") ||
                                 node.IsOp("AssignAddVariableOp") ||
                                 node.IsOp("AssignSubVariableOp");
  const std::vector<DType>& outputs = node.output_types();
  return changes_variables &&
         std::all_of(outputs.begin(), outputs.end(), [](DType type) { return IsRef(type); });
}

class Layout {
 public:
  explicit Layout(CompiledGraph graph)
      : graph_(std::move(graph)), finder_(graph_, &program_.frames) {}

  absl::StatusOr<DataflowProgram> Run() {
    RETURN_IF_ERROR(finder_.Place(graph_));
    program_.num_args = graph_.num_args;
    program_.num_results = graph_.num_results;
    program_.may_wait = graph_.may_wait;
    for (CompiledNode& node : graph_.nodes) {
      if (finder_.IsFree(node.node)) {
        free_constants_[node.node] = std::move(node.value);
      } else {
        number_[node.node] = static_cast<uint32_t>(program_.nodes.size());
        RETURN_IF_ERROR(AtNode(node.node->name(), PlaceNode(std::move(node))));
      }
    }
    for (const CompiledNode& node : graph_.nodes) {
      if (!finder_.IsFree(node.node)) PlaceEdges(*node.node);
    }
    return std::move(program_);
  }

 private:
  absl::Status PlaceNode(CompiledNode compiled) {
    const Node& node = *compiled.node;
    constexpr int kMax = std::numeric_limits<uint16_t>::max();
    // One word holds the counts of dead inputs and of control inputs of a Merge.
    constexpr size_t kMaxMergeControls = 4095;
    if (node.num_inputs() > kMax || node.num_outputs() > kMax) {
      return absl::InvalidArgumentError(absl::StrCat("has ", node.num_inputs(), " inputs and ",
                                                     node.num_outputs(),
                                                     " outputs, too many for one node"));
    }
    if (compiled.role == NodeRole::kMerge && node.control_inputs().size() > kMaxMergeControls) {
      return absl::InvalidArgumentError(
          absl::StrCat("has ", node.control_inputs().size(), " control inputs; a Merge may have ",
                       kMaxMergeControls, ": let a NoOp wait for them and the Merge for the NoOp"));
    }
    const int frame_number = finder_.runs_in(&node);
    DataflowProgram::Frame& frame = program_.frames[frame_number];
    DataflowProgram::Node placed{};
    placed.kernel = compiled.kernel.get();
    placed.role = compiled.role;
    placed.is_expensive = placed.kernel != nullptr && placed.kernel->IsExpensive();
    placed.is_async = placed.kernel != nullptr && placed.kernel->IsAsync();
    placed.is_update = placed.is_expensive && !placed.is_async && IsUpdate(node);
    program_.may_wait |= placed.is_async;
    placed.may_skip_outputs = placed.role == NodeRole::kTransfer || IsBranch(node);
    placed.frame = static_cast<uint32_t>(frame_number);
    placed.num_inputs = static_cast<uint16_t>(node.num_inputs());
    placed.num_outputs = static_cast<uint16_t>(node.num_outputs());
    placed.index = compiled.index;
    if (placed.role == NodeRole::kConst) {
      placed.index = static_cast<int32_t>(program_.constants.size());
      program_.constants.push_back(std::move(compiled.value));
    } else if (placed.role == NodeRole::kEnter) {
      placed.index = finder_.outputs_in(&node);
      ASSIGN_OR_RETURN(placed.is_constant_enter, node.attr<bool>("is_constant"));
    }
    PlaceInputs(node, frame, placed);
    placed.shortcut = ShortcutOf(node, placed.role);
    placed.waits_for =
        WaitsForControls(node) + (placed.role == NodeRole::kMerge ? 0 : placed.num_slots);
    const bool starts = placed.waits_for == 0 && placed.role != NodeRole::kMerge;
    if (starts) program_.start.push_back(static_cast<uint32_t>(program_.nodes.size()));

    program_.word_of.push_back(static_cast<uint32_t>(frame.words.size()));
    frame.words.push_back(placed.waits_for);
    program_.output_types.push_back(node.output_types());
    placed.output_types = program_.output_types.back().data();
    if (!compiled.output_kinds.empty()) {
      program_.output_kinds.push_back(std::move(compiled.output_kinds));
      placed.output_kinds = program_.output_kinds.back().data();
    }
    program_.max_outputs = std::max(program_.max_outputs, node.num_outputs());
    program_.labels.push_back({node.name(), node.op_name()});
    program_.kernels.push_back(std::move(compiled.kernel));
    program_.nodes.push_back(placed);
    return absl::OkStatus();
  }

  DataflowProgram::Shortcut ShortcutOf(const Node& node, NodeRole role) const {
    using Shortcut = DataflowProgram::Shortcut;
    // The slot of a constant has other readers, so its value cannot be moved.
    if (node.num_inputs() == 0 || finder_.IsFree(node.input(0).node)) return Shortcut::kNone;
    switch (role) {
      case NodeRole::kEnter:
      case NodeRole::kExit:
      case NodeRole::kNextIteration:
        return Shortcut::kForward;
      case NodeRole::kMerge:
        return node.uses(1).empty() ? Shortcut::kMerge : Shortcut::kNone;
      case NodeRole::kKernel:
        if (node.IsOp("Identity") || node.IsOp("LoopCond")) return Shortcut::kForward;
        if (IsSwitch(node)) return Shortcut::kSwitch;
        return Shortcut::kNone;
      default:
        return Shortcut::kNone;
    }
  }

  uint32_t WaitsForControls(const Node& node) const {
    uint32_t count = 0;
    for (const Node* control : node.control_inputs()) count += finder_.IsFree(control) ? 0 : 1;
    return count;
  }

  void PlaceInputs(const Node& node, DataflowProgram::Frame& frame, DataflowProgram::Node& placed) {
    placed.first_input = static_cast<uint32_t>(program_.inputs.size());
    placed.first_slot = frame.num_slots;
    placed.first_ref = static_cast<uint32_t>(program_.refs.size());
    for (const Endpoint& input : node.inputs()) {
      if (!finder_.IsFree(input.node)) ++placed.num_slots;
    }
    frame.num_slots += placed.num_slots;
    uint32_t next = placed.first_slot;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Endpoint& from = node.input(i);
      if (finder_.IsFree(from.node)) {
        program_.inputs.push_back({.index = ConstantSlot(from.node, frame), .last_use = false});
        continue;
      }
      if (IsRef(from.node->output_type(from.index))) {
        program_.refs.push_back({.slot = next,
                                 .input = static_cast<uint16_t>(i),
                                 .read = !IsRef(node.input_type(i)),
                                 .may_be_uninitialized = node.op().allows_uninitialized_input});
        ++placed.num_refs;
      }
      input_slots_[{const_cast<Node*>(&node), i}] = next;
      program_.inputs.push_back({.index = next++, .last_use = true});
    }
  }

  uint32_t ConstantSlot(const Node* constant, DataflowProgram::Frame& frame) {
    const uint32_t frame_number = static_cast<uint32_t>(&frame - program_.frames.data());
    auto [it, is_new] = constant_slots_.emplace(std::make_pair(constant, frame_number), 0u);
    if (is_new) {
      it->second = frame.num_slots++;
      frame.constants.push_back({it->second, free_constants_.at(constant)});
    }
    return it->second;
  }

  void PlaceEdges(const Node& node) {
    DataflowProgram::Node& placed = program_.nodes[number_.at(&node)];
    placed.first_edge = static_cast<uint32_t>(program_.edges.size());
    for (int i = 0; i < node.num_outputs(); ++i) {
      for (const Use& use : node.uses(i)) {
        program_.edges.push_back({.node = number_.at(use.node),
                                  .slot = input_slots_.at({use.node, use.index}),
                                  .output = static_cast<uint16_t>(i),
                                  .last = false});
      }
      if (!node.uses(i).empty()) program_.edges.back().last = true;
    }
    for (const Node* control : node.control_outputs()) {
      program_.edges.push_back({.node = number_.at(control),
                                .slot = DataflowProgram::kControl,
                                .output = 0,
                                .last = false});
    }
    placed.num_edges = static_cast<uint32_t>(program_.edges.size()) - placed.first_edge;
  }

  struct Input {
    Node* node;
    int index;
    friend bool operator==(const Input&, const Input&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Input& i) {
      return H::combine(std::move(h), i.node, i.index);
    }
  };

  CompiledGraph graph_;
  DataflowProgram program_;
  FrameFinder finder_;
  absl::flat_hash_map<const Node*, uint32_t> number_;
  absl::flat_hash_map<const Node*, Tensor> free_constants_;
  absl::flat_hash_map<Input, uint32_t> input_slots_;
  absl::flat_hash_map<std::pair<const Node*, uint32_t>, uint32_t> constant_slots_;
};

}  // namespace

absl::StatusOr<DataflowProgram> LayOutDataflow(CompiledGraph graph) {
  return Layout(std::move(graph)).Run();
}

}  // namespace tessera
