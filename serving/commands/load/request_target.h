// RequestTarget: a server under load, one way of asking it.
//
//   ASSIGN_OR_RETURN(auto target, MakeRequestTarget({.url = "grpc://127.0.0.1:8500"}, requests));
//   target->Send(0, [](const absl::Status& status, absl::string_view answer) { ... });
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "serving/commands/load/client_tls.h"

namespace tessera::serving {

// Sends requests that were encoded beforehand, and hands on answers undecoded, so that it costs the
// machine it shares with the server little. Thread-safe.
class RequestTarget {
 public:
  // The bytes of the answer, which are there during the call only; empty if the status is not OK,
  // or by gRPC if nobody wants them.
  using OnReply = std::function<void(const absl::Status& status, absl::string_view answer)>;

  struct Options {
    // grpc://HOST:PORT[/METHOD] calls a method, /tensorflow.serving.PredictionService/Predict if
    // none is named; so does grpc://unix:PATH[:/METHOD] over a Unix socket. rest://HOST:PORT/PATH
    // posts there, or gets what is there if the request is empty.
    std::string url;
    // Sent along with every request: HTTP headers or gRPC metadata, whose names are lower case.
    std::vector<std::pair<std::string, std::string>> headers;
    // gRPC: connections, used in turn.
    int channels = 16;
    // REST: connections, opened when all others wait for answers. Beyond them requests queue here.
    int max_connections = 256;
    // Without a value, connections are not encrypted.
    std::optional<ClientTls> tls;
    // After which a request counts as not answered.
    absl::Duration timeout = absl::Seconds(30);
    // False: answers are received and let go of as they came, in pieces. Putting a large one
    // together takes the client as long as sending it took the server.
    bool wants_answers = true;
  };

  // Requires that all replies have come.
  virtual ~RequestTarget() = default;

  // Sends one of the requests given at the start. Does not wait. `on_reply` is called once, on a
  // thread of the target's, and must not wait either.
  // Statuses: of gRPC, the server's; of REST, UNAVAILABLE for a connection that fails, or the code
  // that the HTTP status stands for, with the error that the body names; DEADLINE_EXCEEDED of both.
  virtual void Send(size_t request, OnReply on_reply) = 0;
};

// `requests`: serialized messages, or bodies of HTTP requests. Connects with the first
// requests: a server that is not there shows in their statuses.
// Errors: INVALID_ARGUMENT for another URL, and for certificates that cannot be used; UNAVAILABLE
// if its host has no address.
absl::StatusOr<std::unique_ptr<RequestTarget>> MakeRequestTarget(
    const RequestTarget::Options& options, const std::vector<std::string>& requests);

}  // namespace tessera::serving
