// The answer of ProfilerService.Monitor: figures of a short trace.
#pragma once

#include "absl/time/time.h"
#include "runtime/profile/tracer.h"

namespace tensorflow {
class MonitorRequest;
class MonitorResponse;
}  // namespace tensorflow

namespace tessera::serving {

// Fills `response` with what happened during `trace`, which holds requests and runs, and in which
// the process used `cpu_time` on `num_cores` cores. The text has lines "Requests: ...", "Runs: ..."
// and "CPU: ..."; level 2 adds a line for each kind of request. In the message, steps are runs, and
// the device is the CPU.
void FillMonitorResponse(const Trace& trace, absl::Duration cpu_time, int num_cores,
                         const tensorflow::MonitorRequest& request,
                         tensorflow::MonitorResponse* response);

}  // namespace tessera::serving
