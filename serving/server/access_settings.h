// AccessSettings: how clients reach a server, and who may ask it.
#pragma once

#include <memory>

#include "serving/frontend/auth/bearer_tokens.h"
#include "serving/frontend/tls/server_certificates.h"
#include "serving/server/config_report.h"
#include "serving/server/server_options.h"

namespace tessera::serving {

struct AccessSettings {
  std::shared_ptr<ServerCertificates> certificates;  // null: no TLS
  std::shared_ptr<const BearerTokens> tokens;        // null: everybody may ask
};

// Reads the certificates and tokens that the options name. The report gets errors for options that
// exclude each other, for files that cannot be read, and for certificates and tokens that cannot be
// used, and a warning where REST is plain beside an encrypted gRPC.
AccessSettings ReadAccessSettings(const ServerOptions& options, ConfigReport* report);

}  // namespace tessera::serving
