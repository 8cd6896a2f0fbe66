// AdminServer: the address by which people and their tools steer a server.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "serving/frontend/http/http_routes.h"
#include "serving/frontend/tls/server_certificates.h"
#include "serving/rollout/rollout_admin.h"

namespace tessera::serving {

// Serves, on one port, from Start() to the destructor:
//   - tessera.AdminService over gRPC, for clients that begin with HTTP/2's connection preface, or
//     agree on it where there is TLS;
//   - its REST form (rollout_routes.h) and further pages over HTTP/1.1, for all others.
// AdminAccess says who may ask, by the head of the request, before its body is read.
//
// To add a page, make its HttpRoute (serving/frontend/http/http_routes.h) and put it into
// Options::routes where the server is made, serving/server/server.cc. Its handler is called for
// requests that may be answered only; admin_reply.h has its JSON and its errors. A route that is
// kPublic is answered for everybody: that is for a page whose script then asks the others with the
// token. Scripts read events by fetch(), because an EventSource can send no token.
class AdminServer {
 public:
  struct Options {
    // TCP port. 0: the system chooses one.
    int port = 0;
    // The IP address to listen on.
    std::string address = "127.0.0.1";
    // See BearerTokens. Empty: none, which loopback alone allows.
    std::string token_file;
    // Encrypts both protocols by TLS. Null: no encryption.
    std::shared_ptr<ServerCertificates> certificates;
    // Null: no model has a rollout. Must outlive the server, and should have no events yet.
    RolloutAdmin* rollouts = nullptr;
    // Further pages. What their handlers use must outlive the server.
    std::vector<HttpRoute> routes;
    // How often a stream of events shows that it is alive, and whether its client still may watch.
    absl::Duration heartbeat = absl::Seconds(15);
  };

  // Returns when the port is open. Errors: those of AdminAccess::Make(); INVALID_ARGUMENT if
  // `address` is no IP address; UNAVAILABLE if the port cannot be opened.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(Options options);
  // Ends all connections.
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  int port() const;
  // Accepts no more requests, and ends streams of events. Returns when calls under way have ended,
  // or at the deadline.
  void Shutdown(absl::Time deadline);

 private:
  class Impl;
  explicit AdminServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::serving
