// The steps of a session that run now, so that closing it can end them.
#pragma once

#include <array>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/cancellation.h"
#include "runtime/framework/rendezvous.h"

namespace tessera {

// A list of running steps, in parts by thread so that concurrent runs do not meet on one lock.
// Thread-safe.
class RunningSteps {
 private:
  struct Part;

 public:
  // One running step. Lives in its step's own memory, and leaves the list when it dies.
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

  // Cancels every step in the list. What their kernels do then must not end an Entry on this
  // thread.
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
