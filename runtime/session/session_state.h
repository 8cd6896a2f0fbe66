// The state that the runs of a session share. Callables keep it alive after the session.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "runtime/exec/function_runtime.h"
#include "runtime/exec/kept_plans.h"
#include "runtime/exec/kernel_store.h"
#include "runtime/exec/rendezvous.h"
#include "runtime/host/host.h"
#include "runtime/session/running_steps.h"
#include "runtime/session/session.h"

namespace tessera {

// Thread-safe. Members are declared before those that refer to them: resources such as iterators
// call functions, functions run kernels, and kernels run on devices and pools.
struct SessionState {
  // `reuse` are the plans that the session shares with others on its graph; null: none.
  SessionState(const SessionOptions& options, std::vector<std::unique_ptr<Device>> devices,
               std::shared_ptr<PlanReuse> reuse);

  // Returns the options with which runs and functions are planned.
  PlanOptions Planning() const;
  // Returns the function runtime of a library, which is made on the first call, and anew on the
  // first call after Freeze().
  LocalFunctionRuntime* FunctionsFor(const std::shared_ptr<const FunctionLibrary>& library);

  // Decides on which devices the resources of a graph live that have no place yet. All plans of the
  // session follow the decision. Errors: those of PlaceResources().
  absl::Status PlaceResourcesOf(const Graph& graph);

  // Makes the variables for which `is_frozen` is true constants in everything that is planned
  // later. Errors: FAILED_PRECONDITION for a second call.
  absl::Status Freeze(std::shared_ptr<const KeptPlans::IsFrozen> is_frozen);

  const SessionOptions options;
  const std::shared_ptr<Host> host;                    // never null
  const std::vector<std::unique_ptr<Device>> devices;  // those of the highest priority first
  RunningSteps running;
  std::atomic<int64_t> next_step_id{1};
  std::atomic<bool> closed{false};
  const std::shared_ptr<PlanReuse> plan_reuse;  // null: the session shares no plans

 private:
  struct Functions {
    std::shared_ptr<const FunctionLibrary> library;
    std::shared_ptr<const KeptPlans::IsFrozen> is_frozen;
    std::unique_ptr<LocalFunctionRuntime> runtime;
  };
  PlanOptions PlanningLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  std::shared_ptr<const KeptPlans::IsFrozen> is_frozen_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const ResourcePlaces> places_ ABSL_GUARDED_BY(mu_);
  std::vector<Functions> functions_ ABSL_GUARDED_BY(mu_);

 public:
  KernelStore kernels;
  ResourceManager resources;
};

// One step from its start to its end: the context that kernels see, and the objects it points to.
// It cannot be moved, because other objects point into it.
class Step {
 public:
  // The parts of the step, in this process or in others, exchange tensors through `rendezvous`,
  // which must outlive the step. If it is null, the step has a rendezvous of its own.
  Step(SessionState& state, const RunOptions& options, Rendezvous* rendezvous = nullptr);
  ~Step();
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Errors: FAILED_PRECONDITION if the session is closed; CANCELLED if the caller has cancelled.
  absl::Status CheckStart() const;
  StepContext& context() { return context_; }
  Rendezvous& rendezvous() { return *rendezvous_; }
  // Wakes all kernels of the step that wait, which then fail with `reason`.
  void Cancel(const absl::Status& reason);

 private:
  SessionState& state_;
  ResourceManager resources_;
  CancellationManager cancellation_;
  absl::optional<LocalRendezvous> own_rendezvous_;
  Rendezvous* const rendezvous_;
  StepContext context_;
  RunningSteps::Entry entry_;
  CancellationManager* const callers_;  // the caller's; may be null
  CancellationManager::Token token_ = 0;
  bool cancelled_before_start_ = false;
};

}  // namespace tessera
