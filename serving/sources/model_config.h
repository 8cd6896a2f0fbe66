// What a ModelServerConfig means, and whether it may be applied.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serving/sources/file_system_source.h"
#include "tensorflow_serving/config/model_server_config.pb.h"

namespace tessera::serving {

// The platform of SavedModels.
inline constexpr char kTensorFlowPlatform[] = "tensorflow";

// What makes versions of this model into servables, from either of the two fields that name it.
// Errors: INVALID_ARGUMENT if neither does, or both.
absl::StatusOr<std::string> PlatformOf(const tensorflow::serving::ModelConfig& model);

// Whether `config` may follow `previous` (null or without a config: it is the first) on a server
// that has these platforms.
// Errors: INVALID_ARGUMENT for a model listed twice, a relative base path, a platform that is not
// given, given twice, unknown or another one than before, or request logging;
// FAILED_PRECONDITION for a custom configuration.
absl::Status CheckModelServerConfig(const tensorflow::serving::ModelServerConfig& config,
                                    const tensorflow::serving::ModelServerConfig* previous,
                                    const std::set<std::string>& platforms);

// The base paths of a configuration that was found good.
std::vector<MonitoredServable> MonitoredServables(
    const tensorflow::serving::ModelServerConfig& config);

}  // namespace tessera::serving
