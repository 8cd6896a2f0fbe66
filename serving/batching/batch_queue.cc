#include "serving/batching/batch_queue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera::serving {

int64_t BatchQueue::OpenRows() const {
  if (batches_.empty() || batches_.back().closed) return 0;
  const Batch& open = batches_.back();
  return open.rows >= preferred_rows_ ? 0 : options_.run_limit() - open.rows;
}

absl::Status BatchQueue::CheckSpace(int64_t rows) const {
  if (rows > options_.request_limit()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Task size ", rows, " is larger than maximum input batch size ", options_.request_limit()));
  }
  const int64_t open_rows = OpenRows();
  if (rows <= open_rows) return absl::OkStatus();
  constexpr absl::string_view kFull =
      "The batch scheduling queue to which this task was submitted is full; ";
  // Smaller batches than usual count for less.
  const int64_t smaller = std::max<int64_t>(1, options_.run_limit() / preferred_rows_);
  const int64_t enqueued = static_cast<int64_t>(batches_.size()) / smaller;
  const int64_t more_batches = options_.queue_limit() - enqueued;
  if (!options_.enable_large_batch_splitting) {
    if (more_batches > 0) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat(kFull, "currently ", enqueued,
                                               " batches enqueued and max_enqueued_batches is ",
                                               options_.queue_limit()));
  }
  // A division, because the product of two large limits could overflow.
  const int64_t limit = options_.run_limit();
  if ((rows - open_rows + limit - 1) / limit <= more_batches) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      kFull, "task size is ", rows, " but scheduling capacity is only ",
      open_rows + std::max<int64_t>(0, more_batches) * limit, " (num_enqueued_batches=", enqueued,
      ", max_enqueued_batches=", options_.queue_limit(), ", max_execution_batch_size=", limit,
      ")"));
}

absl::Status BatchQueue::Add(BatchTask* task, absl::Time now) {
  RETURN_IF_ERROR(CheckSpace(task->rows));
  task->queued = now;
  for (int64_t begin = 0; begin < task->rows;) {
    int64_t open_rows = OpenRows();
    const bool fits =
        open_rows >= task->rows || (open_rows > 0 && options_.enable_large_batch_splitting);
    if (!fits) {
      if (!batches_.empty()) batches_.back().closed = true;
      batches_.emplace_back().opened = now;
      open_rows = options_.run_limit();
    }
    Batch& batch = batches_.back();
    const int64_t end = std::min(task->rows, begin + open_rows);
    batch.parts.push_back({.task = task, .begin = begin, .end = end});
    batch.rows += end - begin;
    batch.closed = batch.rows == options_.run_limit();
    ++task->parts;
    begin = end;
  }
  return absl::OkStatus();
}

bool BatchQueue::Withdraw(BatchTask* task) {
  if (task->parts_taken > 0) return false;
  for (Batch& batch : batches_) {
    for (const BatchPart& part : batch.parts) {
      if (part.task == task) batch.rows -= part.rows();
    }
    std::erase_if(batch.parts, [task](const BatchPart& part) { return part.task == task; });
  }
  std::erase_if(batches_, [](const Batch& batch) { return batch.parts.empty(); });
  task->parts = 0;
  return true;
}

absl::Time BatchQueue::DueTime() const {
  if (batches_.empty()) return absl::InfiniteFuture();
  const Batch& first = batches_.front();
  return first.closed ? first.opened : first.opened + timeout_;
}

bool BatchQueue::IsDue(absl::Time now) const {
  if (batches_.empty()) return false;
  const Batch& first = batches_.front();
  return first.closed || DueTime() <= now || now < first.opened;
}

int BatchQueue::num_tasks() const {
  int tasks = 0;
  for (const Batch& batch : batches_) {
    for (const BatchPart& part : batch.parts) tasks += part.end == part.task->rows;
  }
  return tasks;
}

Batch BatchQueue::Take() {
  Batch batch = std::move(batches_.front());
  batches_.pop_front();
  for (const BatchPart& part : batch.parts) ++part.task->parts_taken;
  return batch;
}

}  // namespace tessera::serving
