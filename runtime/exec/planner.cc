#include "runtime/exec/planner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/exec/memory_copies.h"
#include "runtime/exec/shape_arithmetic.h"
#include "runtime/graph/function.h"
#include "runtime/graph/function_calls.h"
#include "runtime/graph/partition.h"
#include "runtime/graph/placer.h"
#include "runtime/graph/reference_reads.h"
#include "runtime/graph/resource_names.h"
#include "runtime/optimize/derived_constants.h"
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
    RETURN_IF_ERROR(ReadReferencesBehindWrites(&graph_));
    const bool place = options_.NeedPlacement();
    if (place) RETURN_IF_ERROR(InlineAndPlace());
    if (options_.optimize) {
      if (absl::Status status = Optimize(item_, options_.optimizer); !status.ok()) {
        LOG(WARNING) << "a graph runs less optimised than it could: " << status.ToString();
      }
      derived_ = DerivedConstants::Of(item_);
    }
    if (place) {
      // What the passes have added has no place yet.
      RETURN_IF_ERROR(PlaceNodes(options_.log_device_placement));
      if (options_.caller == nullptr) MoveArgsAndResults();
      RETURN_IF_ERROR(CopyConstantsToUsers());
    }
    return Split(place);
  }

  // The first steps of Run(), which decide where resources live.
  absl::Status InlineAndPlace() {
    if (options_.optimize) InlineCalls();
    if (options_.caller != nullptr) PutArgsAndResultsOnCaller();
    return PlaceNodes(/*log=*/false);
  }

  const Graph& graph() const { return graph_; }

  Device* Find(const std::string& name) const {
    for (Device* device : options_.devices) {
      if (device->full_name() == name) return device;
    }
    return nullptr;
  }

 private:
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
    if (options_.resource_places != nullptr) PutResourcesInTheirPlaces();
    return Place(
        order_,
        {.allow_soft_placement = options_.allow_soft_placement, .log_device_placement = log},
        &graph_);
  }

  void PutResourcesInTheirPlaces() {
    for (Node* node : graph_.nodes()) {
      for (const std::string& name : ResourceNames(*node)) {
        const auto place = options_.resource_places->find(name);
        if (place != options_.resource_places->end()) node->set_device(place->second);
      }
    }
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
    plan.library = graph_.library();
    for (const Node* arg : input_.args) plan.arg_types.push_back(RemoveRef(arg->output_type(0)));
    plan.num_results = static_cast<int>(input_.results.size());
    plan.derived = derived_;
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
      RETURN_IF_ERROR(KeepShapeArithmeticOnHost(*device, plan.boundary, part.graph.get()));
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

  PlanInput input_;
  const PlanOptions& options_;
  Graph& graph_;
  OptimizationItem item_;
  IntrusivePtr<const DerivedConstants> derived_;
  std::vector<Device*> order_;
};

// Follows calls from a graph into the functions' bodies, each once for every device that calls it.
class ResourcePlacer {
 public:
  explicit ResourcePlacer(const PlanOptions& options) : options_(options) {
    if (options.resource_places != nullptr) places_ = *options.resource_places;
  }

  absl::StatusOr<ResourcePlaces> Run(const Graph& graph) {
    // A body that cannot use a resource where it is takes it elsewhere, and all begins anew. Bodies
    // that want the same one in different places will not come to an end.
    constexpr int kMaxRounds = 10;
    for (int round = 0; round < kMaxRounds; ++round) {
      visited_.clear();
      has_moved_ = false;
      PlanInput input;
      input.graph = graph.Clone();
      RETURN_IF_ERROR(Visit(std::move(input), options_.caller));
      while (!pending_.empty()) {
        const Call call = std::move(pending_.back());
        pending_.pop_back();
        absl::StatusOr<FunctionBody> body = call.library->Instantiate(call.function);
        if (!body.ok()) continue;  // which a plan with the call will tell
        RETURN_IF_ERROR(Visit({.graph = std::move(body->graph),
                               .args = std::move(body->args),
                               .results = std::move(body->results),
                               .targets = std::move(body->control_results)},
                              call.device));
      }
      if (!has_moved_) break;
    }
    return places_;
  }

 private:
  struct Call {
    std::shared_ptr<const FunctionLibrary> library;
    FunctionRef function;
    Device* device;
  };

  // Adds the calls that come with the graph to `pending_`.
  absl::Status Visit(PlanInput input, Device* caller) {
    PlanOptions options = options_;
    options.caller = caller;
    options.resource_places = std::make_shared<ResourcePlaces>(places_);
    Planner planner(std::move(input), options);
    RETURN_IF_ERROR(planner.InlineAndPlace());
    const Graph& graph = planner.graph();
    for (const Node* node : graph.nodes()) {
      for (const std::string& name : ResourceNames(*node)) PutOn(node->device(), name);
      if (graph.library() == nullptr) continue;
      for (FunctionRef& function : CallsOf(graph, *node).functions) {
        const std::string key = absl::StrCat(node->device(), " ", AttrValue(function).ToString());
        if (!visited_.insert(key).second) continue;
        pending_.push_back({graph.library(), std::move(function), planner.Find(node->device())});
      }
    }
    return absl::OkStatus();
  }

  void PutOn(const std::string& device, const std::string& name) {
    const auto [place, is_new] = places_.emplace(name, device);
    if (is_new || place->second == device) return;
    // What had a place before may have a value there.
    if (options_.resource_places != nullptr && options_.resource_places->contains(name)) return;
    place->second = device;
    has_moved_ = true;
  }

  const PlanOptions& options_;
  ResourcePlaces places_;
  std::vector<Call> pending_;
  absl::flat_hash_set<std::string> visited_;  // device and function
  bool has_moved_ = false;
};

}  // namespace

absl::StatusOr<Plan> MakePlan(PlanInput input, const PlanOptions& options) {
  return Planner(std::move(input), options).Run();
}

absl::StatusOr<ResourcePlaces> PlaceResources(const Graph& graph, const PlanOptions& options) {
  return ResourcePlacer(options).Run(graph);
}

}  // namespace tessera
