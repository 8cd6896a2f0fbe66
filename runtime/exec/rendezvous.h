// A rendezvous within one process.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/rendezvous.h"

namespace tessera {

// Keeps tensors until they are asked for, and requests until their tensor comes. One a step, or one
// a partial run. Thread-safe. Requests still waiting when it dies end with CANCELLED.
class LocalRendezvous final : public Rendezvous {
 public:
  LocalRendezvous() = default;
  ~LocalRendezvous() override;

  absl::Status Send(absl::string_view key, Tensor tensor, bool is_dead) override;
  void RecvAsync(absl::string_view key, DoneCallback done) override;
  void Abort(absl::Status status) override;

 private:
  // One of a tensor that waits, a request that waits, or neither: both have come.
  struct Entry {
    bool is_sent = false;
    bool is_dead = false;
    Tensor tensor;
    DoneCallback waiting;
  };
  absl::Mutex mu_;
  absl::Status aborted_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
