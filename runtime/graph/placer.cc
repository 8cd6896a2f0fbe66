#include "runtime/graph/placer.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/graph/control_flow_nodes.h"
#include "runtime/graph/function.h"
#include "runtime/graph/function_calls.h"
#include "runtime/graph/resource_names.h"

namespace tessera {
namespace {

// The cycle of a v1 loop variable, Enter -> Merge -> Switch -> Exit and NextIteration -> Merge: it
// must not cross devices, since each of these nodes runs in some iterations only.
bool IsLoopLink(const Node& from, const Node& to) {
  if (IsMerge(to)) return IsEnter(from) || IsNextIteration(from);
  if (IsSwitch(to)) return IsMerge(from);
  return IsExit(to);
}

// Sets of nodes that must be on one device, by union and find.
class Groups {
 public:
  explicit Groups(int num_nodes) : parent_(num_nodes) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int Find(int id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  // The lower id stays the representative: groups are placed in order of their first node.
  void Join(int a, int b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<int> parent_;
};

bool IsStateful(DType type) { return IsRef(type) || type == DType::kResource; }

// A resource starts at this node: its handle or reference comes from here.
bool GivesResource(const Node& node) {
  return std::any_of(node.output_types().begin(), node.output_types().end(), IsStateful) &&
         std::none_of(node.input_types().begin(), node.input_types().end(), IsStateful);
}

// The sets of nodes of `graph` that must be on one device.
std::vector<std::vector<Node*>> GroupsOf(const Graph& graph) {
  Groups groups(graph.id_bound());
  absl::flat_hash_map<std::string, int> makers;  // of resources, by name
  for (const Node* node : graph.nodes()) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Endpoint& from = node->input(i);
      if (from.node == nullptr) continue;
      if (IsStateful(node->input_type(i)) || IsLoopLink(*from.node, *node)) {
        groups.Join(node->id(), from.node->id());
      }
    }
    for (const std::string& name : ResourceNames(*node)) {
      groups.Join(node->id(), makers.emplace(name, node->id()).first->second);
    }
    auto classes = node->attrs().find("_class");
    if (classes == node->attrs().end()) continue;
    const auto* names = classes->second.get<std::vector<std::string>>();
    if (names == nullptr) continue;
    for (absl::string_view name : *names) {
      if (!absl::ConsumePrefix(&name, "loc:@")) continue;
      // Pruning may have taken the node that this one wanted to be with.
      if (Node* other = graph.FindNode(name)) groups.Join(node->id(), other->id());
    }
  }
  std::vector<std::vector<Node*>> members(graph.id_bound());
  for (Node* node : graph.nodes()) members[groups.Find(node->id())].push_back(node);
  std::erase_if(members, [](const std::vector<Node*>& group) { return group.empty(); });
  return members;
}

// Tells which nodes devices have kernels for.
class Capabilities {
 public:
  // True if the device has a kernel for the node, and, where the node passes resources on to
  // functions, for what works on these there. Ops without any kernel count as functions.
  bool Runs(const Device& device, const Graph& graph, const Node& node) {
    const KernelRegistry& kernels = KernelRegistry::Global();
    if (kernels.HasKernel(node.op_name()) &&
        !kernels.Find(node.op_name(), device.type(), node.attrs()).ok()) {
      return false;
    }
    if (std::none_of(node.input_types().begin(), node.input_types().end(), IsStateful)) return true;
    if (graph.library() == nullptr) return true;  // a call of nothing, which compiling it will tell
    const std::vector<FunctionRef> functions = CallsOf(graph, node).functions;
    return std::all_of(functions.begin(), functions.end(), [&](const FunctionRef& function) {
      return RunsOnResources(device, *graph.library(), function);
    });
  }

 private:
  bool RunsOnResources(const Device& device, const FunctionLibrary& library,
                       const FunctionRef& function) {
    const std::string key = absl::StrCat(device.type(), " ", AttrValue(function).ToString());
    // A function that calls itself does what its other nodes do.
    const auto [known, is_new] = known_.emplace(key, true);
    if (!is_new) return known->second;
    if (depth_ == kMaxDepth) return true;
    const absl::StatusOr<FunctionBody> body = library.Instantiate(function);
    if (!body.ok()) return true;  // which compiling the call will tell
    ++depth_;
    bool runs = true;
    for (const std::vector<Node*>& group : GroupsOf(*body->graph)) {
      const bool has_argument = std::any_of(group.begin(), group.end(), [](const Node* node) {
        return node->IsOp("_Arg") && IsStateful(node->output_type(0));
      });
      runs = runs && (!has_argument || std::all_of(group.begin(), group.end(), [&](Node* node) {
               return Runs(device, *body->graph, *node);
             }));
    }
    --depth_;
    return known_[key] = runs;
  }

  // Calls nested deeper do not compile.
  static constexpr int kMaxDepth = 200;
  int depth_ = 0;
  absl::flat_hash_map<std::string, bool> known_;  // by device type and function
};

class Placer {
 public:
  Placer(const std::vector<Device*>& devices, const PlacementOptions& options, Graph* graph)
      : devices_(devices), options_(options), graph_(graph) {}

  absl::Status Place() {
    for (std::vector<Node*>& group : GroupsOf(*graph_)) RETURN_IF_ERROR(PlaceGroup(group));
    return absl::OkStatus();
  }

 private:
  absl::Status PlaceGroup(std::vector<Node*>& group) {
    // Users of a resource go where the resource is, whatever they ask for.
    std::stable_partition(group.begin(), group.end(),
                          [](const Node* node) { return GivesResource(*node); });
    DeviceName wanted;
    absl::Status clash;
    for (const Node* node : group) {
      auto name = DeviceName::Parse(node->device());
      if (!name.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("node '", node->name(), "': ", name.status().message()));
      }
      DeviceName merged = wanted;
      if (absl::Status status = merged.MergeFrom(*name); status.ok()) {
        wanted = std::move(merged);
      } else if (clash.ok()) {
        clash = absl::InvalidArgumentError(
            absl::StrCat("node '", node->name(), "' must be on one device with node '",
                         group.front()->name(), "': ", status.message()));
      }
    }
    if (!clash.ok() && !options_.allow_soft_placement) return clash;
    const Device* device = Choose(group, wanted);
    if (device == nullptr) return NoDevice(group, wanted);
    const std::string name = device->name().ToString();
    for (Node* node : group) {
      node->set_device(name);
      if (options_.log_device_placement) {
        LOG(INFO) << "node '" << node->name() << "' (" << node->op_name() << ") is on " << name;
      }
    }
    return absl::OkStatus();
  }

  // The first that matches and runs everything; if placement is soft, then the first that runs
  // everything, then the first that matches, then the first.
  const Device* Choose(const std::vector<Node*>& group, const DeviceName& wanted) {
    const Device* matching = nullptr;
    const Device* capable = nullptr;
    for (const Device* device : devices_) {
      const bool matches = wanted.Matches(device->name());
      const bool runs = std::all_of(group.begin(), group.end(),
                                    [&](const Node* node) { return Runs(*device, *node); });
      if (matches && runs) return device;
      if (matches && matching == nullptr) matching = device;
      if (runs && capable == nullptr) capable = device;
    }
    if (!options_.allow_soft_placement) return nullptr;
    if (capable != nullptr) return capable;
    return matching != nullptr ? matching : devices_.front();
  }

  bool Runs(const Device& device, const Node& node) {
    return capabilities_.Runs(device, *graph_, node);
  }

  absl::Status NoDevice(const std::vector<Node*>& group, const DeviceName& wanted) {
    const std::string name = wanted.ToString();
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot place node '", group.front()->name(), "' (", group.front()->op_name(), ")",
        group.size() > 1 ? absl::StrCat(" and ", group.size() - 1, " that must be with it") : "",
        name.empty() ? "" : absl::StrCat(" on '", name, "'"),
        "; devices with kernels for it: ", absl::StrJoin(Capable(group), ", "), "; all devices: ",
        absl::StrJoin(devices_, ", ", [](std::string* out, const Device* device) {
          absl::StrAppend(out, device->name().ToString());
        })));
  }

  std::vector<std::string> Capable(const std::vector<Node*>& group) {
    std::vector<std::string> names;
    for (const Device* device : devices_) {
      if (std::all_of(group.begin(), group.end(),
                      [&](const Node* node) { return Runs(*device, *node); })) {
        names.push_back(device->name().ToString());
      }
    }
    if (names.empty()) names.push_back("none");
    return names;
  }

  const std::vector<Device*>& devices_;
  const PlacementOptions& options_;
  Graph* const graph_;
  Capabilities capabilities_;
};

}  // namespace

absl::Status Place(const std::vector<Device*>& devices, const PlacementOptions& options,
                   Graph* graph) {
  return Placer(devices, options, graph).Place();
}

}  // namespace tessera
