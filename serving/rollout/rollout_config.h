// The block `rollout` of a model: its defaults, and what is refused.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tessera/rollout.pb.h"

namespace tessera::serving {

// The blocks `rollout` of models by their names.
using RolloutConfigs = std::map<std::string, RolloutConfig, std::less<>>;

// An error in a block, with the field that it is about: "steps[1].share_percent".
struct RolloutConfigError {
  std::string field;
  std::string message;  // a sentence without the field's name: "must be above 10, ..."
};

// Returns all errors of a block; none if it can be followed. Shares must rise and be at most 100;
// times, limits and numbers of requests must be in their ranges; a limit of drift needs
// mirror_percent, and the sticky key must be a name that clients can send.
std::vector<RolloutConfigError> CheckRolloutConfig(const RolloutConfig& config);

// Returns a block that passed CheckRolloutConfig() with its defaults filled in. The last step of
// the result has all traffic: where the block leaves that out, a step of no duration is added.
RolloutConfig WithDefaults(RolloutConfig config);

}  // namespace tessera::serving
