// Checks and reads a ModelServerConfig.
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

// The one type of LogCollectorConfig: TFRecord files of PredictionLogs.
inline constexpr char kTfRecordCollector[] = "tfrecord";

// Returns the platform of a model, from the one of two fields that names it.
// Errors: INVALID_ARGUMENT if neither field does, or both do.
absl::StatusOr<std::string> PlatformOf(const tensorflow::serving::ModelConfig& model);

// Returns what is wrong with a model's logging_config, whatever other models have: a sentence for
// each error, without the model's name. A model without one has no errors.
std::vector<std::string> LoggingConfigErrors(const tensorflow::serving::ModelConfig& model);

// Returns OK if `config` may replace `previous` on a server that has these platforms. `previous` is
// null, or empty, if `config` is the first one.
// Errors: INVALID_ARGUMENT for a model listed twice, a relative base path, a platform that is not
// given, given twice, unknown or another one than before, or a logging_config that is not complete,
// has fields that are not supported, or has the prefix of another model's;
// FAILED_PRECONDITION for a custom configuration.
absl::Status CheckModelServerConfig(const tensorflow::serving::ModelServerConfig& config,
                                    const tensorflow::serving::ModelServerConfig* previous,
                                    const std::set<std::string>& platforms);

// Returns the base paths of a configuration that passed CheckModelServerConfig().
std::vector<MonitoredServable> MonitoredServables(
    const tensorflow::serving::ModelServerConfig& config);

}  // namespace tessera::serving
