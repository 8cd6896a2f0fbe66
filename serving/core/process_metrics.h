// CollectProcess: the metrics of this process, read from /proc when a page is rendered.
#pragma once

#include <memory>
#include <vector>

#include "serving/core/metrics.h"

namespace tessera::serving {

// Adds /tessera/serving/process_*: memory in bytes, resident and anonymous, and the limit that a
// container sets; CPU seconds; open files and their limit; threads; the start, in seconds since
// 1970. What the system does not tell has no sample. `registry` must outlive the collections.
std::vector<std::unique_ptr<MetricsRegistry::Collection>> CollectProcess(MetricsRegistry* registry);

}  // namespace tessera::serving
