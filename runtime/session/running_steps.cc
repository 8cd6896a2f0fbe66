#include "runtime/session/running_steps.h"

#include <atomic>

namespace tessera {

RunningSteps::Entry::Entry(RunningSteps& steps, CancellationManager* cancellation,
                           Rendezvous* rendezvous)
    : part_(steps.PartOfThread()), cancellation_(cancellation), rendezvous_(rendezvous) {
  absl::MutexLock lock(&part_.mu);
  next_ = part_.first;
  if (next_ != nullptr) next_->previous_ = this;
  part_.first = this;
}

RunningSteps::Entry::~Entry() {
  absl::MutexLock lock(&part_.mu);
  if (next_ != nullptr) next_->previous_ = previous_;
  if (previous_ != nullptr) {
    previous_->next_ = next_;
  } else {
    part_.first = next_;
  }
}

void RunningSteps::CancelAll(const absl::Status& reason) {
  for (Part& part : parts_) {
    absl::MutexLock lock(&part.mu);
    for (Entry* entry = part.first; entry != nullptr; entry = entry->next_) {
      if (entry->rendezvous_ != nullptr) entry->rendezvous_->Abort(reason);
      entry->cancellation_->Cancel();
    }
  }
}

RunningSteps::Part& RunningSteps::PartOfThread() {
  static std::atomic<size_t> next{0};
  thread_local const size_t part = next.fetch_add(1, std::memory_order_relaxed);
  return parts_[part % parts_.size()];
}

}  // namespace tessera
