// RestServer: the REST port of a server.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "serving/core/elastic_pool.h"
#include "serving/frontend/http/http_server.h"
#include "serving/frontend/request_handler.h"
#include "serving/frontend/rest/rest_api.h"

namespace tessera::serving {

// Serves RestApi over plain HTTP, from Start() to its destructor.
class RestServer {
 public:
  struct Options {
    // TCP on all addresses; 0: the system chooses.
    int port = 0;
    // Requests that run at once beside those that run on the threads which read them: one of those
    // a core, and no more than this.
    int num_threads = 8;
    RestApi::Options api;
    // Larger ones are answered with 413. JSON text of more cannot be parsed anyway.
    uint64_t max_body_bytes = 2'000'000'000;
  };

  // Returns when the port is open. `handler` must outlive the server.
  // Errors: INVALID_ARGUMENT without threads; UNAVAILABLE if the port cannot be opened.
  static absl::StatusOr<std::unique_ptr<RestServer>> Start(const Options& options,
                                                           RequestHandler* handler);
  // Ends what is still running at once.
  ~RestServer();

  int port() const { return http_->port(); }
  // Takes no new request, and returns when those under way have ended or the deadline is over, when
  // they are cancelled.
  void Shutdown(absl::Time deadline);

 private:
  RestServer(const Options& options, RequestHandler* handler);

  std::unique_ptr<ElasticPool> pool_;
  RestApi api_;
  std::unique_ptr<HttpServer> http_;  // takes replies until the pool is gone
};

}  // namespace tessera::serving
