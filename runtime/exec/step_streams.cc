#include "runtime/exec/step_streams.h"

#include <set>
#include <string>

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

// Returns whether the functions that the nodes of `graph` call use state. `seen` holds the names of
// those that were looked at.
bool CalledFunctionsUseState(const Graph& graph, std::set<std::string>* seen) {
  for (const Node* node : graph.nodes()) {
    for (const FunctionRef& function : CallsOf(graph, *node).functions) {
      if (!seen->insert(function.name).second) continue;
      if (graph.library() == nullptr) return true;
      const absl::StatusOr<FunctionBody> body = graph.library()->Instantiate(function);
      if (!body.ok()) return true;
      for (const Node* inner : body->graph->nodes()) {
        if (UsesState(*inner)) return true;
      }
      if (CalledFunctionsUseState(*body->graph, seen)) return true;
    }
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
  std::set<std::string> seen;
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
