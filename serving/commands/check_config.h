// `tessera serve --check-config`.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "serving/server/config_report.h"
#include "serving/server/flag_parser.h"
#include "serving/server/server_options.h"

namespace tessera::serving {

// The exit code of --check-config if there are errors.
inline constexpr int kConfigHasErrors = 3;

// Prints everything that is wrong with a configuration to stdout. `report` has the findings of
// ParseServerOptions(), which read `options` from `args` by `flags`. Returns the exit code: 0 if
// there are no errors, else kConfigHasErrors.
int PrintConfigCheck(ServerOptions options, const FlagParser& flags,
                     absl::Span<const std::string> args, ConfigReport report);

// Returns a line for each finding, "FILE:LINE: error: KEY: MESSAGE" or "--FLAG: error: MESSAGE",
// and one with their numbers.
std::string ReportText(const ConfigReport& report);

// Returns {"errors": N, "warnings": N, "findings": [{"severity", "file", "line", "key",
// "message"}]} and a newline. `file` is null for the command line, `line` where it is not known.
std::string ReportJson(const ConfigReport& report);

}  // namespace tessera::serving
