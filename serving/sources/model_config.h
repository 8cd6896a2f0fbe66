// What a ModelServerConfig means, and whether it may be applied.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "serving/sources/file_system_source.h"
#include "tensorflow_serving/config/model_server_config.pb.h"

namespace tessera::serving {

// The platform of all models.
inline constexpr char kPlatform[] = "tensorflow";

// Whether `config` may follow `previous` (null or without a config: it is the first).
// Errors: INVALID_ARGUMENT for a model listed twice, a relative base path, a platform that is not
// given, given twice, unknown or another one than before, or request logging;
// FAILED_PRECONDITION for a custom configuration.
absl::Status CheckModelServerConfig(const tensorflow::serving::ModelServerConfig& config,
                                    const tensorflow::serving::ModelServerConfig* previous);

// The base paths of a configuration that was found good.
std::vector<MonitoredServable> MonitoredServables(
    const tensorflow::serving::ModelServerConfig& config);

}  // namespace tessera::serving
