// CallsUnderWay: counts the calls of a gRPC server, so that its shutdown waits for these alone.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>

#include "absl/time/time.h"

namespace tessera::serving {

// When gRPC shuts a server down, each client is asked to confirm that it has seen this. A client
// that has sent nothing, or is stopped, does not, and its connection would hold up the shutdown
// until the deadline. Shutdown() ends such connections soon after the last call has ended.
//
//   CallsUnderWay calls;  // must outlive the server
//   calls.CountFor(&builder);
//   auto server = builder.BuildAndStart();
//   ...
//   calls.Shutdown(server.get(), deadline);
//
// The calls of callback services are counted, from when gRPC hands them over until their end was
// sent. gRPC hands over no call once the shutdown has begun: it refuses those whose message has not
// arrived completely, too. Thread-safe.
class CallsUnderWay {
 public:
  // How long clients have for their confirmation, at least.
  static constexpr absl::Duration kClientTime = absl::Seconds(1);

  // Counts the calls of the server that `builder` makes.
  void CountFor(grpc::ServerBuilder* builder);

  // Accepts no more calls. Returns when those under way have ended; at the deadline they are
  // cancelled. After kClientTime, and then every quarter of it, calls `each_time`, which may end
  // streams that only wait for their clients.
  void Shutdown(
      grpc::Server* server, absl::Time deadline,
      const std::function<void()>& each_time = [] {}) const;

 private:
  class Counter;

  std::atomic<int> count_{0};
};

}  // namespace tessera::serving
