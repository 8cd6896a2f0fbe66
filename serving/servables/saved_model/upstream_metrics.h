// Metrics of TensorFlow Serving that count what this server does not do.
#pragma once

#include "serving/core/metrics.h"

namespace tessera::serving {

// Adds them, for their "# TYPE" lines: a dashboard or a rule that names one finds it, without
// samples, as it does on TensorFlow Serving's page.
void AddUpstreamMetrics(MetricsRegistry* registry);

}  // namespace tessera::serving
