// RolloutRoutes: the versions that requests go to, as the rollouts have decided.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "serving/core/name_hash.h"
#include "serving/core/rcu.h"
#include "serving/rollout/mirror.h"
#include "serving/rollout/version_measures.h"
#include "serving/servables/traffic_router.h"

namespace tessera::serving {

// Thread-safe, except that the owner must serialise calls of Publish(). The calls of TrafficRouter
// take no lock.
class RolloutRoutes : public TrafficRouter {
 public:
  // The traffic of one model.
  struct Route {
    int64_t stable = 0;
    int64_t candidate = 0;  // 0: none gets traffic
    double share = 0;       // of the candidate, from 0 to 1
    std::string sticky_key;
    double mirror_percent = 0;
    bool retries_on_stable = false;  // whether the stable version is asked what others failed
    // The measurers that record the answers of both versions. Null while nothing is tried.
    std::shared_ptr<VersionMeasurer> live;
    std::shared_ptr<VersionMeasurer> tried;

    friend bool operator==(const Route&, const Route&) = default;
  };
  // The routes by model. Models that are left out have no rollout.
  using Table = absl::flat_hash_map<std::string, Route, NameHash, std::equal_to<>>;

  // Gives the mirror that asks candidates what the stable version was asked. Without one, nothing
  // is mirrored. The mirror must outlive the last request.
  void SetMirror(Mirror* mirror) { mirror_.store(mirror, std::memory_order_release); }

  // Routes requests by `table` from now on. When it returns, no request follows the old one.
  void Publish(Table table) { table_.Publish(std::make_unique<Table>(std::move(table))); }

  std::optional<int64_t> Choose(absl::string_view model, RoutingKeys keys) const override;
  std::optional<int64_t> FallbackFor(const ServableId& failed) const override;
  std::optional<int64_t> VersionOfLabel(absl::string_view model,
                                        absl::string_view label) const override;
  Interest InterestIn(const ServableId& id) const override;
  void Observe(const Answer& answer) override;

 private:
  // Returns what `read` returns for the route of a model, or a value-initialised result if the
  // model has none. `read` must be short, see RcuPointer.
  template <typename Read>
  auto WithRoute(absl::string_view model, Read&& read) const
      -> decltype(read(std::declval<const Route&>())) {
    return table_.Read([&](const Table* table) -> decltype(read(std::declval<const Route&>())) {
      if (table == nullptr || table->empty()) return {};
      const auto route = table->find(model);
      if (route == table->end() || route->second.stable == 0) return {};
      return read(route->second);
    });
  }

  RcuPointer<Table> table_;
  std::atomic<Mirror*> mirror_{nullptr};
};

}  // namespace tessera::serving
