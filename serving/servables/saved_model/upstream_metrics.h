// Metrics of TensorFlow Serving for things that this server never does.
#pragma once

#include "serving/core/metrics.h"

namespace tessera::serving {

// Adds these metrics without samples. Their "# TYPE" lines are on the page, as on TensorFlow
// Serving's, so that a dashboard or an alert rule that names one finds it.
void AddUpstreamMetrics(MetricsRegistry* registry);

}  // namespace tessera::serving
