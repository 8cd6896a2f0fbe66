// Credentials that gRPC asks of a client's connection and of its calls: TLS, ALTS, tokens.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "absl/status/statusor.h"
#include "serving/frontend/access_log.h"
#include "serving/frontend/auth/bearer_tokens.h"
#include "serving/frontend/tls/server_certificates.h"

namespace tessera::serving {

struct ServerCredentialsOptions {
  // Encrypts connections by TLS. Null: no TLS. A new connection gets the certificates that are
  // there when it begins; whether clients must show one does not change.
  std::shared_ptr<ServerCertificates> certificates;
  // Encrypts connections by Google's ALTS. Requires that there are no certificates.
  bool alts = false;
  // The tokens of the clients whose calls are answered. Calls without a token end with
  // UNAUTHENTICATED before their message is read. Calls by which a server is probed need none:
  // those of grpc.health.v1.Health, and ServerLive and ServerReady of KServe's protocol. Null: all
  // calls are answered.
  std::shared_ptr<const BearerTokens> tokens;
  // Gets a line for each call that is refused for its token; gRPC does not tell the client's
  // address. Null: none. Must outlive the credentials.
  AccessLog* access_log = nullptr;
};

// Returns credentials for one port or Unix socket. They must outlive the server.
// Errors: FAILED_PRECONDITION for ALTS outside of Google Cloud.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const ServerCredentialsOptions& options);

}  // namespace tessera::serving
