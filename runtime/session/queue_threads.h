// QueueThreads: fills the queues from which a graph of TF1 reads its data.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/cancellation.h"
#include "runtime/session/queue_runners.h"
#include "runtime/session/session.h"

namespace tessera {

// Runs the enqueue ops of queue runners, each on a thread of its own, as TensorFlow's
// start_queue_runners() does. A queue is closed when all of its enqueue ops have told that there is
// nothing more; who reads from it then gets OUT_OF_RANGE. After another error, and when the caller
// cancels, all queues are closed, so that nobody waits for what will not come. Destruction ends all
// threads. Thread-safe.
class QueueThreads {
 public:
  // The variables that the ops read must have values. `cancellation` is the caller's and must
  // outlive the object; null: the caller does not cancel. Errors: those of MakeCallable().
  static absl::StatusOr<std::unique_ptr<QueueThreads>> Start(
      const std::vector<QueueRunner>& runners, Session& session, CancellationManager* cancellation);
  ~QueueThreads();
  QueueThreads(const QueueThreads&) = delete;

  // Returns the first error of a run that is not the end of its data.
  absl::Status status() const;

 private:
  struct Queue {
    std::string name;
    std::vector<absl::StatusCode> end_codes;
    std::shared_ptr<const Callable> close, cancel;
    int num_running = 0;  // enqueue ops that have not ended; under mu_
  };

  explicit QueueThreads(CancellationManager* callers) : callers_(callers) {}
  void Fill(Queue* queue, const Callable& enqueue);
  // Ends all runs, and closes all queues.
  void Cancel();

  CancellationManager* const callers_;  // may be null
  CancellationManager::Token token_ = 0;
  bool is_registered_ = false;
  std::list<Queue> queues_;
  CancellationManager cancellation_;
  mutable absl::Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

}  // namespace tessera
