// GrpcWaker: keeps gRPC's threads looking for requests, and their free memory from staying.
#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace tessera::serving {

// gRPC's threads for callbacks, half as many as cores, wait a second for an event, and if none came
// look away for a tenth of a second. When requests are seldom all of them do so at once now and
// then, and one request in ten waits for that, up to 100 ms. While this lives there are events all
// the time: calls that fail at once, on a channel that leads nowhere.
//
// Now and then it gives back what gRPC read messages into and no longer needs (SharedBlocks).
class GrpcWaker {
 public:
  // Well below that second.
  static constexpr absl::Duration kInterval = absl::Milliseconds(400);

  // Blocks go back once they were free for so many events, and before twice as many: after five to
  // ten seconds.
  static constexpr int64_t kEventsPerCleaning = 12;

  explicit GrpcWaker(absl::Duration interval = kInterval);
  ~GrpcWaker();

  // Events so far.
  int64_t events() const { return events_; }

 private:
  void Run(absl::Duration interval);
  // Returns when one of gRPC's threads has seen an event.
  void Wake();

  grpc::GenericStub nowhere_;
  absl::Notification stopped_;
  std::atomic<int64_t> events_{0};
  std::thread thread_;  // starts when the rest is there
};

}  // namespace tessera::serving
