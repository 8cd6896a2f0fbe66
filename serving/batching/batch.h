// Batch and BatchTask: requests in queues, and the batches that they run in.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"

namespace tessera {
class CancellationManager;
}  // namespace tessera

namespace tessera::serving {

// Message of the RESOURCE_EXHAUSTED error of a request whose deadline passes before it runs.
inline constexpr absl::string_view kLateInQueue =
    "Run() timeout exceeded while waiting in batching queue";

struct Batch;

// One request on its way through a queue. It lives on the stack of the thread that made the
// request, which waits until the task is settled.
struct BatchTask {
  // The request, which does not change once it is queued. `feeds` belong to the waiting thread.
  absl::Span<const Tensor> feeds;
  int64_t rows = 0;
  absl::Time deadline = absl::InfiniteFuture();
  absl::Time queued;
  CancellationManager* cancellation = nullptr;

  struct Result {
    int64_t begin;
    std::vector<Tensor> outputs;
  };

  // Progress, guarded by the mutex of the Batcher. The task is settled when all parts are done.
  int parts = 0;
  int parts_taken = 0;
  int parts_done = 0;
  absl::Time began;  // when the batch of the first part that is done began to run
  bool cancelled = false;
  absl::Status status;            // the error of the first part that failed
  std::vector<Result> results;    // one for each part, in the order in which they ended
  std::unique_ptr<Batch> to_run;  // a batch that the waiting thread shall run
  absl::CondVar changed;
};

// Rows [begin, end) of a task, and the result of running them.
struct BatchPart {
  BatchTask* task;
  int64_t begin;
  int64_t end;
  absl::Status status;
  std::vector<Tensor> outputs;  // if the status is OK

  int64_t rows() const { return end - begin; }
  bool is_whole() const { return rows() == task->rows; }
};

// Parts that run together, as far as their shapes allow it.
struct Batch {
  std::vector<BatchPart> parts;
  int64_t rows = 0;
  absl::Time opened;    // when its first part was added
  absl::Time began;     // when it began to run
  bool closed = false;  // takes no more parts
  // True if metrics count this batch.
  bool is_counted = true;
};

}  // namespace tessera::serving
