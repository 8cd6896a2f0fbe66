// CollectRequests: the metrics of requests by version, method and front end.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "serving/core/metrics.h"
#include "serving/servables/servable.h"

namespace tessera::serving {

// Adds /tessera/serving/{request_count,requests_in_flight,request_latency,phase_latency}, with what
// the RequestStats of those versions hold that `versions` returns when a page is rendered; so what
// is known of a version goes with it. `registry` and what `versions` refers to must outlive the
// returned collections.
std::vector<std::unique_ptr<MetricsRegistry::Collection>> CollectRequests(
    std::function<std::vector<ModelHandle>()> versions, MetricsRegistry* registry);

}  // namespace tessera::serving
