#include "serving/admission/model_admission.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

// The values of the label `reason`.
constexpr absl::string_view kRequestBytes = "request_bytes";
constexpr absl::string_view kQueueFull = "queue_full";
constexpr absl::string_view kTimedOutWaiting = "timeout_waiting";
constexpr absl::string_view kTimedOutRunning = "timeout_running";

// How much earlier than a deadline passes here the client may have given up because of it.
constexpr absl::Duration kGrace = absl::Milliseconds(20);

}  // namespace

AdmissionTicket::~AdmissionTicket() {
  if (model_ != nullptr) model_->ReturnPlace();
}

absl::Status AdmissionTicket::RunTimedOut() const {
  return model_->TimedOut(timeout_, kTimedOutRunning, "it was still running");
}

void ModelAdmission::SetLimits(const LimitsConfig& limits) {
  std::vector<Resume> resumed;
  {
    absl::MutexLock lock(&mu_);
    limits_ = limits;
    while (!waiting_.empty() && HasPlace()) resumed.push_back(GivePlace());
  }
  for (const Resume& resume : resumed) resume(absl::OkStatus());
}

absl::StatusOr<bool> ModelAdmission::Admit(const Request& request, AdmissionTicket* ticket,
                                           Resume resume) {
  std::function<void()> give_up;
  {
    absl::MutexLock lock(&mu_);
    RequestTimeout timeout;
    if (limits_.has_timeout_ms()) {
      timeout = {request.arrived + absl::Milliseconds(limits_.timeout_ms()), limits_.timeout_ms()};
    }
    if (HasPlace()) {
      ++num_running_;
      *ticket = AdmissionTicket(this, timeout);
      return true;
    }
    ASSIGN_OR_RETURN(give_up, Enqueue({.ticket = ticket,
                                       .resume = std::move(resume),
                                       .timeout = timeout,
                                       .client_deadline = request.deadline,
                                       .deadline = std::min(request.deadline, timeout.deadline),
                                       .cancellation = request.cancellation}));
  }
  if (request.watch_client != nullptr) request.watch_client(std::move(give_up));
  return false;
}

absl::StatusOr<std::function<void()>> ModelAdmission::Enqueue(Waiter waiter) {
  const int64_t max_queue = limits_.has_max_queue() ? limits_.max_queue() : kDefaultMaxQueue;
  if (static_cast<int64_t>(waiting_.size()) >= max_queue) return QueueIsFull();
  const int64_t number = next_number_++;
  const auto give_up = [this, number] { GiveUp(number); };
  if (waiter.cancellation != nullptr &&
      !waiter.cancellation->Register(give_up, &waiter.cancellation_token)) {
    return WaitEnded(waiter);
  }
  if (waiter.deadline != absl::InfiniteFuture()) {
    waiter.timer_token = timer_->CallAt(waiter.deadline, give_up);
  }
  waiting_.emplace_hint(waiting_.end(), number, std::move(waiter));
  return give_up;
}

std::optional<int64_t> ModelAdmission::max_request_bytes() const {
  absl::MutexLock lock(&mu_);
  if (!limits_.has_max_request_bytes()) return std::nullopt;
  return limits_.max_request_bytes();
}

absl::Status ModelAdmission::CheckBytes(int64_t bytes) const {
  const std::optional<int64_t> limit = max_request_bytes();
  if (!limit || bytes <= *limit) return absl::OkStatus();
  return Oversized(*limit, absl::StrCat(bytes));
}

absl::Status ModelAdmission::TooManyBytes() const {
  return Oversized(max_request_bytes().value_or(0), "more");
}

absl::Status ModelAdmission::Oversized(int64_t limit, absl::string_view size) const {
  CountRefused(kRequestBytes);
  return absl::ResourceExhaustedError(
      absl::StrCat("model '", name_, "' takes requests of at most ", limit,
                   " bytes (max_request_bytes), and this one has ", size,
                   "; send less at a time, or raise the limit"));
}

int ModelAdmission::num_running() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int>(num_running_);
}

int ModelAdmission::num_waiting() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int>(waiting_.size());
}

bool ModelAdmission::HasPlace() const {
  return !limits_.has_max_concurrent_requests() || num_running_ < limits_.max_concurrent_requests();
}

ModelAdmission::Resume ModelAdmission::GivePlace() {
  const auto first = waiting_.begin();
  Waiter& waiter = first->second;
  StopWatching(waiter);
  ++num_running_;
  *waiter.ticket = AdmissionTicket(this, waiter.timeout);
  Resume resume = std::move(waiter.resume);
  waiting_.erase(first);
  return resume;
}

void ModelAdmission::StopWatching(const Waiter& waiter) {
  // Neither waits for a call of GiveUp(), which finds the request gone.
  if (waiter.cancellation != nullptr) waiter.cancellation->TryDeregister(waiter.cancellation_token);
  if (waiter.deadline != absl::InfiniteFuture()) {
    timer_->Cancel(waiter.deadline, waiter.timer_token);
  }
}

void ModelAdmission::GiveUp(int64_t number) {
  Resume resume;
  absl::Status status;
  {
    absl::MutexLock lock(&mu_);
    const auto it = waiting_.find(number);
    if (it == waiting_.end()) return;
    StopWatching(it->second);
    status = WaitEnded(it->second);
    resume = std::move(it->second.resume);
    waiting_.erase(it);
  }
  resume(std::move(status));
}

void ModelAdmission::ReturnPlace() {
  Resume resume;
  {
    absl::MutexLock lock(&mu_);
    --num_running_;
    if (waiting_.empty() || !HasPlace()) return;
    resume = GivePlace();
  }
  resume(absl::OkStatus());
}

absl::Status ModelAdmission::QueueIsFull() const {
  CountRefused(kQueueFull);
  return absl::ResourceExhaustedError(
      absl::StrCat("model '", name_, "' answers ", limits_.max_concurrent_requests(),
                   " requests at a time (max_concurrent_requests), and ", waiting_.size(),
                   " more wait (max_queue); try again later, send fewer at a time, or raise the "
                   "limits"));
}

absl::Status ModelAdmission::WaitEnded(const Waiter& waiter) const {
  const absl::Time now = absl::Now();
  // A late timer may come after both deadlines; the earlier one has ended the wait.
  if (now >= waiter.timeout.deadline && waiter.timeout.deadline <= waiter.client_deadline) {
    return TimedOut(waiter.timeout, kTimedOutWaiting, "it was still waiting for others to end");
  }
  const std::string place = absl::StrCat(
      "while it waited for one of the ", limits_.max_concurrent_requests(),
      " requests that model '", name_, "' answers at a time (max_concurrent_requests)");
  // The client's side may give up a little earlier than the deadline passes here.
  if (now + kGrace >= waiter.client_deadline) {
    CountRefused(kTimedOutWaiting);
    return absl::DeadlineExceededError(
        absl::StrCat("the deadline of the request passed ", place,
                     "; give it more time, send fewer at a time, or raise the limit"));
  }
  return absl::CancelledError(absl::StrCat("the request was cancelled ", place));
}

absl::Status ModelAdmission::TimedOut(const RequestTimeout& timeout, absl::string_view reason,
                                      absl::string_view where) const {
  CountRefused(reason);
  return absl::DeadlineExceededError(absl::StrCat("model '", name_, "' has ", timeout.milliseconds,
                                                  " ms for a request (timeout_ms), after which ",
                                                  where,
                                                  "; ask for less at a time, or raise the limit"));
}

}  // namespace tessera::serving
