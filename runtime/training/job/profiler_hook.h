// Records some steps, op by op, as a Chrome trace.
#pragma once

#include <memory>
#include <string>

#include "runtime/profile/tracer.h"
#include "runtime/training/job/hook.h"
#include "runtime/training/job/run_log.h"

namespace tessera {

namespace training {
class ProfilerHook;
}  // namespace training

// Makes `tracer` record the steps from `from_step` on, and writes FOLDER/steps-A-B.json, which
// Perfetto and chrome://tracing open. The run's callables must be traced by the same tracer.
// `tracer` and `log` must outlive the hook.
std::unique_ptr<Hook> MakeProfilerHook(const training::ProfilerHook& spec, std::string folder,
                                       Tracer* tracer, RunLog* log);

}  // namespace tessera
