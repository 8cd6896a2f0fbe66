#include "runtime/exec/straight_program.h"

#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

// Allocates slots. The slot that was freed last is reused first.
class SlotAllocator {
 public:
  // Returns the first of `count` consecutive slots.
  uint32_t Allocate(int count) {
    if (count == 1 && !free_.empty()) {
      const uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    // Consecutive slots are always new ones, because few nodes have several outputs.
    const uint32_t slot = size_;
    size_ += count;
    return slot;
  }
  void Free(uint32_t slot) { free_.push_back(slot); }
  uint32_t size() const { return size_; }

 private:
  std::vector<uint32_t> free_;
  uint32_t size_ = 0;
};

class Layout {
 public:
  explicit Layout(CompiledGraph graph) : graph_(std::move(graph)) {}

  absl::StatusOr<StraightProgram> Run() {
    program_.num_args = graph_.num_args;
    program_.num_results = graph_.num_results;
    PlaceConstants();
    for (const CompiledNode& node : graph_.nodes) {
      if (node.role == NodeRole::kArg) PlaceArg(node);
    }
    for (CompiledNode& node : graph_.nodes) {
      switch (node.role) {
        case NodeRole::kKernel:
        case NodeRole::kTransfer:
          RETURN_IF_ERROR(AtNode(node.node->name(), PlaceKernel(std::move(node))));
          break;
        case NodeRole::kRetval:
          // Results are taken from their slots after the last node.
          break;
        default:
          break;
      }
    }
    for (const CompiledNode& node : graph_.nodes) {
      if (node.role == NodeRole::kRetval) PlaceResult(node);
    }
    program_.num_slots = slots_.size();
    return std::move(program_);
  }

 private:
  struct Placed {
    uint32_t slot = 0;
    int uses_left = 0;
    bool is_constant = false;
  };

  static int CountUses(const Node& node, int output) {
    return static_cast<int>(node.uses(output).size());
  }

  void PlaceConstants() {
    for (CompiledNode& node : graph_.nodes) {
      if (node.role != NodeRole::kConst || CountUses(*node.node, 0) == 0) continue;
      const uint32_t slot = slots_.Allocate(1);
      values_[{const_cast<Node*>(node.node), 0}] = {.slot = slot, .is_constant = true};
      program_.constants.push_back({slot, std::move(node.value)});
    }
  }

  void PlaceArg(const CompiledNode& node) {
    const int uses = CountUses(*node.node, 0);
    if (uses == 0) return;
    const uint32_t slot = slots_.Allocate(1);
    values_[{const_cast<Node*>(node.node), 0}] = {.slot = slot, .uses_left = uses};
    program_.args.push_back({node.index, slot});
  }

  absl::Status PlaceKernel(CompiledNode compiled) {
    const Node& node = *compiled.node;
    constexpr int kMax = std::numeric_limits<uint16_t>::max();
    if (node.num_inputs() > kMax || node.num_outputs() > kMax / 2) {
      return absl::InvalidArgumentError(absl::StrCat("has ", node.num_inputs(), " inputs and ",
                                                     node.num_outputs(),
                                                     " outputs, too many for one node"));
    }
    for (int i = 0; i < node.num_inputs(); ++i) {
      program_.writes_state |= InputUse(node.op(), node.attrs(), i) == ArgUse::kWritten;
    }
    StraightProgram::Node placed{};
    placed.kernel = compiled.kernel.get();
    placed.is_expensive = compiled.kernel->IsExpensive();
    placed.first_input = static_cast<uint32_t>(program_.inputs.size());
    placed.num_inputs = static_cast<uint16_t>(node.num_inputs());
    placed.first_ref = static_cast<uint32_t>(program_.refs.size());
    placed.first_release = static_cast<uint32_t>(program_.releases.size());
    PlaceInputs(node);
    placed.num_refs = static_cast<uint16_t>(program_.refs.size() - placed.first_ref);
    // Outputs get their slots before those of the inputs are freed, because a kernel reads inputs
    // while it writes outputs.
    placed.first_output = slots_.Allocate(node.num_outputs());
    placed.num_outputs = static_cast<uint16_t>(node.num_outputs());
    placed.first_place = program_.num_places;
    program_.num_places += placed.num_outputs;
    for (int i = 0; i < node.num_outputs(); ++i) {
      const uint32_t slot = placed.first_output + i;
      const int uses = CountUses(node, i);
      values_[{const_cast<Node*>(&node), i}] = {.slot = slot, .uses_left = uses};
      if (uses == 0) program_.releases.push_back(slot);
    }
    for (size_t i = placed.first_release; i < program_.releases.size(); ++i) {
      slots_.Free(program_.releases[i]);
    }
    const size_t num_releases = program_.releases.size() - placed.first_release;
    if (num_releases > kMax) return absl::InvalidArgumentError("has too many inputs and outputs");
    placed.num_releases = static_cast<uint16_t>(num_releases);

    program_.output_types.push_back(node.output_types());
    placed.output_types = program_.output_types.back().data();
    if (!compiled.output_kinds.empty()) {
      program_.output_kinds.push_back(std::move(compiled.output_kinds));
      placed.output_kinds = program_.output_kinds.back().data();
    }
    program_.labels.push_back({node.name(), node.op_name()});
    program_.kernels.push_back(std::move(compiled.kernel));
    program_.nodes.push_back(placed);
    return absl::OkStatus();
  }

  void PlaceInputs(const Node& node) {
    const size_t first = program_.inputs.size();
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Endpoint& from = node.input(i);
      Placed& value = values_[from];
      bool last_use = false;
      if (!value.is_constant && --value.uses_left == 0) {
        program_.releases.push_back(value.slot);
        last_use = true;
      }
      if (IsRef(from.node->output_type(from.index))) {
        program_.refs.push_back({.slot = value.slot,
                                 .input = static_cast<uint16_t>(i),
                                 .read = !IsRef(node.input_type(i)),
                                 .may_be_uninitialized = node.op().allows_uninitialized_input});
        last_use = false;
      }
      // A value that comes in twice must not be taken by either input, because the other reads it
      // too.
      for (size_t j = first; last_use && j < program_.inputs.size(); ++j) {
        if (program_.inputs[j].index == value.slot) last_use = false;
      }
      program_.inputs.push_back({.index = value.slot, .last_use = last_use});
    }
  }

  void PlaceResult(const CompiledNode& compiled) {
    const Endpoint& from = compiled.node->input(0);
    Placed& value = values_[from];
    const bool last_use = !value.is_constant && --value.uses_left == 0;
    program_.results.push_back({.index = compiled.index,
                                .slot = value.slot,
                                .last_use = last_use,
                                .read_ref = IsRef(from.node->output_type(from.index)),
                                .node_name = compiled.node->name()});
  }

  CompiledGraph graph_;
  StraightProgram program_;
  SlotAllocator slots_;
  absl::flat_hash_map<Endpoint, Placed> values_;
};

}  // namespace

absl::StatusOr<StraightProgram> LayOutStraight(CompiledGraph graph) {
  if (!graph.needs_dataflow.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("node '", graph.needs_dataflow,
                     "' is v1 control flow or asynchronous: it needs the dataflow executor"));
  }
  return Layout(std::move(graph)).Run();
}

}  // namespace tessera
