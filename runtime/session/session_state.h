// What the runs of a session share, and what outlives the session as long as callables do.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "runtime/exec/function_runtime.h"
#include "runtime/exec/kernel_store.h"
#include "runtime/exec/rendezvous.h"
#include "runtime/host/host.h"
#include "runtime/session/running_steps.h"
#include "runtime/session/session.h"
#include "runtime/session/variable_writes.h"

namespace tessera {

// Thread-safe. Members are ordered by who refers to whom: resources (iterators, for one) call
// functions, functions run kernels, kernels run on devices and pools.
struct SessionState {
  SessionState(const SessionOptions& options, std::vector<std::unique_ptr<Device>> devices);

  // How the session's runs and functions are planned.
  PlanOptions Planning() const;
  // The function runtime for this library; made once, and once more after Freeze().
  LocalFunctionRuntime* FunctionsFor(const std::shared_ptr<const FunctionLibrary>& library);

  // Decides where the resources of a graph live that are not placed yet, from which all runs of the
  // session then take it. Errors: those of PlaceResources().
  absl::Status PlaceResourcesOf(const Graph& graph);

  // From now on variables that `writes` does not name are constants. Errors: FAILED_PRECONDITION
  // if there was such a call before.
  absl::Status Freeze(std::shared_ptr<const VariableWrites> writes);

  const SessionOptions options;
  const std::shared_ptr<Host> host;                    // never null
  const std::vector<std::unique_ptr<Device>> devices;  // those of the highest priority first
  RunningSteps running;
  std::atomic<int64_t> next_step_id{1};
  std::atomic<bool> closed{false};

 private:
  struct Functions {
    std::shared_ptr<const FunctionLibrary> library;
    std::shared_ptr<const VariableWrites> writes;
    std::unique_ptr<LocalFunctionRuntime> runtime;
  };
  PlanOptions PlanningLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  std::shared_ptr<const VariableWrites> writes_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const ResourcePlaces> places_ ABSL_GUARDED_BY(mu_);
  std::vector<Functions> functions_ ABSL_GUARDED_BY(mu_);

 public:
  KernelStore kernels;
  ResourceManager resources;
};

// A step from its start to its end: the context that kernels see, and what stands behind it.
// Not movable: others point into it.
class Step {
 public:
  // Parts of the step, here or in other processes, meet in `rendezvous`, which must outlive the
  // step; null: in one of its own.
  Step(SessionState& state, const RunOptions& options, Rendezvous* rendezvous = nullptr);
  ~Step();
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // CANCELLED if the session is closed or the caller has cancelled already.
  absl::Status CheckStart() const;
  StepContext& context() { return context_; }
  Rendezvous& rendezvous() { return *rendezvous_; }
  // Wakes whatever waits in the step.
  void Cancel(const absl::Status& reason);

 private:
  SessionState& state_;
  ResourceManager resources_;
  CancellationManager cancellation_;
  absl::optional<LocalRendezvous> own_rendezvous_;
  Rendezvous* const rendezvous_;
  StepContext context_;
  RunningSteps::Entry entry_;
  CancellationManager* const callers_;  // null: nobody else can cancel
  CancellationManager::Token token_ = 0;
  bool cancelled_before_start_ = false;
};

}  // namespace tessera
