// StepMutex: a lock for what is held while a pipeline makes an element, which may take any time.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/data/background.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// A mutex whose waiters give up when their steps end. Lock it by a StepLock.
class ABSL_LOCKABLE StepMutex {
 public:
  StepMutex() = default;
  StepMutex(const StepMutex&) = delete;
  StepMutex& operator=(const StepMutex&) = delete;

 private:
  friend class StepLock;

  absl::Mutex mu_;
  bool is_held_ ABSL_GUARDED_BY(mu_) = false;
};

// Holds a StepMutex while it lives.
//
//   StepLock lock(&mu_, step);
//   RETURN_IF_ERROR(lock.status());
class ABSL_SCOPED_LOCKABLE StepLock {
 public:
  // Waits as long as the step lasts. The lock is held if status() is OK.
  StepLock(StepMutex* mu, const StepContext& step) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(*mu) {
    absl::MutexLock lock(&mu_.mu_);
    status_ = AwaitInStep(step, mu_.mu_,
                          [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !mu_.is_held_; });
    if (status_.ok()) mu_.is_held_ = true;
  }
  // Waits without a limit.
  explicit StepLock(StepMutex* mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : StepLock(mu, StepContext()) {}
  ~StepLock() ABSL_UNLOCK_FUNCTION() {
    if (!status_.ok()) return;
    absl::MutexLock lock(&mu_.mu_);
    mu_.is_held_ = false;
  }
  StepLock(const StepLock&) = delete;

  // Errors: CANCELLED or DEADLINE_EXCEEDED if the step ended before the lock was free.
  const absl::Status& status() const { return status_; }

 private:
  StepMutex& mu_;
  absl::Status status_;
};

}  // namespace tessera
