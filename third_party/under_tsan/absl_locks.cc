// Tells ThreadSanitizer about absl's locks. Debian's absl is compiled without it, so what its
// mutexes and call_once() order looks like races. These definitions stand in front of those of the
// shared library, call them, and report what they order. Linked into --config=tsan builds alone,
// and compiled without the sanitizer itself.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "absl/base/internal/spinlock_wait.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

namespace {

// The library's own function of this mangled name.
template <typename R, typename... Args>
class Real {
 public:
  using Function = R (*)(Args...);
  explicit Real(const char* symbol)
      : function_(reinterpret_cast<Function>(dlsym(RTLD_NEXT, symbol))) {}
  R operator()(Args... args) const {
    // A mutex may evaluate the conditions of other threads' waits within any call, after the caller
    // has reported its release.
    struct IgnoreReads {
      IgnoreReads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
      ~IgnoreReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
    } ignore;
    return function_(args...);
  }

 private:
  const Function function_;
};

// `call` with what it waits for ordered before what follows.
template <typename Call>
auto Acquiring(const void* address, Call call) {
  struct Acquire {
    const void* address;
    ~Acquire() { __tsan_acquire(const_cast<void*>(address)); }
  } acquire{address};
  return call();
}

}  // namespace

#define REAL(SYMBOL, ...) static const Real<__VA_ARGS__> real(#SYMBOL)

namespace absl {
ABSL_NAMESPACE_BEGIN

// What absl::call_once() does in a thread that waits for the one that runs the function.
namespace base_internal {
uint32_t SpinLockWait(std::atomic<uint32_t>* word, int count,
                      const SpinLockWaitTransition transitions[], SchedulingMode mode) {
  REAL(
      _ZN4absl7debian313base_internal12SpinLockWaitEPSt6atomicIjEiPKNS1_22SpinLockWaitTransitionENS1_14SchedulingModeE,
      uint32_t, std::atomic<uint32_t>*, int, const SpinLockWaitTransition*, SchedulingMode);
  return Acquiring(word, [&] { return real(word, count, transitions, mode); });
}
}  // namespace base_internal

void Mutex::Lock() {
  REAL(_ZN4absl7debian35Mutex4LockEv, void, Mutex*);
  Acquiring(this, [&] { real(this); });
}
bool Mutex::TryLock() {
  REAL(_ZN4absl7debian35Mutex7TryLockEv, bool, Mutex*);
  return Acquiring(this, [&] { return real(this); });
}
void Mutex::Unlock() {
  REAL(_ZN4absl7debian35Mutex6UnlockEv, void, Mutex*);
  __tsan_release(this);
  real(this);
}
void Mutex::ReaderLock() {
  REAL(_ZN4absl7debian35Mutex10ReaderLockEv, void, Mutex*);
  Acquiring(this, [&] { real(this); });
}
void Mutex::ReaderUnlock() {
  REAL(_ZN4absl7debian35Mutex12ReaderUnlockEv, void, Mutex*);
  __tsan_release(this);
  real(this);
}
void Mutex::Await(const Condition& condition) {
  REAL(_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE, void, Mutex*, const Condition&);
  __tsan_release(this);
  Acquiring(this, [&] { real(this, condition); });
}
bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  REAL(_ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE, bool, Mutex*,
       const Condition&, Duration);
  __tsan_release(this);
  return Acquiring(this, [&] { return real(this, condition, timeout); });
}
bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  REAL(_ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE, bool, Mutex*,
       const Condition&, Time);
  __tsan_release(this);
  return Acquiring(this, [&] { return real(this, condition, deadline); });
}
void Mutex::LockWhen(const Condition& condition) {
  REAL(_ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE, void, Mutex*, const Condition&);
  Acquiring(this, [&] { real(this, condition); });
}
bool Mutex::LockWhenWithTimeout(const Condition& condition, Duration timeout) {
  REAL(_ZN4absl7debian35Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE, bool, Mutex*,
       const Condition&, Duration);
  return Acquiring(this, [&] { return real(this, condition, timeout); });
}
bool Mutex::LockWhenWithDeadline(const Condition& condition, Time deadline) {
  REAL(_ZN4absl7debian35Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE, bool, Mutex*,
       const Condition&, Time);
  return Acquiring(this, [&] { return real(this, condition, deadline); });
}

void CondVar::Wait(Mutex* mu) {
  REAL(_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE, void, CondVar*, Mutex*);
  __tsan_release(mu);
  Acquiring(mu, [&] { real(this, mu); });
}
bool CondVar::WaitWithTimeout(Mutex* mu, Duration timeout) {
  REAL(_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE, bool, CondVar*, Mutex*,
       Duration);
  __tsan_release(mu);
  return Acquiring(mu, [&] { return real(this, mu, timeout); });
}
bool CondVar::WaitWithDeadline(Mutex* mu, Time deadline) {
  REAL(_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE, bool, CondVar*, Mutex*,
       Time);
  __tsan_release(mu);
  return Acquiring(mu, [&] { return real(this, mu, deadline); });
}

void Notification::Notify() {
  REAL(_ZN4absl7debian312Notification6NotifyEv, void, Notification*);
  __tsan_release(this);
  real(this);
}
void Notification::WaitForNotification() const {
  REAL(_ZNK4absl7debian312Notification19WaitForNotificationEv, void, const Notification*);
  Acquiring(this, [&] { real(this); });
}
bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  REAL(_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE, bool,
       const Notification*, Duration);
  return Acquiring(this, [&] { return real(this, timeout); });
}
bool Notification::WaitForNotificationWithDeadline(Time deadline) const {
  REAL(_ZNK4absl7debian312Notification31WaitForNotificationWithDeadlineENS0_4TimeE, bool,
       const Notification*, Time);
  return Acquiring(this, [&] { return real(this, deadline); });
}

bool BlockingCounter::DecrementCount() {
  REAL(_ZN4absl7debian315BlockingCounter14DecrementCountEv, bool, BlockingCounter*);
  __tsan_release(this);
  return real(this);
}
void BlockingCounter::Wait() {
  REAL(_ZN4absl7debian315BlockingCounter4WaitEv, void, BlockingCounter*);
  Acquiring(this, [&] { real(this); });
}

ABSL_NAMESPACE_END
}  // namespace absl
