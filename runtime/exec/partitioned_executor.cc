#include "runtime/exec/partitioned_executor.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "runtime/exec/rendezvous.h"
#include "runtime/exec/run_state.h"

namespace tessera {
namespace {

// One run of all parts. Lives until the last of them ends.
class PartsRun {
 public:
  PartsRun(const StepContext& step, PartsMeet meet, size_t num_parts, Executor::DoneCallback done)
      : step_(step), running_(static_cast<int>(num_parts)), done_(std::move(done)) {
    if (meet == PartsMeet::kInStep) return;
    own_rendezvous_ = std::make_shared<LocalRendezvous>();
    step_.rendezvous = own_rendezvous_.get();
    if (step_.cancellation == nullptr) return;
    // Shared: a run may end while the callback is under way, or within it.
    auto abort = [rendezvous = own_rendezvous_] {
      rendezvous->Abort(absl::CancelledError("the step was cancelled"));
    };
    is_registered_ = step_.cancellation->Register(abort, &token_);
    if (!is_registered_) abort();
  }

  StepContext& step() { return step_; }

  // The end of one part. Deletes the run with the last one.
  void EndPart(const absl::Status& status) {
    if (!status.ok()) {
      {
        absl::MutexLock lock(&mu_);
        AddError(status, &status_);
      }
      // What other parts still wait for will not come.
      FailStep(step_, status);
    }
    if (running_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (is_registered_) step_.cancellation->TryDeregister(token_);
    absl::Status result;
    {
      absl::MutexLock lock(&mu_);
      result = status_;
    }
    const Executor::DoneCallback done = std::move(done_);
    delete this;
    done(std::move(result));
  }

 private:
  StepContext step_;
  std::shared_ptr<LocalRendezvous> own_rendezvous_;
  CancellationManager::Token token_ = 0;
  bool is_registered_ = false;
  std::atomic<int> running_;
  Executor::DoneCallback done_;
  absl::Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

class PartitionedExecutor final : public Executor {
 public:
  PartitionedExecutor(std::vector<std::unique_ptr<Executor>> parts, PartsMeet meet)
      : parts_(std::move(parts)), meet_(meet) {}

  void RunAsync(StepContext& step, const RunArgs& run, DoneCallback done) const override {
    if (run.results != nullptr && run.results->size() < static_cast<size_t>(num_results())) {
      run.results->resize(num_results());
    }
    auto* const parts_run = new PartsRun(step, meet_, parts_.size(), std::move(done));
    // Each goes as far as it can on this thread; what it waits for comes from the next ones.
    for (const auto& part : parts_) {
      part->RunAsync(parts_run->step(), run,
                     [parts_run](absl::Status status) { parts_run->EndPart(status); });
    }
  }

  absl::Status Run(StepContext& step, const RunArgs& run) const override {
    absl::Mutex mu;
    bool is_over = false;
    absl::Status result;
    RunAsync(step, run, [&](absl::Status status) {
      absl::MutexLock lock(&mu);
      result = std::move(status);
      is_over = true;
    });
    absl::MutexLock lock(&mu);
    if (mu.AwaitWithDeadline(absl::Condition(&is_over), step.deadline)) return result;
    mu.Unlock();
    const absl::Status late = absl::DeadlineExceededError("the step ran longer than its timeout");
    FailStep(step, late);
    mu.Lock();
    mu.Await(absl::Condition(&is_over));
    return late;
  }

  bool may_wait() const override { return true; }
  int num_args() const override {
    int most = 0;
    for (const auto& part : parts_) most = std::max(most, part->num_args());
    return most;
  }
  int num_results() const override {
    int most = 0;
    for (const auto& part : parts_) most = std::max(most, part->num_results());
    return most;
  }

 private:
  const std::vector<std::unique_ptr<Executor>> parts_;
  const PartsMeet meet_;
};

}  // namespace

std::unique_ptr<Executor> MakePartitionedExecutor(std::vector<std::unique_ptr<Executor>> parts,
                                                  PartsMeet meet) {
  return std::make_unique<PartitionedExecutor>(std::move(parts), meet);
}

}  // namespace tessera
