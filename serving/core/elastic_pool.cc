#include "serving/core/elastic_pool.h"

#include <pthread.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "runtime/base/logging.h"

namespace tessera::serving {

ElasticPool::ElasticPool(const Options& options)
    : options_(options), max_threads_(options.max_threads) {}

ElasticPool::~ElasticPool() {
  Threads ended;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    work_or_stop_.SignalAll();
    while (!threads_.empty()) thread_ended_.Wait(&mu_);
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
}

void ElasticPool::Schedule(std::function<void()> closure) {
  Threads ended;
  {
    absl::MutexLock lock(&mu_);
    queue_.push_back(std::move(closure));
    ended.swap(ended_);
    if (static_cast<size_t>(idle_) >= queue_.size() ||
        threads_.size() >= static_cast<size_t>(max_threads_)) {
      work_or_stop_.Signal();
    } else {
      AddThread();
    }
  }
  for (std::thread& thread : ended) thread.join();
}

void ElasticPool::AddThread() {
  auto self = threads_.emplace(threads_.end());
  *self = std::thread([this, self] { RunThread(self); });
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

void ElasticPool::Run(std::function<void()> closure) const {
  std::optional<PacedScope> pace;
  if (options_.pacer != nullptr) pace.emplace(options_.pacer);
  closure();
  closure = nullptr;  // what it holds may take long to die
}

void ElasticPool::RunThread(Threads::iterator self) {
  pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
  SetThreadPriority(options_.priority);
  if (const absl::Status kept = options_.cores.BindThisThread(); !kept.ok()) {
    LOG(WARNING) << options_.name << ": " << kept.message();
  }
  absl::MutexLock lock(&mu_);
  while (true) {
    bool timed_out = false;
    while (queue_.empty() && !stopping_ && !timed_out) {
      ++idle_;
      timed_out = work_or_stop_.WaitWithTimeout(&mu_, options_.idle_timeout);
      --idle_;
    }
    if (queue_.empty()) break;
    if (threads_.size() > static_cast<size_t>(std::max(1, max_threads_))) {
      work_or_stop_.Signal();  // the closure that this thread was woken for
      break;
    }
    std::function<void()> closure = std::move(queue_.front());
    queue_.pop_front();
    mu_.Unlock();
    Run(std::move(closure));
    mu_.Lock();
  }
  ended_.splice(ended_.end(), threads_, self);
  thread_ended_.Signal();
}

}  // namespace tessera::serving
