// Admit: lets a call run when the limits of its model allow that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "serving/admission/model_admission.h"
#include "serving/frontend/routed_model.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/request_stats.h"

namespace tessera::serving {

// Returns OK if the limits of a model allow a message of this size. Errors: RESOURCE_EXHAUSTED.
inline absl::Status CheckBytes(const RoutedModel& model, size_t bytes) {
  if (model.admission() == nullptr) [[likely]]
    return absl::OkStatus();
  return model.admission()->CheckBytes(static_cast<int64_t>(bytes));
}

// Calls `go_on(here)` once `call->model` admits the call, or `refuse(status)`. `here` is true if
// that is at once, on this thread; later it is on a thread that must not be kept. `options()`
// returns the CallOptions of the call, which must live until one of the two has been called. The
// time that it waits is added to `call->times`. See ModelAdmission::Request for `watch_client`.
template <typename Call, typename Options, typename GoOn, typename Refuse,
          typename WatchClient = std::nullptr_t>
void Admit(Call* call, Options options, GoOn go_on, Refuse refuse,
           WatchClient watch_client = nullptr) {
  RoutedModel& model = call->model;
  if (!model.must_be_admitted()) [[likely]]
    return go_on(true);
  const CallOptions limits = options();
  auto resume = [call, go_on, refuse, since = absl::Now()](const absl::Status& status) {
    call->times.waited += absl::Now() - since;
    status.ok() ? go_on(false) : refuse(status);
  };
  const absl::StatusOr<bool> runs_now =
      model.admission()->Admit({.arrived = call->times.arrived,
                                .deadline = limits.deadline,
                                .cancellation = limits.cancellation,
                                .watch_client = std::move(watch_client)},
                               &model.ticket(), std::move(resume));
  if (!runs_now.ok()) return refuse(runs_now.status());
  if (*runs_now) go_on(true);
}

}  // namespace tessera::serving
