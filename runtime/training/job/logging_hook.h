// Logs the loss and the examples per second, every some steps.
#pragma once

#include <memory>

#include "runtime/training/job/hook.h"
#include "runtime/training/job/run_log.h"

namespace tessera {

namespace training {
class LoggingHook;
}  // namespace training

// `log` must outlive the hook.
std::unique_ptr<Hook> MakeLoggingHook(const training::LoggingHook& spec, RunLog* log);

}  // namespace tessera
