// The messages of `tessera serve` about arguments that it passes over.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "serving/server/flag_parser.h"

namespace tessera::serving {

// Returns a line that tells that an argument, which is none of the flags, is passed over, and what
// may have been meant.
std::string DescribeUnknownArgument(absl::string_view argument, const FlagParser& flags);

}  // namespace tessera::serving
