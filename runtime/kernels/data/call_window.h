// The calls of a map's function that are under way for the elements that come next.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/data/background.h"
#include "runtime/data/iterator_archive.h"
#include "runtime/kernels/data/transformations.h"

namespace tessera {

// A call of the function for one element of the input.
struct MapCall {
  Element args, results;
  // True if there is an element, false if the function ended the dataset, or the error of the
  // function or of the input.
  absl::StatusOr<bool> outcome = false;
  std::shared_ptr<ClaimableTask> task;
};

// Returns how many calls to keep under way: more than the pool, which may be null, has threads
// would only hold memory.
int64_t UsefulCalls(const ThreadPool* pool, int64_t num_parallel_calls);
// Returns the step in which an iterator calls the function; `first` is that of its first call.
std::unique_ptr<BackgroundStep> StepOfCalls(const StepContext& first, const ElementMap& map);
// Returns a task that has nothing to do.
std::shared_ptr<ClaimableTask> EmptyTask();

// Keeps calls under way, in the order of the elements. Its input is pulled by the thread that asks
// for an element, so a prefetch behind the map makes both go on by themselves. `Call` is MapCall or
// derived from it. Used by one thread at a time; the pool's threads and that one make the calls.
//
//   RETURN_IF_ERROR(window.Fill(step, input(), /*held=*/0, make, then));
//   if (window.size() == 0) return false;
//   RETURN_IF_ERROR(window.Finish(0, step));
//   const std::vector<std::shared_ptr<Call>> calls = window.Take(1);
template <typename Call>
class CallWindow {
 public:
  // The map must outlive the window.
  explicit CallWindow(const ElementMap& map) : map_(map) {}
  CallWindow(const CallWindow&) = delete;
  CallWindow& operator=(const CallWindow&) = delete;
  // Waits for the calls that have begun. The others are never made.
  ~CallWindow() {
    if (background_ != nullptr) background_->Cancel();
    for (const auto& call : calls_) call->task->Abandon();
  }

  int64_t size() const { return static_cast<int64_t>(calls_.size()); }

  // Begins as many calls as are useful behind the first `held`. `make` returns a shared_ptr to a
  // new Call; `then` gets a Call with an element, on the thread that made it, and must not use the
  // iterator. An error of the input is the outcome of a call, which comes behind those before it.
  // Errors: CANCELLED or DEADLINE_EXCEEDED of the step.
  template <typename Make, typename Then>
  absl::Status Fill(StepContext& step, Iterator& input, int64_t held, const Make& make,
                    const Then& then) {
    if (background_ == nullptr) background_ = StepOfCalls(step, map_);
    const int64_t wanted = held + UsefulCalls(background_->pool(), map_.num_parallel_calls);
    while (!input_ended_ && size() < wanted) {
      Element args;
      absl::StatusOr<bool> more = input.Next(step, &args);
      if (more.ok() && !*more) {
        input_ended_ = true;
        break;
      }
      if (absl::IsCancelled(more.status()) || absl::IsDeadlineExceeded(more.status())) {
        return more.status();
      }
      calls_.push_back(make());
      Call* const call = calls_.back().get();
      if (!more.ok()) {
        call->outcome = more.status();
        call->task = EmptyTask();
        break;
      }
      call->args = std::move(args);
      // The closure may outlive the window only as long as it waits for a thread, unclaimed.
      call->task = std::make_shared<ClaimableTask>([call, background = background_.get(),
                                                    map = &map_, then] {
        call->outcome =
            MapOutcome(map->function(background->context(), std::move(call->args), &call->results),
                       map->preserves_cardinality);
        if (call->outcome.ok() && *call->outcome) then(call);
      });
      ClaimableTask::Offer(call->task, background_->pool());
    }
    return absl::OkStatus();
  }

  // Finishes call `i`. While another thread makes it, this one makes those after it.
  // Errors: those of ClaimableTask::Finish(), which cancel all calls.
  absl::Status Finish(int64_t i, const StepContext& step) {
    ClaimableTask& task = *calls_[i]->task;
    for (int64_t next = i; next < size() && !task.IsDone(); ++next) {
      calls_[next]->task->RunIfWaiting();
    }
    absl::Status status = task.Finish(step);
    if (!status.ok()) background_->Cancel();  // the destructor waits for the call
    return status;
  }

  // Takes the first `count` calls, which must be finished.
  std::vector<std::shared_ptr<Call>> Take(int64_t count) {
    std::vector<std::shared_ptr<Call>> taken(calls_.begin(), calls_.begin() + count);
    calls_.erase(calls_.begin(), calls_.begin() + count);
    return taken;
  }

  // Saves or restores the calls, and whether the input has ended. Calls under way are finished, and
  // saved with the results that `results_of` returns for them.
  template <typename Make, typename ResultsOf>
  absl::Status Transfer(IteratorArchive& archive, const Make& make, const ResultsOf& results_of) {
    RETURN_IF_ERROR(archive.Flag("input_ended", &input_ended_));
    int64_t count = size();
    RETURN_IF_ERROR(archive.Number("calls", &count));
    for (int64_t i = 0; i < count; ++i) {
      IteratorArchive::Scope scope(archive, absl::StrCat("call", i));
      if (archive.restoring()) {
        calls_.push_back(make());
        calls_.back()->task = EmptyTask();
        RETURN_IF_ERROR(archive.Outcome(&calls_[i]->outcome, &calls_[i]->results));
      } else {
        RETURN_IF_ERROR(calls_[i]->task->Finish(archive.waits()));
        Element results = results_of(*calls_[i]);
        RETURN_IF_ERROR(archive.Outcome(&calls_[i]->outcome, &results));
      }
    }
    return absl::OkStatus();
  }

 private:
  const ElementMap& map_;
  std::unique_ptr<BackgroundStep> background_;
  std::deque<std::shared_ptr<Call>> calls_;
  bool input_ended_ = false;
};

}  // namespace tessera
