// The running steps of a session, which closing the session cancels.
#pragma once

#include <array>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/cancellation.h"
#include "runtime/framework/rendezvous.h"

namespace tessera {

// A list of running steps. It is sharded by thread, so that concurrent runs do not contend for one
// lock.
// Thread-safe.
class RunningSteps {
 private:
  struct Part;

 public:
  // One running step. It is a member of its step, and leaves the list when it is destroyed.
  class Entry {
   public:
    Entry(RunningSteps& steps, CancellationManager* cancellation, Rendezvous* rendezvous);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    friend class RunningSteps;
    Part& part_;
    CancellationManager* const cancellation_;
    Rendezvous* const rendezvous_;
    Entry* previous_ = nullptr;
    Entry* next_ = nullptr;
  };

  RunningSteps() = default;
  RunningSteps(const RunningSteps&) = delete;
  RunningSteps& operator=(const RunningSteps&) = delete;

  // Cancels every step in the list. No Entry may be destroyed on the calling thread meanwhile, not
  // even by callbacks of the cancellation.
  void CancelAll(const absl::Status& reason);

 private:
  struct alignas(64) Part {
    absl::Mutex mu;
    Entry* first ABSL_GUARDED_BY(mu) = nullptr;
  };
  Part& PartOfThread();

  std::array<Part, 8> parts_;
};

}  // namespace tessera
