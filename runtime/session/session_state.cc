#include "runtime/session/session_state.h"

#include <utility>

#include "absl/time/clock.h"
#include "runtime/base/status.h"

namespace tessera {

SessionState::SessionState(const SessionOptions& session_options,
                           std::vector<std::unique_ptr<Device>> session_devices,
                           std::shared_ptr<PlanReuse> reuse)
    : options(session_options),
      host(session_options.host != nullptr
               ? session_options.host
               : std::make_shared<Host>(
                     Host::Options{.intra_op_threads = session_options.intra_op_threads,
                                   .inter_op_threads = session_options.inter_op_threads})),
      devices(std::move(session_devices)),
      // Where there are several devices, a plan depends on more than the graph.
      plan_reuse(devices.size() == 1 && options.allow_soft_placement ? std::move(reuse) : nullptr) {
}

PlanOptions SessionState::Planning() const {
  absl::MutexLock lock(&mu_);
  return PlanningLocked();
}

PlanOptions SessionState::PlanningLocked() const {
  PlanOptions planning;
  for (const auto& device : devices) planning.devices.push_back(device.get());
  planning.allow_soft_placement = options.allow_soft_placement;
  planning.log_device_placement = options.log_device_placement;
  planning.optimize = options.optimize;
  planning.optimizer = options.optimizer;
  planning.pool = host->intra_op_pool();
  planning.resources = const_cast<ResourceManager*>(&resources);
  planning.resource_places = places_;
  if (is_frozen_ != nullptr) planning.is_frozen = *is_frozen_;
  planning.reuse = plan_reuse.get();
  return planning;
}

LocalFunctionRuntime* SessionState::FunctionsFor(
    const std::shared_ptr<const FunctionLibrary>& library) {
  absl::MutexLock lock(&mu_);
  for (const Functions& functions : functions_) {
    if (functions.library == library && functions.is_frozen == is_frozen_) {
      return functions.runtime.get();
    }
  }
  LocalFunctionRuntime::Options runtime_options;
  runtime_options.library = library;
  runtime_options.planning = PlanningLocked();
  runtime_options.executor = options.executor;
  runtime_options.numerics = options.numerics;
  functions_.push_back(
      {library, is_frozen_, std::make_unique<LocalFunctionRuntime>(std::move(runtime_options))});
  return functions_.back().runtime.get();
}

absl::Status SessionState::PlaceResourcesOf(const Graph& graph) {
  const PlanOptions planning = Planning();
  if (!planning.NeedPlacement()) return absl::OkStatus();
  ASSIGN_OR_RETURN(ResourcePlaces places, PlaceResources(graph, planning));
  absl::MutexLock lock(&mu_);
  places_ = std::make_shared<ResourcePlaces>(std::move(places));
  return absl::OkStatus();
}

absl::Status SessionState::Freeze(std::shared_ptr<const KeptPlans::IsFrozen> is_frozen) {
  absl::MutexLock lock(&mu_);
  if (is_frozen_ != nullptr) {
    return absl::FailedPreconditionError("the session's variables were frozen before");
  }
  is_frozen_ = std::move(is_frozen);
  return absl::OkStatus();
}

Step::Step(SessionState& state, const RunOptions& options, Rendezvous* rendezvous)
    : state_(state),
      rendezvous_(rendezvous != nullptr ? rendezvous : &own_rendezvous_.emplace()),
      entry_(state.running, &cancellation_, rendezvous_),
      callers_(options.cancellation) {
  context_.step_id = state.next_step_id.fetch_add(1, std::memory_order_relaxed);
  context_.resources = &state.resources;
  context_.step_resources = &resources_;
  context_.cancellation = &cancellation_;
  context_.rendezvous = rendezvous_;
  context_.intra_op_pool = state.host->intra_op_pool();
  context_.inter_op_pool = options.run_on_caller ? nullptr : &state.host->inter_op_pool();
  const absl::Duration timeout =
      options.timeout == absl::InfiniteDuration() ? state.options.default_timeout : options.timeout;
  if (timeout != absl::InfiniteDuration()) context_.deadline = absl::Now() + timeout;
  if (callers_ != nullptr) {
    cancelled_before_start_ = !callers_->Register(
        [this] { Cancel(absl::CancelledError("the caller cancelled the step")); }, &token_);
  }
}

Step::~Step() {
  if (callers_ != nullptr && !cancelled_before_start_) callers_->Deregister(token_);
}

absl::Status Step::CheckStart() const {
  // After the step is in the list of running ones: a step either sees the session closed here, or
  // is seen by Close().
  if (state_.closed.load(std::memory_order_seq_cst)) {
    return absl::FailedPreconditionError("the session is closed");
  }
  if (cancelled_before_start_) {
    return absl::CancelledError("the step was cancelled before it started");
  }
  return absl::OkStatus();
}

void Step::Cancel(const absl::Status& reason) {
  rendezvous_->Abort(reason);
  cancellation_.Cancel();
}

}  // namespace tessera
