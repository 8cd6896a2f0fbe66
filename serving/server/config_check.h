// The checks of `tessera serve --check-config` beyond the options and the files that they name.
#pragma once

#include "serving/server/config_report.h"
#include "serving/server/server_options.h"
#include "serving/server/server_settings.h"

namespace tessera::serving {

// Adds to a report what would keep a server with this configuration from starting or from serving
// one of its models: ports and sockets, the tokens of the admin address, op libraries, batching
// parameters, base paths, the graphs of the versions that would be loaded, labels. Loads the op
// libraries into this process, and no weights. `settings` are those of ReadSettings().
//
// A port that another process has is a warning only, because that may be the server that this
// configuration is for.
void CheckConfig(const ServerOptions& options, const ServerSettings& settings,
                 ConfigReport* report);

}  // namespace tessera::serving
