// Writes the configuration that a server runs with.
#pragma once

#include <string>

#include "google/protobuf/message.h"
#include "serving/rollout/rollout_config.h"
#include "serving/server/server_options.h"
#include "tensorflow_serving/config/model_server_config.pb.h"

namespace tessera::serving {

// Stands for the value of a secret, such as a private key.
inline constexpr char kMasked[] = "(masked)";

// Returns the options as a YAML file that ReadConfigFile() takes, but for secrets, which are
// masked: flags that are not as by default, then the blocks, with `models` and the blocks `rollout`
// in them as they are served now; and in comments at the end the flags that have their defaults.
std::string EffectiveConfig(const ServerOptions& options,
                            const tensorflow::serving::ModelServerConfig& models,
                            const RolloutConfigs& rollouts);

}  // namespace tessera::serving
