#include "runtime/graph/placer.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// The cycle of a v1 loop variable, Enter -> Merge -> Switch -> Exit and NextIteration -> Merge: it
// must not cross devices, since each of these nodes runs in some iterations only.
bool IsLoopLink(const Node& from, const Node& to) {
  if (to.IsOp("Merge") || to.IsOp("RefMerge")) {
    return from.IsOp("Enter") || from.IsOp("RefEnter") || from.IsOp("NextIteration") ||
           from.IsOp("RefNextIteration");
  }
  if (to.IsOp("Switch") || to.IsOp("RefSwitch")) {
    return from.IsOp("Merge") || from.IsOp("RefMerge");
  }
  return to.IsOp("Exit") || to.IsOp("RefExit");
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

class Placer {
 public:
  Placer(const std::vector<Device*>& devices, const PlacementOptions& options, Graph* graph)
      : devices_(devices), options_(options), graph_(graph), groups_(graph->id_bound()) {}

  absl::Status Place() {
    for (Node* node : graph_->nodes()) RETURN_IF_ERROR(JoinNeighbours(node));
    std::vector<std::vector<Node*>> members(graph_->id_bound());
    for (Node* node : graph_->nodes()) members[groups_.Find(node->id())].push_back(node);
    for (const std::vector<Node*>& group : members) {
      if (!group.empty()) RETURN_IF_ERROR(PlaceGroup(group));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status JoinNeighbours(Node* node) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Endpoint& from = node->input(i);
      if (from.node == nullptr) continue;
      const DType type = node->input_type(i);
      if (IsRef(type) || type == DType::kResource || IsLoopLink(*from.node, *node)) {
        groups_.Join(node->id(), from.node->id());
      }
    }
    auto classes = node->attrs().find("_class");
    if (classes == node->attrs().end()) return absl::OkStatus();
    const auto* names = classes->second.get<std::vector<std::string>>();
    if (names == nullptr) return absl::OkStatus();
    for (absl::string_view name : *names) {
      if (!absl::ConsumePrefix(&name, "loc:@")) continue;
      // Pruning may have taken the node that this one wanted to be with.
      if (Node* other = graph_->FindNode(name)) groups_.Join(node->id(), other->id());
    }
    return absl::OkStatus();
  }

  absl::Status PlaceGroup(const std::vector<Node*>& group) {
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
  const Device* Choose(const std::vector<Node*>& group, const DeviceName& wanted) const {
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

  bool Runs(const Device& device, const Node& node) const {
    const KernelRegistry& kernels = KernelRegistry::Global();
    return !kernels.HasKernel(node.op_name()) ||
           kernels.Find(node.op_name(), device.type(), node.attrs()).ok();
  }

  absl::Status NoDevice(const std::vector<Node*>& group, const DeviceName& wanted) const {
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

  std::vector<std::string> Capable(const std::vector<Node*>& group) const {
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
  Groups groups_;
};

}  // namespace

absl::Status Place(const std::vector<Device*>& devices, const PlacementOptions& options,
                   Graph* graph) {
  return Placer(devices, options, graph).Place();
}

}  // namespace tessera
