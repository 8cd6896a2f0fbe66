#include "runtime/kernels/batching/tensor_mailbox.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace tessera {

struct TensorMailbox::Waiter {
  StepContext* step;
  absl::Time deadline;
  Taken taken;
  CancellationManager::Token token = 0;
};

struct TensorMailbox::State {
  struct Kept {
    Tensor tensor;
    absl::Time until;
  };

  // Removes the waiter for a number. Returns nothing if there is none.
  std::optional<Waiter> Remove(int64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    auto waiter = waiters.extract(id);
    if (waiter.empty()) return std::nullopt;
    return std::move(waiter.mapped());
  }

  absl::Mutex mu;
  absl::CondVar changed;
  std::map<int64_t, Kept> kept ABSL_GUARDED_BY(mu);
  std::map<int64_t, Waiter> waiters ABSL_GUARDED_BY(mu);
  std::thread thread ABSL_GUARDED_BY(mu);  // started for the first waiter with a deadline
  bool is_ending ABSL_GUARDED_BY(mu) = false;
};

TensorMailbox::TensorMailbox() : state_(std::make_shared<State>()) {}

TensorMailbox::~TensorMailbox() {
  std::thread thread;
  {
    absl::MutexLock lock(&state_->mu);
    state_->is_ending = true;
    thread.swap(state_->thread);
    state_->changed.Signal();
  }
  if (!thread.joinable()) return;
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();  // it ends by itself, and has its share in the state
  } else {
    thread.join();
  }
}

void TensorMailbox::Put(int64_t id, Tensor tensor, absl::Duration keep) {
  std::optional<Waiter> waiter;
  {
    absl::MutexLock lock(&state_->mu);
    const absl::Time now = absl::Now();
    std::erase_if(state_->kept, [&](const auto& entry) { return entry.second.until < now; });
    waiter = state_->Remove(id);
    if (!waiter) {
      state_->kept.insert_or_assign(id, State::Kept{std::move(tensor), now + keep});
      return;
    }
  }
  Finish(*std::move(waiter), std::move(tensor));
}

void TensorMailbox::Take(int64_t id, StepContext& step, absl::Duration timeout, Taken taken) {
  std::optional<absl::StatusOr<Tensor>> found;
  {
    absl::MutexLock lock(&state_->mu);
    if (auto kept = state_->kept.extract(id); !kept.empty()) {
      found = std::move(kept.mapped().tensor);
    } else if (state_->waiters.contains(id)) {
      found = absl::AlreadyExistsError(absl::StrCat("somebody else waits for the tensor ", id));
    } else {
      Waiter waiter{&step, absl::Now() + timeout, taken};
      const auto on_cancel = [state = state_, id] { Cancel(*state, id); };
      if (step.cancellation != nullptr && !step.cancellation->Register(on_cancel, &waiter.token)) {
        found = absl::CancelledError("the step was cancelled");
      } else {
        state_->waiters.emplace(id, std::move(waiter));
        if (timeout != absl::InfiniteDuration()) {
          if (!state_->thread.joinable()) {
            state_->thread = std::thread([state = state_] { RunTimeouts(state); });
          }
          state_->changed.Signal();
        }
      }
    }
  }
  if (found) taken(*std::move(found));
}

void TensorMailbox::Cancel(State& state, int64_t id) {
  std::optional<Waiter> waiter;
  {
    absl::MutexLock lock(&state.mu);
    waiter = state.Remove(id);
  }
  if (waiter) waiter->taken(absl::CancelledError("cancelled while it waited for its rows"));
}

void TensorMailbox::RunTimeouts(const std::shared_ptr<State>& state) {
  pthread_setname_np(pthread_self(), "unbatch");
  while (true) {
    std::vector<Waiter> late;
    {
      absl::MutexLock lock(&state->mu);
      if (state->is_ending) return;
      const absl::Time now = absl::Now();
      absl::Time next = absl::InfiniteFuture();
      for (auto waiter = state->waiters.begin(); waiter != state->waiters.end();) {
        if (waiter->second.deadline <= now) {
          late.push_back(std::move(waiter->second));
          waiter = state->waiters.erase(waiter);
        } else {
          next = std::min(next, waiter->second.deadline);
          ++waiter;
        }
      }
      if (late.empty()) state->changed.WaitWithDeadline(&state->mu, next);
    }
    for (Waiter& waiter : late) {
      Finish(std::move(waiter),
             absl::DeadlineExceededError("Batched data did not arrive within timeout window."));
    }
  }
}

void TensorMailbox::Finish(Waiter waiter, absl::StatusOr<Tensor> tensor) {
  // A cancellation that runs now finds the waiter gone.
  if (waiter.step->cancellation != nullptr) waiter.step->cancellation->Deregister(waiter.token);
  waiter.taken(std::move(tensor));
}

}  // namespace tessera
