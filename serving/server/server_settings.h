// ServerSettings: what options mean once the files they name are read.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/host/background.h"
#include "runtime/session/session.h"
#include "serving/frontend/grpc/grpc_server.h"
#include "serving/server/server_batching.h"
#include "serving/server/server_options.h"

namespace tessera::serving {

struct ServerSettings {
  tensorflow::serving::ModelServerConfig models;
  std::optional<tensorflow::serving::MonitoringConfig> monitoring;
  // Without a value, requests are not batched.
  std::optional<BatchingSettings> batching;
  std::shared_ptr<grpc::ServerCredentials> credentials;  // null: no encryption
  std::vector<GrpcServer::Options::ChannelArgument> channel_arguments;
  std::set<std::string> saved_model_tags;
  SessionOptions session;    // thread counts, no pools yet
  int64_t memory_limit = 0;  // in bytes; 0: none
  ThreadPriority load_priority = ThreadPriority::kIdle;
};

// Reads files, and checks options against each other. Options that are accepted without effect are
// logged if they were set.
// The platform configuration is not looked at: see ApplyPlatformConfig().
// Errors: those of ReadTextProto(); INVALID_ARGUMENT for options that contradict each other or have
// nothing to serve or nowhere to listen.
absl::StatusOr<ServerSettings> ReadSettings(const ServerOptions& options);

// The models that the file of --model_config_file, or else the one of --config, names now. The rest
// of such a file counts at the start alone.
// Errors: those of ReadTextProto() and ReadConfigFile(); FAILED_PRECONDITION if the models were not
// in a file, or are in it no more.
absl::StatusOr<tensorflow::serving::ModelServerConfig> ReadModelsAgain(
    const ServerOptions& options);

}  // namespace tessera::serving
