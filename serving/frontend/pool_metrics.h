// CollectPool: the metrics of the threads that answer requests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serving/core/metrics.h"
#include "serving/core/request_pool.h"

namespace tessera::serving {

// Adds /tessera/serving/pool_queue_length, the requests that wait for a thread, and pool_threads,
// both with the label `pool`. The pool and the registry must outlive the collections.
std::vector<std::unique_ptr<MetricsRegistry::Collection>> CollectPool(const std::string& name,
                                                                      const RequestPool* pool,
                                                                      MetricsRegistry* registry);

}  // namespace tessera::serving
