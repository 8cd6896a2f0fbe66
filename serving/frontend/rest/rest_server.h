// RestServer: the REST port of a server.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "serving/core/request_pool.h"
#include "serving/frontend/http/http_server.h"
#include "serving/frontend/kserve/kserve_rest.h"
#include "serving/frontend/request_handler.h"
#include "serving/frontend/rest/rest_access.h"
#include "serving/frontend/rest/rest_api.h"
#include "serving/frontend/tls/server_certificates.h"

namespace tessera::serving {

// Serves RestApi, and below /v2 KServe's protocol, over HTTP, from Start() to its destructor.
class RestServer {
 public:
  struct Options {
    // TCP port on all addresses. 0: the system chooses one.
    int port = 0;
    // The most requests that run at once on a pool, besides those that run on the threads that read
    // them. There is one such reading thread for each core, but no more than this number.
    int num_threads = 8;
    // See RequestPool.
    Host* host = nullptr;
    RestApi::Options api;
    // Encrypts all connections by TLS. Null: no encryption.
    std::shared_ptr<ServerCertificates> certificates;
    // A larger body is answered with 413. Longer JSON text cannot be parsed anyway.
    uint64_t max_body_bytes = 2'000'000'000;
  };

  // Returns when the port is open. `handler` must outlive the server, and so must `repository`,
  // without which (null) KServe's protocol is not served.
  // Errors: INVALID_ARGUMENT without threads; UNAVAILABLE if the port cannot be opened.
  static absl::StatusOr<std::unique_ptr<RestServer>> Start(const Options& options,
                                                           RequestHandler* handler,
                                                           ModelRepository* repository = nullptr);
  // Cancels the requests that still run.
  ~RestServer();

  int port() const { return http_->port(); }
  // Accepts no more requests. Returns when running ones have ended; at the deadline they are
  // cancelled.
  void Shutdown(absl::Time deadline);

 private:
  RestServer(const Options& options, RequestHandler* handler, ModelRepository* repository);
  void Cancel();

  std::unique_ptr<RequestPool> pool_;
  std::vector<std::unique_ptr<MetricsRegistry::Collection>> pool_metrics_;
  RestApi api_;
  std::optional<KServeRest> kserve_;
  std::optional<RestAccess> access_;  // without a value, all requests are answered
  std::unique_ptr<HttpServer> http_;  // must accept replies until the pool is destroyed
};

}  // namespace tessera::serving
