// The planner: turns a graph into a plan, which says what runs on which device.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/exec/node_memory.h"
#include "runtime/framework/device.h"
#include "runtime/graph/graph.h"
#include "runtime/optimize/derived_constants.h"
#include "runtime/optimize/optimize.h"

namespace tessera {

class KeptPlans;  // runtime/exec/kept_plans.h

// The input of the planner: a graph whose arguments and results are `_Arg` and `_Retval` nodes, as
// Prune() and FunctionLibrary::Instantiate() give it.
struct PlanInput {
  std::unique_ptr<Graph> graph;
  std::vector<Node*> args;
  std::vector<Node*> results;
  // Nodes that run for what they do: targets of a run, control results of a function, the ends of
  // its channels to the outside.
  std::vector<Node*> targets;
};

// A graph for each device that takes part. A value: each part can be exported (graph_export.h) and
// sent to where its device is. Values that go from part to part are `_Send` and `_Recv` nodes that
// meet in the step's rendezvous; where a device has memory of its own, its part has the copies to
// and from the host's.
struct Plan {
  struct Part {
    std::string device;  // full name
    std::unique_ptr<Graph> graph;
  };
  std::vector<Part> parts;
  BoundaryMemory boundary;
  // The functions of the graph that was planned, the types of its arguments, and the number of its
  // results.
  std::shared_ptr<const FunctionLibrary> library;
  std::vector<DType> arg_types;
  int num_results = 0;
  // Tells what the derived constants of the parts are; null if there are none.
  IntrusivePtr<const DerivedConstants> derived;
};

// A session's use of the plans that sessions on the same graph keep for one another.
struct PlanReuse {
  std::shared_ptr<KeptPlans> plans;  // never null
  std::atomic<bool> keeps{true};     // whether new plans are kept
  std::atomic<int> num_made{0};      // how often there was no plan to use again
};

// On which device a resource lives, by its name (runtime/graph/resource_names.h). What a run leaves
// in a variable stays in the memory of one device, so that all plans of a session must agree on it.
using ResourcePlaces = std::map<std::string, std::string>;

struct PlanOptions {
  // The devices to which nodes may go; a node that asks for no device goes to the first that has a
  // kernel for it. There is a CPU among them. They outlive the plan.
  std::vector<Device*> devices;
  bool allow_soft_placement = true;
  bool log_device_placement = false;
  bool optimize = true;
  OptimizeOptions optimizer;
  // For the passes, see OptimizationItem.
  ThreadPool* pool = nullptr;
  ResourceManager* resources = nullptr;
  std::function<bool(const Node& variable)> is_frozen;
  // For a function's body: whose arguments these are, and whether the caller looks at the results.
  // Arguments and results are then on the caller's device; nodes that ask for no device go there if
  // they can. Null for a run, whose arguments and results are in host memory and wherever suits
  // those who read and give them.
  Device* caller = nullptr;
  bool results_on_host = false;
  // Plans to use again, and to keep; null: none. Only for sessions of a single CPU.
  PlanReuse* reuse = nullptr;
  // The devices of resources; others are placed by each plan for itself. Null: all others.
  std::shared_ptr<const ResourcePlaces> resource_places;

  // A single device that takes whatever asks for another needs no placement.
  bool NeedPlacement() const { return devices.size() > 1 || !allow_soft_placement; }
};

// The one way from a graph to something that can be compiled, of runs, callables, partial runs and
// functions alike: inlines calls, places nodes, runs the passes, splits by device, and puts copies
// where memory kinds differ. Calls are inlined before anything is placed, so that the nodes of a
// body go where they can run best, and not where their call would have been.
// Errors: those of Place() and Partition(). A pass that fails is left out, with a warning.
absl::StatusOr<Plan> MakePlan(PlanInput input, const PlanOptions& options);

// Decides where the resources of a whole graph and of the functions that it calls live, so that any
// part of it can run there. Those in `options.resource_places` stay where they are, and are in the
// result. Errors: those of Place().
absl::StatusOr<ResourcePlaces> PlaceResources(const Graph& graph, const PlanOptions& options);

}  // namespace tessera
