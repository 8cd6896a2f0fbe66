// ServerSettings: the settings of a server, made from its options and the files that they name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/logging.h"
#include "runtime/host/background.h"
#include "runtime/session/session.h"
#include "serving/admission/limits_config.h"
#include "serving/frontend/grpc/grpc_server.h"
#include "serving/logging/rotated_files.h"
#include "serving/rollout/rollout_config.h"
#include "serving/server/access_settings.h"
#include "serving/server/config_report.h"
#include "serving/server/server_batching.h"
#include "serving/server/server_options.h"

namespace tessera::serving {

struct ServerSettings {
  tensorflow::serving::ModelServerConfig models;
  // The blocks `rollout` of the models by their names, and the file that keeps the rollouts.
  RolloutConfigs rollouts;
  std::string rollout_state_file;
  LimitsConfigs limits;  // the blocks `limits`, by the names of models
  std::optional<tensorflow::serving::MonitoringConfig> monitoring;
  // Without a value, requests are not batched.
  std::optional<BatchingSettings> batching;
  AccessSettings access;
  std::vector<GrpcServer::Options::ChannelArgument> channel_arguments;
  std::set<std::string> saved_model_tags;
  SessionOptions session;    // has thread counts, but no pools yet
  int64_t memory_limit = 0;  // in bytes; 0: no limit
  ThreadPriority load_priority = ThreadPriority::kLow;
  RotationOptions request_log;
  std::optional<LogSeverity> log_level;  // without a value, as the environment says
};

// Reads the files, and checks the options against each other. Options that are accepted without
// effect are logged if they were set. Ignores the platform configuration, see
// ApplyPlatformConfig(). Errors: those of ReadTextProto(); INVALID_ARGUMENT for options that
// contradict each other, that name no models, or that name neither a port nor a socket.
absl::StatusOr<ServerSettings> ReadSettings(const ServerOptions& options);
// Does the same, and adds all errors and warnings to a report. What an error is about has its
// default in the result.
ServerSettings ReadSettings(const ServerOptions& options, ConfigReport* report);

// The settings that can be read again while a server runs.
struct ModelSettings {
  tensorflow::serving::ModelServerConfig models;
  RolloutConfigs rollouts;
  LimitsConfigs limits;
};

// Returns the models that the file of --model_config_file names now, or else the file of --config.
// The other settings in such a file have an effect at the start alone. Errors: those of
// ReadTextProto() and ReadConfigFile(); FAILED_PRECONDITION if the models did not come from a file,
// or the file names none any more.
absl::StatusOr<ModelSettings> ReadModelsAgain(const ServerOptions& options);

}  // namespace tessera::serving
