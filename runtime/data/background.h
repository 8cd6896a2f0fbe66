// Work of an iterator that goes on between the calls of Next().
//
// An iterator needs no threads of its own. What may run ahead is a task that a thread of the pool
// begins when one is free; who needs the result and finds that nobody has begun runs the task
// himself. So nothing waits for a thread: with busy pools, or without any, a pipeline runs on the
// thread that consumes it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The step in which an iterator works in the background. It lasts as long as the iterator, and has
// the resources and pools of the step that first asked for an element.
class BackgroundStep {
 public:
  explicit BackgroundStep(const StepContext& first);

  StepContext& context() { return context_; }
  // The pool for tasks; null if everything is to run on the calling thread.
  ThreadPool* pool() const { return pool_; }
  // Keeps the loops of kernels on the threads that call them: for iterators that have as many calls
  // under way as there are threads, each of which would otherwise wait for the others.
  void KeepLoopsOnCallers() { context_.intra_op_pool = nullptr; }
  // Ends what runs in the step. The iterator is of no use afterwards.
  void Cancel() { cancellation_.Cancel(); }

 private:
  CancellationManager cancellation_;
  ResourceManager resources_;
  StepContext context_;
  ThreadPool* const pool_;
};

// Waits until `condition` holds, which depends on what `mu` guards. Requires that the thread holds
// `mu`; drops it on the way.
// Errors: CANCELLED or DEADLINE_EXCEEDED if the step ends before.
absl::Status AwaitInStep(const StepContext& step, absl::Mutex& mu,
                         absl::FunctionRef<bool()> condition) ABSL_NO_THREAD_SAFETY_ANALYSIS;

// A closure that runs once, on whichever thread comes first. Thread-safe.
class ClaimableTask {
 public:
  explicit ClaimableTask(std::function<void()> work) : work_(std::move(work)) {}

  // Offers the task to a thread of the pool; does nothing if that is null.
  static void Offer(const std::shared_ptr<ClaimableTask>& task, ThreadPool* pool);
  // Runs the closure unless another thread has begun, and otherwise waits for its end.
  // Errors: those of AwaitInStep(). Then the closure may still be running.
  absl::Status Finish(const StepContext& step);
  // Runs the closure unless another thread has begun.
  void RunIfWaiting() {
    if (Claim()) Run();
  }
  bool IsDone() {
    absl::MutexLock lock(&mu_);
    return state_ == State::kDone;
  }
  // Waits for the end of the closure if it has begun; otherwise it will never run.
  void Abandon();

 private:
  enum class State { kWaiting, kRunning, kDone };
  // Returns true if this call has to run the closure.
  bool Claim();
  void Run();

  std::function<void()> work_;
  absl::Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kWaiting;
};

}  // namespace tessera
