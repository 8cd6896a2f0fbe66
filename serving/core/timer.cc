#include "serving/core/timer.h"

#include <pthread.h>

#include <system_error>

#include "absl/time/clock.h"
#include "runtime/base/logging.h"

namespace tessera::serving {

Timer::~Timer() {
  std::thread thread;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    earliest_changed_.Signal();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

Timer::Token Timer::CallAt(absl::Time time, std::function<void()> closure) {
  absl::MutexLock lock(&mu_);
  const Token token = next_++;
  if (stopping_) return token;
  const auto it = closures_.emplace(std::pair(time, token), std::move(closure)).first;
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error& error) {
      LOG(ERROR) << "timer: no thread can be started (" << error.what()
                 << "): what is due waits for the next call";
    }
  } else if (it == closures_.begin()) {
    earliest_changed_.Signal();
  }
  return token;
}

void Timer::Cancel(absl::Time time, Token token) {
  absl::MutexLock lock(&mu_);
  closures_.erase({time, token});
}

void Timer::Run() {
  pthread_setname_np(pthread_self(), "timer");
  absl::MutexLock lock(&mu_);
  while (!stopping_) {
    if (closures_.empty()) {
      earliest_changed_.Wait(&mu_);
      continue;
    }
    const auto first = closures_.begin();
    if (absl::Now() < first->first.first) {
      earliest_changed_.WaitWithDeadline(&mu_, first->first.first);
      continue;
    }
    std::function<void()> closure = std::move(first->second);
    closures_.erase(first);
    mu_.Unlock();
    closure();
    closure = nullptr;  // what it holds may need the lock when it dies
    mu_.Lock();
  }
}

}  // namespace tessera::serving
