#include "runtime/host/pace.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace tessera {

namespace {

// The longest that a thread which answers requests may have to wait, and what gives it time: a
// fifth of a core is for loading. With four fifths p99 of requests grew up to 2.7 times while a
// version loaded (scripts/bench swap).
constexpr int64_t kWorkNanos = 100'000;
constexpr int64_t kPauseNanos = 400'000;
constexpr int64_t kBusyNanos = 100'000'000;  // after a request
// Between two looks whether requests come. Each costs some ten microseconds.
constexpr int64_t kLookNanos = 2'000'000;

// Beyond that of mapping_guard.cc.
int PaceSignal() { return SIGRTMIN + 10; }

// For the signal handler, in which little may be called.
int64_t Nanos(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

// A thread's timer. It fires once, and is set again once its signal was handled: a thread that gets
// no core is not sent any more.
class Timer {
 public:
  // For the calling thread.
  Timer() {
    static const bool has_handler = HandleSignal();
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = PaceSignal();
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    exists_ = has_handler && timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    of_thread = this;
  }
  ~Timer() {
    of_thread = nullptr;
    if (exists_) timer_delete(timer_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Fires after less than a second; never, if that is zero.
  void Set(int64_t nanos) {
    const itimerspec spec = {.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = nanos}};
    if (exists_) timer_settime(timer_, 0, &spec, nullptr);
  }

  // That of the innermost scope; null outside of all scopes. The handler reads it, too.
  std::atomic<Pacer*> pacer{nullptr};

 private:
  static bool HandleSignal() {
    struct sigaction action = {};
    action.sa_handler = Pause;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    return sigaction(PaceSignal(), &action, nullptr) == 0;
  }

  static void Pause(int) {
    const int saved_errno = errno;
    // The last signal may come after the last scope.
    if (of_thread == nullptr) return;
    if (Pacer* const pacer = of_thread->pacer) of_thread->PauseAfterWork(*pacer);
    errno = saved_errno;
  }

  // A thread that was kept from its core most of the time needs no pause.
  void PauseAfterWork(Pacer& pacer) {
    const int64_t worked = Nanos(CLOCK_THREAD_CPUTIME_ID);
    const bool requests_come = pacer.RequestsCome();
    if (requests_come && worked - worked_ > kWorkNanos / 2) {
      const timespec pause = {.tv_sec = 0, .tv_nsec = kPauseNanos};
      nanosleep(&pause, nullptr);
    }
    worked_ = worked;
    Set(requests_come ? kWorkNanos : kLookNanos);
  }

  static thread_local Timer* of_thread;  // for the handler, which must not make one

  timer_t timer_ = {};
  bool exists_ = false;
  int64_t worked_ = 0;  // the thread's own time when it was last looked at
};

thread_local Timer* Timer::of_thread = nullptr;

Timer& TimerOfThread() {
  thread_local Timer timer;
  return timer;
}

}  // namespace

bool Pacer::RequestsCome() {
  const int64_t now = Nanos(CLOCK_MONOTONIC);
  if (request_came_.exchange(false, std::memory_order_relaxed)) {
    last_request_.store(now, std::memory_order_relaxed);
  }
  return now - last_request_.load(std::memory_order_relaxed) < kBusyNanos;
}

PacedScope::PacedScope(Pacer* pacer) : outer_(TimerOfThread().pacer.exchange(pacer)) {
  if (outer_ == nullptr) TimerOfThread().Set(kWorkNanos);
}

PacedScope::~PacedScope() {
  Timer& timer = TimerOfThread();
  timer.pacer = outer_;
  if (outer_ == nullptr) timer.Set(0);
}

}  // namespace tessera
