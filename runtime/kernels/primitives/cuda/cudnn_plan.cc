#include "runtime/kernels/primitives/cuda/cudnn_plan.h"

#include <algorithm>
#include <utility>

namespace tessera::cuda {
namespace {

// What cuDNN says of an engine.
struct EngineNotes {
  bool rounds_operands = false;
  bool varies = false;    // from run to run
  bool compiles = false;  // a kernel, when a plan is made, which takes about a second
};
absl::StatusOr<EngineNotes> NotesOf(const Cudnn& cudnn, const Descriptor& configuration) {
  ASSIGN_OR_RETURN(Descriptor engine, Descriptor::Make(cudnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  cudnnBackendDescriptor_t handle = engine.handle();
  RETURN_IF_ERROR(configuration
                      .Get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                           absl::MakeSpan(&handle, 1))
                      .status());
  cudnnBackendNumericalNote_t values[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  ASSIGN_OR_RETURN(const int64_t count,
                   engine.Get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                              absl::MakeSpan(values)));
  EngineNotes notes;
  for (int64_t i = 0; i < count; ++i) {
    notes.rounds_operands |= values[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
                             values[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
                             values[i] == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;
    notes.varies |= values[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
  }
  cudnnBackendBehaviorNote_t behaviours[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT];
  ASSIGN_OR_RETURN(const int64_t num_behaviours,
                   engine.Get(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                              absl::MakeSpan(behaviours)));
  for (int64_t i = 0; i < num_behaviours; ++i) {
    notes.compiles |= behaviours[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
  }
  return notes;
}

// What cuDNN's heuristics propose in a mode, the best first.
absl::StatusOr<std::vector<Descriptor>> Propose(const Cudnn& cudnn, const Descriptor& graph,
                                                const PlanTarget& target,
                                                cudnnBackendHeurMode_t mode) {
  std::vector<Descriptor> proposals;
  ASSIGN_OR_RETURN(Descriptor heuristics,
                   Descriptor::Make(cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  RETURN_IF_ERROR(heuristics.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
  RETURN_IF_ERROR(heuristics.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode));
  if (target.properties != nullptr) {
    RETURN_IF_ERROR(heuristics.Set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties));
  }
  if (heuristics.TryFinalize() != CUDNN_STATUS_SUCCESS) return proposals;
  constexpr int64_t kMaxProposals = 64;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int64_t i = 0; i < kMaxProposals; ++i) {
    ASSIGN_OR_RETURN(Descriptor configuration,
                     Descriptor::Make(cudnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    handles.push_back(configuration.handle());
    proposals.push_back(std::move(configuration));
  }
  ASSIGN_OR_RETURN(const int64_t count,
                   heuristics.Get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                  absl::MakeSpan(handles)));
  while (static_cast<int64_t>(proposals.size()) > count) proposals.pop_back();
  return proposals;
}

}  // namespace

absl::StatusOr<std::optional<Descriptor>> ChoosePlan(const CudnnGraph& graph,
                                                     const PlanTarget& target,
                                                     const PlanLimits& limits) {
  const Cudnn& cudnn = graph.cudnn();
  ASSIGN_OR_RETURN(Descriptor described,
                   Descriptor::Make(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  if (target.handle != nullptr) {
    RETURN_IF_ERROR(
        described.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target.handle));
  }
  RETURN_IF_ERROR(described.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                absl::MakeConstSpan(graph.operations())));
  if (described.TryFinalize() != CUDNN_STATUS_SUCCESS) return std::nullopt;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    ASSIGN_OR_RETURN(const std::vector<Descriptor> proposals,
                     Propose(cudnn, described, target, mode));
    // What is refused after so many kernels were compiled would not pay for more.
    constexpr int kMaxCompiled = 4;
    int num_compiled = 0;
    for (const Descriptor& proposal : proposals) {
      ASSIGN_OR_RETURN(const EngineNotes notes, NotesOf(cudnn, proposal));
      if (notes.varies || (limits.exact && notes.rounds_operands)) continue;
      if (notes.compiles && ++num_compiled > kMaxCompiled) continue;
      ASSIGN_OR_RETURN(Descriptor plan,
                       Descriptor::Make(cudnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
      if (target.handle != nullptr) {
        RETURN_IF_ERROR(
            plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle));
      } else {
        RETURN_IF_ERROR(plan.Set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties));
      }
      RETURN_IF_ERROR(plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, proposal));
      if (plan.TryFinalize() != CUDNN_STATUS_SUCCESS) continue;
      int64_t needed = 0;
      RETURN_IF_ERROR(plan.Get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                               absl::MakeSpan(&needed, 1))
                          .status());
      if (needed <= static_cast<int64_t>(limits.workspace_size)) return plan;
    }
  }
  return std::nullopt;
}

absl::Status ExecutePlan(const Cudnn& cudnn, cudnnHandle_t handle, const Descriptor& plan,
                         void* workspace, const Bindings& bindings) {
  ASSIGN_OR_RETURN(Descriptor pack, Descriptor::Make(cudnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                           absl::MakeConstSpan(bindings.data)));
  RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
                           absl::MakeConstSpan(bindings.ids)));
  RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace));
  RETURN_IF_ERROR(pack.Finalize("the operands of a graph"));
  return CudnnStatus(cudnn, cudnn.cudnnBackendExecute(handle, plan.handle(), pack.handle()),
                     "a graph");
}

}  // namespace tessera::cuda
