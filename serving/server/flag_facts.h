// The facts about a flag that `tessera serve --help=FLAG` prints beside its help.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "serving/server/flag_parser.h"

namespace tessera::serving {

// Returns titles and texts: an example that FlagParser takes, the key in the YAML file of --config,
// and the flag of tensorflow_model_server.
std::vector<std::pair<std::string, std::string>> ServerFlagFacts(const FlagParser::Flag& flag);

}  // namespace tessera::serving
