#include "serving/batching/batcher.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"
#include "serving/batching/batch_assembly.h"

namespace tessera::serving {
namespace {

// How long a request stays in the queue after its deadline. Clients of gRPC watch their deadlines
// themselves and then report DEADLINE_EXCEEDED. The error of the queue is for other clients, and
// must not arrive first.
constexpr absl::Duration kGrace = absl::Milliseconds(20);

absl::Status Cancelled() {
  return absl::CancelledError("cancelled while waiting in the batching queue");
}

// Returns the end of the rows of result i, where results are in the order of their rows.
int64_t EndOfResult(const BatchTask& task, size_t i) {
  return i + 1 < task.results.size() ? task.results[i + 1].begin : task.rows;
}

bool FitTogether(const std::vector<BatchTask::Result>& results) {
  return std::all_of(results.begin(), results.end(), [&](const BatchTask::Result& result) {
    return CanMerge(results[0].outputs, result.outputs, RowPadding::kNone);
  });
}

// Runs each part by itself, without the rows of others, to whose shape it may have been padded.
absl::Status RunPartsAgain(const BatchExecutor& executor, BatchTask& task) {
  for (size_t i = 0; i < task.results.size(); ++i) {
    BatchTask::Result& result = task.results[i];
    Batch batch;
    batch.is_counted = false;  // it was when it ran before
    batch.parts.push_back({.task = &task, .begin = result.begin, .end = EndOfResult(task, i)});
    batch.rows = batch.parts[0].rows();
    executor.Execute(absl::Now(), &batch);
    RETURN_IF_ERROR(batch.parts[0].status);
    result.outputs = std::move(batch.parts[0].outputs);
  }
  return absl::OkStatus();
}

// Returns the outputs of a task whose parts have all succeeded.
absl::StatusOr<std::vector<Tensor>> JoinResults(const BatchExecutor& executor, BatchTask& task) {
  std::vector<BatchTask::Result>& results = task.results;
  if (results.size() == 1) return std::move(results[0].outputs);
  std::sort(results.begin(), results.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  if (!FitTogether(results)) RETURN_IF_ERROR(RunPartsAgain(executor, task));
  if (!FitTogether(results)) {
    return absl::FailedPreconditionError(
        "outputs of the parts of a split request differ in shape or type");
  }
  std::vector<TensorRows> ranges;
  for (size_t i = 0; i < results.size(); ++i) {
    ranges.push_back({.tensors = results[i].outputs,
                      .begin = 0,
                      .end = EndOfResult(task, i) - results[i].begin});
  }
  return MergeRows(ranges, task.rows);
}

}  // namespace

absl::Status Batcher::RunQueued(BatchLane& lane, int64_t rows, const RunOptions& options,
                                absl::Span<const Tensor> feeds, std::vector<Tensor>* fetches) {
  BatchTask task;
  task.feeds = feeds;
  task.rows = rows;
  task.cancellation = options.cancellation;
  const absl::Time now = absl::Now();
  if (options.timeout != absl::InfiniteDuration()) task.deadline = now + options.timeout;

  CancellationManager::Token token;
  auto on_cancel = [this, &task] {
    absl::MutexLock lock(&mu_);
    task.cancelled = true;
    task.changed.Signal();
  };
  if (options.cancellation != nullptr && !options.cancellation->Register(on_cancel, &token)) {
    return Cancelled();
  }
  absl::Status status;
  {
    absl::ReleasableMutexLock lock(&mu_);
    const bool was_waiting = any_waiting();
    const bool lane_was_waiting = !lane.queue_.empty();
    status = lane.queue_.Add(&task, now);
    if (absl::IsUnavailable(status)) lane.metrics().RecordRefused();
    if (status.ok()) {
      lane.metrics().AddWaiting(1);
      if (!lane_was_waiting) waiting_.push_back(&lane);
      if (!was_waiting) WaitingChanged(true);
      BatchQueued();
      status = Await(lane, task);
    }
    if (task.to_run != nullptr) {
      lock.Release();
      RunGivenBatch(lane, std::move(*task.to_run));
      status = task.status;  // the batch holds the task's only part: it is settled
    }
  }
  if (options.cancellation != nullptr) options.cancellation->Deregister(token);
  RETURN_IF_ERROR(status);
  if (options.queued != nullptr) *options.queued = task.began - task.queued;
  ASSIGN_OR_RETURN(*fetches, JoinResults(lane.executor(), task));
  return absl::OkStatus();
}

absl::Status Batcher::Await(BatchLane& lane, BatchTask& task) {
  while (task.to_run == nullptr && task.parts_done < task.parts) {
    // A client that has gone because its deadline passes, a little earlier than here, was too late.
    if (task.cancelled && absl::Now() + kGrace < task.deadline && Withdraw(lane, task)) {
      return Cancelled();
    }
    const absl::Time latest = task.cancelled ? task.deadline - kGrace : task.deadline + kGrace;
    if (latest <= absl::Now() && Withdraw(lane, task)) {
      return absl::ResourceExhaustedError(kLateInQueue);
    }
    // A part that runs already ends by the deadline of its batch.
    const bool may_leave = task.parts_taken == 0;
    task.changed.WaitWithDeadline(&mu_,
                                  may_leave ? task.deadline + kGrace : absl::InfiniteFuture());
  }
  return task.status;
}

bool Batcher::Withdraw(BatchLane& lane, BatchTask& task) {
  if (!lane.queue_.Withdraw(&task)) return false;
  lane.metrics().AddWaiting(-1);
  RemoveIfEmpty(&lane);
  return true;
}

void Batcher::RemoveIfEmpty(BatchLane* lane) {
  if (!lane->queue_.empty()) return;
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), lane));
  if (waiting_.empty()) WaitingChanged(false);
}

bool Batcher::TakeDue(absl::Time now, DueBatch* due, absl::Time* next_due) {
  BatchLane* first = nullptr;
  absl::Time first_due = absl::InfiniteFuture();
  *next_due = absl::InfiniteFuture();
  for (BatchLane* lane : waiting_) {
    const absl::Time lane_due = lane->queue_.DueTime();
    *next_due = std::min(*next_due, lane_due);
    if (!draining_ && !lane->queue_.IsDue(now)) continue;
    if (!MayStart(*lane)) continue;
    if (first == nullptr || lane_due < first_due) {
      first = lane;
      first_due = lane_due;
    }
  }
  if (first == nullptr) return false;
  *due = {.lane = first, .batch = first->queue_.Take()};
  for (const BatchPart& part : due->batch.parts) {
    if (part.end == part.task->rows) first->metrics().AddWaiting(-1);
  }
  RemoveIfEmpty(first);
  return true;
}

void Batcher::Deliver(Batch& batch) {
  for (BatchPart& part : batch.parts) {
    BatchTask& task = *part.task;
    if (!part.status.ok()) {
      if (task.status.ok()) task.status = std::move(part.status);
    } else {
      task.results.push_back({.begin = part.begin, .outputs = std::move(part.outputs)});
    }
    if (task.parts_done == 0) task.began = batch.began;
    ++task.parts_done;
    task.changed.Signal();
  }
}

void Batcher::LearnPreferredRows(BatchLane& lane) {
  const int64_t rows = lane.executor().cost().BestRows(lane.queue_.run_limit());
  lane.queue_.SetPreferredRows(rows);
  lane.metrics().SetPreferredRows(rows);
}

int Batcher::num_waiting() const {
  absl::MutexLock lock(&mu_);
  int tasks = 0;
  for (const BatchLane* lane : waiting_) tasks += lane->queue_.num_tasks();
  return tasks;
}

void Batcher::Drain(BatchLane& lane) {
  absl::MutexLock lock(&mu_);
  lane.queue_.StopWaiting();
}

void Batcher::DrainAll() {
  absl::MutexLock lock(&mu_);
  draining_ = true;
}

}  // namespace tessera::serving
