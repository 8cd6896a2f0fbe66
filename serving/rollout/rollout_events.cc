#include "serving/rollout/rollout_events.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"

namespace tessera::serving {
namespace {

// The kinds that rollout.proto names.
constexpr const char* kKinds[] = {"started", "step",   "promoted", "rolled_back",
                                  "held",    "paused", "resumed",  "superseded"};

std::string Numbers(const RolloutEvent& event) {
  if (event.candidate().requests() == 0) return "";
  auto of = [](const VersionMeasures& m) {
    return absl::StrCat(m.requests(), " requests, ", m.errors(), " errors, p50 ", m.p50_micros(),
                        " us, p99 ", m.p99_micros(), " us");
  };
  return absl::StrCat(" (candidate: ", of(event.candidate()), "; live: ", of(event.live()), ")");
}

}  // namespace

RolloutEvents::RolloutEvents(MetricsRegistry* metrics)
    : decisions_(
          metrics->AddCounter("/tessera/serving/rollout_decisions", {"model_name", "decision"})) {}

void RolloutEvents::ShowCounters(const std::string& model) {
  for (const char* kind : kKinds) decisions_->Get({model, kind});
}

void RolloutEvents::Add(const RolloutEvent& event) {
  LOG(INFO) << "rollout of model '" << event.model() << "': version " << event.version() << " "
            << event.kind() << (event.by_hand() ? " by hand" : "") << ", version "
            << event.stable_version() << " is stable, share " << event.share_percent()
            << " %: " << event.reason() << Numbers(event);
  decisions_->Get({event.model(), event.kind()}).Increment();
  absl::MutexLock lock(&shared_->mu);
  shared_->recent.push_back(event);
  if (shared_->recent.size() > kMaxRecent) shared_->recent.pop_front();
  for (const auto& watch : shared_->watches) watch(event);
}

std::vector<RolloutEvent> RolloutEvents::Recent() const {
  absl::MutexLock lock(&shared_->mu);
  return {shared_->recent.begin(), shared_->recent.end()};
}

std::shared_ptr<void> RolloutEvents::Watch(std::function<void(const RolloutEvent&)> watch) {
  absl::MutexLock lock(&shared_->mu);
  const auto position = shared_->watches.insert(shared_->watches.end(), std::move(watch));
  return std::shared_ptr<void>(nullptr, [shared = shared_, position](void*) {
    absl::MutexLock lock(&shared->mu);
    shared->watches.erase(position);
  });
}

}  // namespace tessera::serving
