#include "serving/commands/load/load_run.h"

#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace tessera::serving {
namespace {

// Stop() and the last reply are seen after this long.
constexpr absl::Duration kLongestSleep = absl::Milliseconds(20);

}  // namespace

LoadRun::LoadRun(const Options& options, RequestTarget* target, CheckAnswer check, LoadLog* log)
    : options_(options),
      target_(target),
      check_(std::move(check)),
      log_(log),
      start_(absl::Now()),
      start_on_clock_(options.clock->Now()) {}

absl::Duration LoadRun::Elapsed() const { return options_.clock->Now() - start_on_clock_; }

void LoadRun::Run() {
  options_.rate > 0 ? RunOpen() : RunClosed();
  log_->Close(std::min(Elapsed(), options_.duration));
  while (under_way_ > 0) SleepUntil(absl::InfiniteDuration());
}

void LoadRun::SleepUntil(absl::Duration elapsed) {
  options_.clock->SleepUntil(start_on_clock_ + std::min(elapsed, Elapsed() + kLongestSleep));
}

void LoadRun::RunOpen() {
  // The system rounds sleeps up by 50 µs, which is as long as a small request takes.
  prctl(PR_SET_TIMERSLACK, 1);
  std::mt19937_64 random(options_.seed);
  std::exponential_distribution<double> gap_seconds(options_.rate);
  absl::Duration next = Elapsed();
  while (true) {
    next += absl::Seconds(gap_seconds(random));
    while (!IsOver() && Elapsed() < next) SleepUntil(next);
    if (IsOver()) return;
    Send(next);
  }
}

void LoadRun::RunClosed() {
  for (int i = 0; i < options_.in_flight; ++i) Send(Elapsed());
  while (!IsOver()) SleepUntil(options_.duration);
}

void LoadRun::Send(absl::Duration intended) {
  ++under_way_;
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
    record.code = status.code();
    failure = status.ToString();
  } else {
    if (check_) failure = check_(record.request, answer);
    record.outcome = failure.empty() ? Outcome::kRight : Outcome::kWrong;
  }
  log_->Add(record, failure);
  if (options_.rate == 0 && !IsOver()) Send(Elapsed());
  --under_way_;
}

}  // namespace tessera::serving
