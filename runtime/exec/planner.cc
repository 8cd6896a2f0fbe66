#include "runtime/exec/planner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/exec/memory_copies.h"
#include "runtime/graph/partition.h"
#include "runtime/graph/placer.h"
#include "runtime/optimize/inline_functions.h"

namespace tessera {
namespace {

class Planner {
 public:
  Planner(PlanInput input, const PlanOptions& options)
      : input_(std::move(input)), options_(options), graph_(*input_.graph) {
    for (const auto* nodes : {&input_.args, &input_.results, &input_.targets}) {
      item_.preserved.insert(item_.preserved.end(), nodes->begin(), nodes->end());
    }
    item_.graph = &graph_;
    item_.devices = options.devices;
    item_.pool = options.pool;
    item_.resources = options.resources;
    item_.is_frozen = options.is_frozen;
    // Where the caller's values are is the first choice for whatever works on them.
    order_ = options.devices;
    std::stable_partition(order_.begin(), order_.end(),
                          [&](const Device* device) { return device == options.caller; });
  }

  absl::StatusOr<Plan> Run() {
    const bool place = NeedsPlacement();
    if (place) {
      if (options_.optimize) InlineCalls();
      if (options_.caller != nullptr) PutArgsAndResultsOnCaller();
      RETURN_IF_ERROR(PlaceNodes(/*log=*/false));
    }
    if (options_.optimize) {
      if (absl::Status status = Optimize(item_, options_.optimizer); !status.ok()) {
        LOG(WARNING) << "a graph runs less optimised than it could: " << status.ToString();
      }
    }
    if (place) {
      // What the passes have added has no place yet.
      RETURN_IF_ERROR(PlaceNodes(options_.log_device_placement));
      if (options_.caller == nullptr) MoveArgsAndResults();
      RETURN_IF_ERROR(CopyConstantsToUsers());
    }
    return Split(place);
  }

 private:
  // A single device that takes whatever asks for another needs no placement.
  bool NeedsPlacement() const {
    return options_.devices.size() > 1 || !options_.allow_soft_placement;
  }

  void InlineCalls() {
    const std::vector<std::string>& disabled = options_.optimizer.disabled_passes;
    const InlineFunctionsPass pass;
    if (std::find(disabled.begin(), disabled.end(), pass.name()) != disabled.end()) return;
    bool changed = false;
    if (absl::Status status = pass.Run(item_, &changed); !status.ok()) {
      LOG(WARNING) << "calls stay where they are: " << status.ToString();
    }
  }

  absl::Status PlaceNodes(bool log) {
    return Place(order_,
                 {.allow_soft_placement = options_.allow_soft_placement,
                  .log_device_placement = log},
                 &graph_);
  }

  static bool IsFree(DType type) { return !IsRef(type) && type != DType::kResource; }

  void PutArgsAndResultsOnCaller() {
    for (const auto* nodes : {&input_.args, &input_.results}) {
      for (Node* node : *nodes) node->set_device(options_.caller->full_name());
    }
  }

  // Host memory is everywhere: an argument goes to who reads it, a result to who gives it, so that
  // neither crosses to another part just to be handed over.
  void MoveArgsAndResults() {
    for (Node* arg : input_.args) {
      if (IsFree(arg->output_type(0)) && !arg->uses(0).empty()) {
        arg->set_device(arg->uses(0).front().node->device());
      }
    }
    for (Node* result : input_.results) {
      const Endpoint& from = result->input(0);
      if (from.node != nullptr && IsFree(from.node->output_type(from.index))) {
        result->set_device(from.node->device());
      }
    }
  }

  // A constant needs no Send: each device that reads it has it.
  absl::Status CopyConstantsToUsers() {
    std::vector<Node*> constants;
    for (Node* node : graph_.nodes()) {
      // One with control inputs runs when they say: in a branch or a loop.
      if (node->IsOp("Const") && node->control_inputs().empty()) constants.push_back(node);
    }
    for (Node* constant : constants) {
      std::map<std::string, Node*> copies = {{constant->device(), constant}};
      const std::vector<Use> uses = constant->uses(0);
      for (const Use& use : uses) {
        Node*& copy = copies[use.node->device()];
        if (copy == nullptr) {
          ASSIGN_OR_RETURN(copy, graph_.AddNode(graph_.UniqueName(constant->name()), "Const",
                                                constant->attrs(), {}, use.node->device()));
        }
        if (copy != constant) RETURN_IF_ERROR(graph_.Connect({copy, 0}, use.node, use.index));
      }
      const bool is_used = !constant->uses(0).empty() || !constant->control_outputs().empty();
      if (!is_used && !item_.IsPreserved(constant)) graph_.Remove(constant);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Plan> Split(bool is_placed) {
    Plan plan;
    plan.boundary.args_on_host = options_.caller == nullptr;
    plan.boundary.results_on_host = options_.caller == nullptr || options_.results_on_host;
    const Device* only = is_placed ? OnlyDevice() : options_.devices.front();
    if (only != nullptr) {
      plan.parts.push_back({only->full_name(), std::move(input_.graph)});
    } else {
      std::map<std::string, std::unique_ptr<Graph>> parts;
      PartitionOptions options;
      options.incarnation = [this](const std::string& name) {
        const Device* device = Find(name);
        return device == nullptr ? uint64_t{1} : device->incarnation();
      };
      ASSIGN_OR_RETURN(parts, Partition(graph_, options));
      for (auto& [device, part] : parts) plan.parts.push_back({device, std::move(part)});
    }
    for (Plan::Part& part : plan.parts) {
      const Device* device = Find(part.device);
      if (device == nullptr) continue;  // another process's
      RETURN_IF_ERROR(InsertCopies(*device, plan.boundary, part.graph.get()));
    }
    return plan;
  }

  // The device of every node, if all have the same; else null.
  const Device* OnlyDevice() const {
    const std::string* name = nullptr;
    for (const Node* node : graph_.nodes()) {
      if (name != nullptr && *name != node->device()) return nullptr;
      name = &node->device();
    }
    return name == nullptr ? options_.devices.front() : Find(*name);
  }

  const Device* Find(const std::string& name) const {
    for (const Device* device : options_.devices) {
      if (device->full_name() == name) return device;
    }
    return nullptr;
  }

  PlanInput input_;
  const PlanOptions& options_;
  Graph& graph_;
  OptimizationItem item_;
  std::vector<Device*> order_;
};

}  // namespace

absl::StatusOr<Plan> MakePlan(PlanInput input, const PlanOptions& options) {
  return Planner(std::move(input), options).Run();
}

}  // namespace tessera
