// Writes the configuration that a server runs with.
#pragma once

#include <string>

#include "serving/admission/limits_config.h"
#include "serving/rollout/rollout_config.h"
#include "serving/server/server_options.h"
#include "tensorflow_serving/config/model_server_config.pb.h"

namespace tessera::serving {

// Returns the options as a YAML file that ReadConfigFile() takes and that means the same, but for
// private keys, which are left out: flags that are not as by default, then the blocks, with
// `models` and the blocks `rollout` and `limits` in them as they are served now; and in comments at
// the end the flags that have their defaults.
std::string EffectiveConfig(const ServerOptions& options,
                            const tensorflow::serving::ModelServerConfig& models,
                            const RolloutConfigs& rollouts, const LimitsConfigs& limits);

// Returns the configuration of a server that is to start with these options.
std::string ConfigToPrint(ServerOptions options);

}  // namespace tessera::serving
