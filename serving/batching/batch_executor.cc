#include "serving/batching/batch_executor.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "runtime/base/exception_status.h"
#include "runtime/base/status.h"
#include "serving/batching/batch_assembly.h"

namespace tessera::serving {
namespace {

// Returns whether the inputs may have made the run fail, so that another composition may succeed.
bool MayBeOnePartsFault(const absl::Status& status) {
  return !absl::IsDeadlineExceeded(status) && !absl::IsCancelled(status);
}

}  // namespace

BatchExecutor::BatchExecutor(std::shared_ptr<const Callable> callable,
                             const BatchingOptions* options, LoneRuns lone_runs,
                             VersionBatchMetrics* metrics)
    : callable_(std::move(callable)),
      options_(*options),
      lone_runs_(lone_runs),
      metrics_(*metrics) {}

void BatchExecutor::Execute(absl::Time now, Batch* batch) const {
  batch->began = now;
  absl::Time deadline = absl::InfinitePast();
  for (const BatchPart& part : batch->parts) {
    if (batch->is_counted) {
      metrics_.RecordQueued(std::max(absl::ZeroDuration(), now - part.task->queued));
    }
    deadline = std::max(deadline, part.task->deadline);
  }
  if (deadline <= now) {
    for (BatchPart& part : batch->parts) {
      part.status = absl::ResourceExhaustedError(kLateInQueue);
    }
    return;
  }
  if (batch->is_counted) {
    for (const BatchPart& part : batch->parts) {
      for (size_t i = 0; i < part.task->feeds.size(); ++i) metrics_.RecordInput(part.rows());
    }
  }
  // Many requests wait for this thread, so that an exception must not pass.
  const auto run = [&](const Parts& parts) {
    return CatchExceptions("the batch", [&] { return Run(parts, deadline, batch->is_counted); });
  };
  for (const Parts& parts : Group(*batch)) {
    const absl::Status status = run(parts);
    const bool run_again = parts.size() > 1 && !status.ok() && MayBeOnePartsFault(status);
    for (BatchPart* part : parts) part->status = run_again ? run({part}) : status;
  }
}

std::vector<BatchExecutor::Parts> BatchExecutor::Group(Batch& batch) const {
  const RowPadding padding =
      options_.pad_variable_length_inputs ? RowPadding::kVariableLength : RowPadding::kNone;
  std::vector<Parts> groups;
  for (BatchPart& part : batch.parts) {
    auto fits = [&](const Parts& group) {
      return CanMerge(group[0]->task->feeds, part.task->feeds, padding);
    };
    auto found = std::find_if(groups.begin(), groups.end(), fits);
    if (found == groups.end()) {
      groups.push_back({&part});
    } else {
      found->push_back(&part);
    }
  }
  return groups;
}

absl::Status BatchExecutor::Run(const Parts& parts, absl::Time deadline, bool is_counted) const {
  int64_t rows = 0;
  for (const BatchPart* part : parts) rows += part->rows();
  const bool is_alone = parts.size() == 1 && parts[0]->is_whole();
  const bool is_unchanged = is_alone && lone_runs_ == LoneRuns::kUnchanged;
  const int64_t padded_rows = is_unchanged ? rows : options_.PaddedRows(rows);
  if (is_counted) metrics_.RecordRun(padded_rows, padded_rows - rows);
  if (!is_alone || padded_rows > rows) return RunMerged(parts, padded_rows, deadline);
  RETURN_IF_ERROR(RunWhole(*parts[0], deadline));
  return is_unchanged ? absl::OkStatus() : CheckOutputRows(parts[0]->outputs, rows);
}

absl::Status BatchExecutor::RunWhole(BatchPart& part, absl::Time deadline) const {
  return RunCallable(part.rows(), part.task->feeds, part.task->cancellation, deadline,
                     &part.outputs);
}

absl::Status BatchExecutor::RunMerged(const Parts& parts, int64_t padded_rows,
                                      absl::Time deadline) const {
  std::vector<TensorRows> ranges;
  ranges.reserve(parts.size());
  for (const BatchPart* part : parts) {
    ranges.push_back({.tensors = part->task->feeds, .begin = part->begin, .end = part->end});
  }
  ASSIGN_OR_RETURN(const std::vector<Tensor> feeds, MergeRows(ranges, padded_rows));
  std::vector<Tensor> outputs;
  // Cancelling one request must not end the others.
  RETURN_IF_ERROR(RunCallable(padded_rows, feeds, nullptr, deadline, &outputs));
  RETURN_IF_ERROR(CheckOutputRows(outputs, padded_rows));
  int64_t row = 0;
  for (BatchPart* part : parts) {
    part->outputs = SliceRows(outputs, row, row + part->rows());
    row += part->rows();
  }
  return absl::OkStatus();
}

absl::Status BatchExecutor::RunCallable(int64_t rows, absl::Span<const Tensor> feeds,
                                        CancellationManager* cancellation, absl::Time deadline,
                                        std::vector<Tensor>* outputs) const {
  RunOptions options;
  options.cancellation = cancellation;
  if (deadline != absl::InfiniteFuture()) options.timeout = deadline - absl::Now();
  if (!options_.measures_cost) return callable_->Run(options, feeds, outputs);
  const absl::Time start = absl::Now();
  const absl::Status status = callable_->Run(options, feeds, outputs);
  if (status.ok()) cost_.Record(rows, absl::Now() - start);
  return status;
}

}  // namespace tessera::serving
