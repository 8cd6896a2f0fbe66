// GrpcWaker: keeps gRPC's threads polling for requests, and gives back memory that they no longer
// use.
#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace tessera::serving {

// gRPC has half as many threads for callbacks as there are cores. Such a thread polls for an event
// for a second, and if none came pauses for a tenth of a second. When requests are rare, all
// threads pause at once now and then, and one request in ten waits for up to 100 ms. While this
// object exists there are always events: calls that fail at once, on a channel that leads nowhere.
//
// Now and then it also frees the blocks that gRPC has read messages into (SharedBlocks).
class GrpcWaker {
 public:
  // Must be well below the second for which a thread polls.
  static constexpr absl::Duration kInterval = absl::Milliseconds(400);

  // A block is freed when it was unused for at least so many events, and fewer than twice as many,
  // which is after five to ten seconds.
  static constexpr int64_t kEventsPerCleaning = 12;

  explicit GrpcWaker(absl::Duration interval = kInterval);
  ~GrpcWaker();

  // Returns the number of events so far.
  int64_t events() const { return events_; }

 private:
  void Run(absl::Duration interval);
  // Returns when one of gRPC's threads has seen an event.
  void Wake();

  grpc::GenericStub nowhere_;
  absl::Notification stopped_;
  std::atomic<int64_t> events_{0};
  std::thread thread_;  // declared last, because it uses the members above
};

}  // namespace tessera::serving
