#include "benchmarks/load/load_run.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <string>

#include "absl/time/clock.h"

namespace tessera::benchmarks {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
// Stop() is seen after this long.
constexpr absl::Duration kLongestSleep = absl::Milliseconds(20);

// absl's clock follows the wall clock; what is measured here must not jump with it.
int64_t MonotonicNanos() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanosPerSecond + now.tv_nsec;
}

void SleepUntil(int64_t monotonic_nanos) {
  const timespec until = {.tv_sec = monotonic_nanos / kNanosPerSecond,
                          .tv_nsec = monotonic_nanos % kNanosPerSecond};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

}  // namespace

LoadRun::LoadRun(const Options& options, RequestTarget* target, AnswerCheck* check, LoadLog* log)
    : options_(options),
      target_(target),
      check_(check),
      log_(log),
      start_(absl::Now()),
      start_nanos_(MonotonicNanos()) {}

absl::Duration LoadRun::Elapsed() const {
  return absl::Nanoseconds(MonotonicNanos() - start_nanos_);
}

void LoadRun::Run() {
  options_.rate > 0 ? RunOpen() : RunClosed();
  log_->Close(std::min(Elapsed(), options_.duration));
  absl::MutexLock lock(&mu_);
  const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return under_way_ == 0; };
  mu_.Await(absl::Condition(&none));
}

void LoadRun::RunOpen() {
  // The system rounds sleeps up by 50 µs, which is as long as a small request takes.
  prctl(PR_SET_TIMERSLACK, 1);
  std::mt19937_64 random(options_.seed);
  std::exponential_distribution<double> gap_seconds(options_.rate);
  absl::Duration next = Elapsed();
  while (true) {
    next += absl::Seconds(gap_seconds(random));
    absl::Duration now;
    while (!IsOver() && (now = Elapsed()) < next) {
      const absl::Duration wake = std::min(next, now + kLongestSleep);
      SleepUntil(start_nanos_ + absl::ToInt64Nanoseconds(wake));
    }
    if (IsOver()) return;
    Send(next);
  }
}

void LoadRun::RunClosed() {
  for (int i = 0; i < options_.in_flight; ++i) Send(Elapsed());
  while (!IsOver()) SleepUntil(MonotonicNanos() + absl::ToInt64Nanoseconds(kLongestSleep));
}

void LoadRun::Send(absl::Duration intended) {
  {
    absl::MutexLock lock(&mu_);
    ++under_way_;
  }
  const RequestRecord record = {
      .intended = intended,
      .lag = Elapsed() - intended,
      .request = static_cast<uint32_t>(turn_.fetch_add(1) % options_.num_requests)};
  target_->Send(record.request,
                [this, record](const absl::Status& status, absl::string_view answer) {
                  OnReply(record, status, answer);
                });
}

void LoadRun::OnReply(RequestRecord record, const absl::Status& status, absl::string_view answer) {
  record.latency = Elapsed() - record.intended;
  std::string failure;
  if (!status.ok()) {
    record.outcome = Outcome::kLost;
    failure = status.ToString();
  } else {
    failure = check_->Difference(record.request, answer);
    record.outcome = failure.empty() ? Outcome::kRight : Outcome::kWrong;
  }
  log_->Add(record, failure);
  if (options_.rate == 0 && !IsOver()) Send(Elapsed());
  absl::MutexLock lock(&mu_);
  --under_way_;
}

}  // namespace tessera::benchmarks
