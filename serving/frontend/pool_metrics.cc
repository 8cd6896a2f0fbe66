#include "serving/frontend/pool_metrics.h"

#include "absl/strings/str_cat.h"

namespace tessera::serving {

std::vector<std::unique_ptr<MetricsRegistry::Collection>> CollectPool(const std::string& name,
                                                                      const RequestPool* pool,
                                                                      MetricsRegistry* registry) {
  std::vector<std::unique_ptr<MetricsRegistry::Collection>> collections;
  const auto add = [&](absl::string_view metric, int (RequestPool::*value)() const) {
    collections.push_back(registry->CollectGauge(
        absl::StrCat("/tessera/serving/pool_", metric), {"pool"}, [name, pool, value] {
          return std::vector<MetricSample>{{{name}, static_cast<double>((pool->*value)())}};
        }));
  };
  add("queue_length", &RequestPool::num_queued);
  add("threads", &RequestPool::num_threads);
  return collections;
}

}  // namespace tessera::serving
