// ModelAdmission: which requests to one model run now, which wait, and which are refused.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/base/cancellation.h"
#include "serving/admission/limits_config.h"
#include "serving/core/metrics.h"
#include "serving/core/timer.h"

namespace tessera::serving {

class ModelAdmission;

// The limit `timeout_ms` as it held when a request arrived.
struct RequestTimeout {
  absl::Time deadline = absl::InfiniteFuture();
  int64_t milliseconds = 0;  // from the arrival to the deadline, if there is one
};

// The leave to run one request. Its destructor lets the next one run. Movable; empty unless a
// request was admitted, and after it was moved from.
class AdmissionTicket {
 public:
  AdmissionTicket() = default;
  AdmissionTicket(AdmissionTicket&& other) noexcept
      : model_(std::exchange(other.model_, nullptr)), timeout_(other.timeout_) {}
  AdmissionTicket& operator=(AdmissionTicket&& other) noexcept {
    std::swap(model_, other.model_);
    std::swap(timeout_, other.timeout_);
    return *this;
  }
  ~AdmissionTicket();

  bool has_value() const { return model_ != nullptr; }
  // The time by which the model's limit ends the request; InfiniteFuture() without such a limit.
  absl::Time deadline() const { return timeout_.deadline; }
  // Counts a run that the deadline has ended, and returns the error for it.
  absl::Status RunTimedOut() const;

 private:
  friend class ModelAdmission;
  AdmissionTicket(ModelAdmission* model, RequestTimeout timeout)
      : model_(model), timeout_(timeout) {}

  ModelAdmission* model_ = nullptr;
  RequestTimeout timeout_;
};

// Applies the limits of one model. A request that must wait holds no thread.
//
//   AdmissionTicket ticket;     // must stay where it is until `resume` is called
//   absl::StatusOr<bool> now = admission->Admit(request, &ticket, [...](absl::Status status) {
//     // later, on another thread: the request may run, or must be answered with an error
//   });
//   if (!now.ok()) ...          // refused
//   if (*now) ...               // it may run; `resume` will not be called
//
// Thread-safe. Requests must have ended, and their tickets with them, before this is destroyed.
class ModelAdmission {
 public:
  // The counter has the labels model_name and reason. `timer` and `refused` must outlive this.
  ModelAdmission(std::string model_name, Timer* timer, CounterFamily* refused)
      : name_(std::move(model_name)), timer_(timer), refused_(refused) {}
  ModelAdmission(const ModelAdmission&) = delete;
  ModelAdmission& operator=(const ModelAdmission&) = delete;

  // Replaces the limits. Requests that wait and may now run are resumed; none is refused because a
  // limit was lowered, and deadlines stay as they are.
  void SetLimits(const LimitsConfig& limits) ABSL_LOCKS_EXCLUDED(mu_);

  struct Request {
    absl::Time arrived;
    absl::Time deadline = absl::InfiniteFuture();  // the client's
    // Ends the wait when the client goes. May be null; must live until the request is answered.
    CancellationManager* cancellation = nullptr;
    // If the request waits, this is called with what ends its wait when its client is gone. Null:
    // it is not called.
    std::function<void(std::function<void()> give_up)> watch_client = nullptr;
  };
  // Called once, on a thread that must not be kept long: that of a request which ends, of a timer,
  // or of whoever cancels.
  using Resume = std::function<void(absl::Status)>;

  // Returns true if a request may run now, and fills its ticket. Returns false if it waits; then
  // `resume` is called once, perhaps before this returns: with OK when it may run, its ticket being
  // filled; with DEADLINE_EXCEEDED when its time is over; with CANCELLED. Errors:
  // RESOURCE_EXHAUSTED if too many wait already; DEADLINE_EXCEEDED; CANCELLED. After an error,
  // `resume` is not called.
  absl::StatusOr<bool> Admit(const Request& request, AdmissionTicket* ticket, Resume resume)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Returns the largest message that a request may have; nullopt if any.
  std::optional<int64_t> max_request_bytes() const ABSL_LOCKS_EXCLUDED(mu_);
  // Returns OK if a message of this size may be read. Errors: RESOURCE_EXHAUSTED.
  absl::Status CheckBytes(int64_t bytes) const ABSL_LOCKS_EXCLUDED(mu_);
  // Refuses a message that was read up to the limit and goes on. Returns RESOURCE_EXHAUSTED.
  absl::Status TooManyBytes() const ABSL_LOCKS_EXCLUDED(mu_);

  // Return the numbers of requests that have a ticket, and that wait.
  int num_running() const ABSL_LOCKS_EXCLUDED(mu_);
  int num_waiting() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  friend class AdmissionTicket;
  struct Waiter {
    AdmissionTicket* ticket;
    Resume resume;
    RequestTimeout timeout;
    absl::Time client_deadline;
    absl::Time deadline;  // the earlier one of the two
    CancellationManager* cancellation;
    CancellationManager::Token cancellation_token = 0;
    Timer::Token timer_token = 0;
  };
  using Waiters = absl::btree_map<int64_t, Waiter>;  // by number, in order of arrival

  // Adds a request to the queue. Returns what ends its wait. Errors: as for Admit().
  absl::StatusOr<std::function<void()>> Enqueue(Waiter waiter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasPlace() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Removes the next waiting request and gives it a place. Returns its resumption.
  Resume GivePlace() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StopWatching(const Waiter& waiter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Ends the wait of a request, unless that has ended.
  void GiveUp(int64_t number) ABSL_LOCKS_EXCLUDED(mu_);
  void ReturnPlace() ABSL_LOCKS_EXCLUDED(mu_);

  // `size` is a number of bytes, or "more".
  absl::Status Oversized(int64_t limit, absl::string_view size) const;
  absl::Status QueueIsFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status WaitEnded(const Waiter& waiter) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TimedOut(const RequestTimeout& timeout, absl::string_view reason,
                        absl::string_view where) const;
  void CountRefused(absl::string_view reason) const { refused_->Get({name_, reason}).Increment(); }

  const std::string name_;
  Timer* const timer_;
  CounterFamily* const refused_;
  mutable absl::Mutex mu_;
  LimitsConfig limits_ ABSL_GUARDED_BY(mu_);
  int64_t num_running_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t next_number_ ABSL_GUARDED_BY(mu_) = 0;
  Waiters waiting_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera::serving
