#include "serving/rollout/rollout_routes.h"

#include "absl/time/clock.h"
#include "serving/core/random_position.h"
#include "serving/rollout/traffic_share.h"

namespace tessera::serving {
namespace {

// Returns what the answers of a version are recorded in; null if they are not.
VersionMeasurer* MeasurerOf(const RolloutRoutes::Route& route, int64_t version) {
  if (version == route.stable) return route.live.get();
  return version == route.candidate ? route.tried.get() : nullptr;
}

}  // namespace

std::optional<int64_t> RolloutRoutes::Choose(absl::string_view model, RoutingKeys keys) const {
  return WithRoute(model, [&](const Route& route) -> std::optional<int64_t> {
    if (route.candidate == 0) return route.stable;
    std::optional<absl::string_view> key;
    if (!route.sticky_key.empty()) key = keys(route.sticky_key);
    const double position = key ? StickyPosition(model, *key) : RandomPosition();
    return position < route.share ? route.candidate : route.stable;
  });
}

std::optional<int64_t> RolloutRoutes::FallbackFor(const ServableId& failed) const {
  // `failed` may have been taken back since it was chosen.
  return WithRoute(failed.name, [&](const Route& route) -> std::optional<int64_t> {
    if (!route.retries_on_stable || failed.version == route.stable) return std::nullopt;
    return route.stable;
  });
}

std::optional<int64_t> RolloutRoutes::VersionOfLabel(absl::string_view model,
                                                     absl::string_view label) const {
  if (label != kStableLabel && label != kCanaryLabel) return std::nullopt;
  return WithRoute(model, [&](const Route& route) -> std::optional<int64_t> {
    return label == kCanaryLabel && route.candidate != 0 ? route.candidate : route.stable;
  });
}

TrafficRouter::Interest RolloutRoutes::InterestIn(const ServableId& id) const {
  return WithRoute(id.name, [&](const Route& route) {
    if (MeasurerOf(route, id.version) == nullptr) return Interest::kNone;
    const bool is_mirrored =
        mirror_.load(std::memory_order_relaxed) != nullptr && route.mirror_percent > 0;
    return is_mirrored && id.version == route.stable ? Interest::kAnswersAndInputs
                                                     : Interest::kAnswers;
  });
}

void RolloutRoutes::Observe(const Answer& answer) {
  const absl::Time now = absl::Now();
  // What mirroring needs is kept beyond the read of the route, because it takes longer.
  struct Mirrored {
    std::shared_ptr<VersionMeasurer> measurer;  // null: this request is not mirrored
    int64_t candidate = 0;
    double percent = 0;
  };
  const Mirrored mirrored = WithRoute(answer.id.name, [&](const Route& route) -> Mirrored {
    VersionMeasurer* const measurer = MeasurerOf(route, answer.id.version);
    if (measurer == nullptr) return {};
    measurer->Record(now, answer.status, answer.latency, answer.outputs);
    if (answer.id.version != route.stable || route.mirror_percent <= 0) return {};
    return {route.tried, route.candidate, route.mirror_percent};
  });
  Mirror* const mirror = mirror_.load(std::memory_order_acquire);
  if (mirrored.measurer == nullptr || mirror == nullptr) return;
  mirror->Offer({answer.id.name, mirrored.candidate}, mirrored.measurer, mirrored.percent, answer);
}

}  // namespace tessera::serving
