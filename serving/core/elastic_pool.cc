#include "serving/core/elastic_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "runtime/base/logging.h"
#include "serving/core/timer.h"

namespace tessera::serving {
namespace {

int64_t Now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr absl::Duration kUntilAskedAgain = absl::Milliseconds(100);

// Has the thread for pools that get none, started with the first pool: later there may be none.
Timer& Spare() {
  static Timer& timer = *[] {
    auto* const started = new Timer;
    started->CallAt(absl::InfinitePast(), [] {});
    return started;
  }();
  return timer;
}

}  // namespace

ElasticPool::ElasticPool(const Options& options)
    : options_(options), max_threads_(options.max_threads) {
  Spare();
}

ElasticPool::~ElasticPool() {
  Threads ended;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    work_or_stop_.SignalAll();
    while (!threads_.empty() || asks_again_) thread_ended_.Wait(&mu_);
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
}

void ElasticPool::Schedule(const Share* share, std::function<void()> closure) {
  Threads ended;
  {
    absl::MutexLock lock(&mu_);
    ended.swap(ended_);
    const size_t limit = static_cast<size_t>(std::max(1, max_threads_));
    const bool all_are_busy =
        static_cast<size_t>(idle_) <= queue_.size() && threads_.size() >= limit;
    if (all_are_busy && threads_.size() < 2 * limit && queue_.IsIdle(share)) {
      queue_.Take(share, Now());
      AddThread(share, std::move(closure));
    } else {
      queue_.Push(share, std::move(closure), Now());
      if (static_cast<size_t>(idle_) >= queue_.size() || threads_.size() >= limit) {
        work_or_stop_.Signal();
      } else {
        AddThread();
      }
    }
  }
  for (std::thread& thread : ended) thread.join();
}

void ElasticPool::AddThread(const Share* share, Closure first) {
  const auto self = threads_.emplace(threads_.end());
  const auto kept = std::make_shared<Closure>(std::move(first));  // if no thread comes to take it
  try {
    *self = std::thread([this, self, share, kept] { RunThread(self, share, std::move(*kept)); });
    return;
  } catch (const std::system_error& error) {
    if (!asks_again_) {
      LOG(ERROR) << options_.name << ": no thread can be started (" << error.what()
                 << "): what waits for one is left to the " << threads_.size() - 1
                 << " that are there, until the system has one";
    }
  }
  threads_.erase(self);
  if (*kept != nullptr) {
    queue_.Give(share, Now());
    queue_.Push(share, std::move(*kept), Now());
  }
  if (!asks_again_) AskAgainIn(kUntilAskedAgain);
}

void ElasticPool::AskAgainIn(absl::Duration time) {
  asks_again_ = true;
  Spare().CallAt(absl::Now() + time, [this] { AskAgain(); });
}

bool ElasticPool::LacksThread() const {
  return queue_.size() > static_cast<size_t>(idle_) &&
         threads_.size() < static_cast<size_t>(std::max(1, max_threads_));
}

void ElasticPool::AskAgain() {
  absl::MutexLock lock(&mu_);
  if (LacksThread()) AddThread();
  absl::Duration pause = kUntilAskedAgain;
  if (threads_.empty() && !queue_.empty()) {
    RunNext(Now());
    pause = absl::ZeroDuration();
  }
  if (LacksThread()) return AskAgainIn(pause);
  asks_again_ = false;
  thread_ended_.Signal();
}

void ElasticPool::set_max_threads(int max_threads) {
  absl::MutexLock lock(&mu_);
  max_threads_ = max_threads;
  size_t waiting = queue_.size();
  while (waiting-- > static_cast<size_t>(idle_) &&
         threads_.size() < static_cast<size_t>(max_threads_)) {
    AddThread();
  }
}

int ElasticPool::num_threads() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int>(threads_.size());
}

int ElasticPool::num_queued() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int>(queue_.size());
}

void ElasticPool::Run(Closure closure) const {
  std::optional<PacedScope> pace;
  if (options_.pacer != nullptr) pace.emplace(options_.pacer);
  closure();
  closure = nullptr;  // what it holds may take long to die
}

bool ElasticPool::HasTooManyThreads(int64_t now) {
  return threads_.size() > static_cast<size_t>(std::max(1, max_threads_)) &&
         !queue_.NextHoldsNone(now);
}

void ElasticPool::RunNext(int64_t now) {
  auto [whose, closure] = queue_.Pop(now);
  mu_.Unlock();
  Run(std::move(closure));
  mu_.Lock();
  queue_.Give(whose, Now());
}

void ElasticPool::RunThread(Threads::iterator self, const Share* share, Closure first) {
  pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
  SetThreadPriority(options_.priority);
  if (const absl::Status kept = options_.cores.BindThisThread(); !kept.ok()) {
    LOG(WARNING) << options_.name << ": " << kept.message();
  }
  const bool had_first = first != nullptr;
  if (had_first) Run(std::move(first));
  absl::MutexLock lock(&mu_);
  if (had_first) queue_.Give(share, Now());
  while (true) {
    bool timed_out = false;
    while (queue_.empty() && !stopping_ && !timed_out) {
      ++idle_;
      timed_out = work_or_stop_.WaitWithTimeout(&mu_, options_.idle_timeout);
      --idle_;
    }
    if (queue_.empty()) break;
    const int64_t now = Now();
    if (HasTooManyThreads(now)) {
      work_or_stop_.Signal();  // the closure that this thread was woken for
      break;
    }
    RunNext(now);
  }
  ended_.splice(ended_.end(), threads_, self);
  thread_ended_.Signal();
}

}  // namespace tessera::serving
