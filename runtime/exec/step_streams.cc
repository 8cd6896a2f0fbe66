#include "runtime/exec/step_streams.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "runtime/exec/planner.h"
#include "runtime/graph/function.h"
#include "runtime/graph/function_calls.h"

namespace tessera {
namespace {

bool UsesState(const Node& node) {
  if (node.op().Has(OpTrait::kOwnedByStep)) return false;
  const auto is_state = [](DType dtype) { return IsRef(dtype) || dtype == DType::kResource; };
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (is_state(node.input_type(i))) return true;
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (is_state(node.output_type(i))) return true;
  }
  return false;
}

// Number of functions that are looked at. A plan that calls more of them counts as one that uses
// state: functions that hand one another on in attributes can be too many to look at.
constexpr size_t kMaxFunctions = 2000;

// Returns whether the functions that the nodes of `graph` call use state. `seen` holds those that
// were looked at, with their attributes: a function may call what it is given in them.
bool CalledFunctionsUseState(const Graph& graph, absl::flat_hash_set<std::string>* seen) {
  std::vector<FunctionRef> open;
  const auto add_calls = [&](const Graph& caller) {
    for (const Node* node : caller.nodes()) {
      for (FunctionRef& function : CallsOf(caller, *node).functions) {
        if (seen->insert(AttrValue(function).ToString()).second) {
          open.push_back(std::move(function));
        }
      }
    }
  };
  add_calls(graph);
  while (!open.empty()) {
    if (graph.library() == nullptr || seen->size() > kMaxFunctions) return true;
    const FunctionRef function = std::move(open.back());
    open.pop_back();
    const absl::StatusOr<FunctionBody> body = graph.library()->Instantiate(function);
    if (!body.ok()) return true;
    const auto& nodes = body->graph->nodes();
    if (std::any_of(nodes.begin(), nodes.end(), [](const Node* n) { return UsesState(*n); })) {
      return true;
    }
    add_calls(*body->graph);
  }
  return false;
}

}  // namespace

StepStreams::~StepStreams() {
  for (const Taken& taken : taken_) {
    if (taken.pool != nullptr) taken.pool->Give(taken.number);
  }
}

void StepStreams::Take(Device* device, bool shares_state) {
  auto* const streams = dynamic_cast<MultiStreamDevice*>(device);
  if (streams == nullptr) {
    taken_.push_back({device, nullptr, 0});
    return;
  }
  StreamPool& pool = streams->streams();
  const int number = shares_state ? 0 : pool.Take();
  if (shares_state) pool.Use(number);
  taken_.push_back({device, &pool, number});
}

Device* StepStreams::Find(Device* device) const {
  for (const Taken& taken : taken_) {
    if (taken.device == device) return DeviceOf(taken);
  }
  return device;
}

std::vector<Stream*> StepStreams::streams() const {
  std::vector<Stream*> streams;
  for (const Taken& taken : taken_) streams.push_back(DeviceOf(taken)->stream());
  return streams;
}

Device* StreamDevice(const StepContext& step, Device* device) {
  if (device == nullptr || device->stream() == nullptr || step.step_resources == nullptr) {
    return device;
  }
  const auto found = step.step_resources->Lookup("", StepStreams::kTypeName, "");
  return found.ok() ? static_cast<const StepStreams&>(**found).Find(device) : device;
}

bool SharesState(const Plan& plan, absl::Span<Device* const> devices) {
  const bool has_streams = std::any_of(devices.begin(), devices.end(), [](const Device* device) {
    return device->stream() != nullptr;
  });
  if (!has_streams) return false;
  absl::flat_hash_set<std::string> seen;
  for (const Plan::Part& part : plan.parts) {
    for (const Device* device : devices) {
      if (device->full_name() != part.device || device->stream() == nullptr) continue;
      for (const Node* node : part.graph->nodes()) {
        if (UsesState(*node)) return true;
      }
    }
    if (CalledFunctionsUseState(*part.graph, &seen)) return true;
  }
  return false;
}

}  // namespace tessera
