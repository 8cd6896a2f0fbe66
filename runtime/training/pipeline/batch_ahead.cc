#include "runtime/training/pipeline/batch_ahead.h"

#include <utility>

namespace tessera {

BatchAhead::Forwarding::Forwarding(CancellationManager* from, CancellationManager* to)
    : from_(from) {
  if (from_ == nullptr || from_->Register([to] { to->Cancel(); }, &token_)) return;
  from_ = nullptr;
  to->Cancel();
}

BatchAhead::Forwarding::~Forwarding() {
  if (from_ != nullptr) from_->Deregister(token_);
}

BatchAhead::BatchAhead(Get get, CancellationManager* cancellation)
    : get_(std::move(get)),
      forwarding_(cancellation, &cancellation_),
      thread_([this] { Loop(); }) {}

BatchAhead::~BatchAhead() {
  cancellation_.Cancel();
  {
    absl::MutexLock lock(&mu_);
    is_stopping_ = true;
  }
  thread_.join();
}

void BatchAhead::Loop() {
  const auto has_something_to_do = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return is_getting_ || is_stopping_;
  };
  while (true) {
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(&has_something_to_do));
      if (is_stopping_) return;
    }
    Result result = get_(&cancellation_);
    absl::MutexLock lock(&mu_);
    pending_.push_back(std::move(result));
    is_getting_ = false;
  }
}

BatchAhead::Result BatchAhead::Next(CancellationManager* cancellation) {
  const Forwarding forwarding(cancellation, &cancellation_);
  Result result;
  {
    absl::MutexLock lock(&mu_);
    if (pending_.empty()) is_getting_ = true;
    mu_.Await(absl::Condition(this, &BatchAhead::IsIdle));
    result = std::move(pending_.front());
    pending_.pop_front();
    if (result.has_batch.ok() && pending_.empty() && !cancellation_.IsCancelled()) {
      is_getting_ = true;
    }
  }
  return result;
}

const std::deque<BatchAhead::Result>& BatchAhead::AwaitPending() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &BatchAhead::IsIdle));
  return pending_;
}

void BatchAhead::SetPending(std::deque<Result> results) {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &BatchAhead::IsIdle));
  pending_ = std::move(results);
}

}  // namespace tessera
