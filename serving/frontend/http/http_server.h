// HttpServer: HTTP/1.0 and 1.1 over TCP, and nothing of what is said over it.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "serving/frontend/http/http_message.h"

namespace tessera::serving {

// Reads requests and sends replies, from Start() to the destructor. Connections stay open between
// requests; requests sent ahead of replies are answered in turn; `Expect: 100-continue` is
// answered; chunked bodies are put together. What is no HTTP gets 400, a body beyond the limit 413,
// headers beyond theirs 431.
//
// Thread-safe, but Shutdown() and Stop() are for one thread.
class HttpServer {
 public:
  struct Options {
    // On all addresses, IPv6 and IPv4. 0: the system chooses.
    int port = 0;
    // Threads that read, write and call the handler.
    int num_threads = 1;
    // Of one request. Memory is taken as bytes come in, whatever length is announced.
    uint32_t max_head_bytes = 1 << 20;
    uint64_t max_body_bytes = uint64_t{2} << 30;
    // How long a connection may stay without a request.
    absl::Duration idle_timeout = absl::Minutes(10);
    // In which the head of a request must have come, and by which its body, or the client's
    // acceptance of a reply, may fall behind min_bytes_per_second.
    absl::Duration transfer_timeout = absl::Minutes(1);
    int64_t min_bytes_per_second = 1024;
  };

  // Returns when the port is open.
  // Errors: INVALID_ARGUMENT without threads; UNAVAILABLE if the port cannot be opened.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const Options& options,
                                                           HttpHandler handler);
  // As Stop(). Requires that no responder is going to be called.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  // Takes no more requests, and returns when those under way have their replies, or ends their
  // connections when the deadline is over.
  void Shutdown(absl::Time deadline);
  // Ends all connections at once, and returns when no call of the handler is under way. Responders
  // may still be called, in vain.
  void Stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::serving
