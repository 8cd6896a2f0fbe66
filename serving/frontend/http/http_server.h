// HttpServer: HTTP/1.0 and 1.1 over TCP or TLS. It knows nothing of the requests' meaning.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "serving/frontend/http/http_message.h"
#include "serving/frontend/tls/server_certificates.h"

namespace tessera::serving {

// Reads requests and sends replies, from Start() to the destructor. Connections stay open between
// requests. Pipelined requests are answered in turn. `Expect: 100-continue` is answered, and
// chunked bodies are joined. Bytes that are no HTTP get 400, a body beyond the limit 413, and
// headers beyond theirs 431.
//
// Thread-safe, except that one thread alone may call Shutdown() and Stop().
class HttpServer {
 public:
  struct Options {
    // TCP port. 0: the system chooses one.
    int port = 0;
    // The IP address to listen on, of either family. Empty: all addresses, IPv6 and IPv4.
    std::string address;
    // Threads that read, write and call the handler.
    int num_threads = 1;
    // The largest request line with its headers. No single header may have more than 64 KiB.
    uint32_t max_head_bytes = 1 << 20;
    // The largest body of a request. Memory is taken as bytes arrive, whatever length is announced.
    uint64_t max_body_bytes = uint64_t{2} << 30;
    // Called with each request once its head was read, and before its body is, on the thread of the
    // connection. A reply is sent at once, and the connection ends, so that who may not ask cannot
    // make the server read. The limit of the body may be lowered. Null: every body is read.
    std::function<std::optional<HttpReply>(const HttpRequest& head, uint64_t* max_body_bytes)>
        admit;
    // Makes the reply to a request whose body goes beyond the limit; `head` is what `admit` saw.
    // Null, or without `admit`: a plain 413.
    std::function<HttpReply(const HttpRequest& head)> body_too_large;
    // Told of a request that is refused before its body was read and without asking `admit` or
    // `body_too_large`: of a head beyond the limits, of one whose body has no end that can be told,
    // and of a malformed request whose first line could be read. `head` is what was read of it.
    // Null: nobody is told.
    std::function<void(const HttpRequest& head, const HttpReply& reply)> on_refused;
    // How long a connection stays open without a request.
    absl::Duration idle_timeout = absl::Minutes(10);
    // Time limit for the head of a request. It is also the time by which a body, or the client's
    // reading of a reply, may fall behind min_bytes_per_second.
    absl::Duration transfer_timeout = absl::Minutes(1);
    int64_t min_bytes_per_second = 1024;
    // Encrypts all connections by TLS. A client that sends a request in the clear gets 400. Null:
    // no encryption.
    std::shared_ptr<ServerCertificates> certificates;
    // Takes over the connection of a client that begins with HTTP/2's connection preface, or, with
    // `certificates`, agrees on HTTP/2 (ALPN). Nothing has been read from `socket`, which is
    // non-blocking and now owned by the callee; with `certificates` it is one of a pair whose other
    // end the server encrypts, until Stop(). Called on the thread of the connection, until Stop()
    // returns. Null: such a client gets 400, or no connection.
    std::function<void(int socket)> take_http2;
  };

  // Returns when the port is open.
  // Errors: INVALID_ARGUMENT without threads, or if `address` is no IP address; UNAVAILABLE if the
  // port cannot be opened.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const Options& options,
                                                           HttpHandler handler);
  // Calls Stop(). Requires that no responder will be called after that.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  // Accepts no more requests. Returns when running ones have got their replies, and ends their
  // connections at the deadline.
  void Shutdown(absl::Time deadline);
  // Ends all connections at once. Returns when no call of the handler is running. Responders may
  // still be called, without effect.
  void Stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::serving
