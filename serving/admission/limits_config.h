// The block `limits` of a model: what is refused in it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tessera/limits.pb.h"

namespace tessera::serving {

// The blocks `limits` of models by their names.
using LimitsConfigs = std::map<std::string, LimitsConfig, std::less<>>;

// The value of max_queue where it is unset.
inline constexpr int64_t kDefaultMaxQueue = 100;

// An error in a block, with the field that it is about.
struct LimitsConfigError {
  std::string field;
  std::string message;  // a sentence without the field's name: "is 0; it must be at least 1"
};

// Returns all errors of a block.
std::vector<LimitsConfigError> CheckLimitsConfig(const LimitsConfig& config);

}  // namespace tessera::serving
