// What waits in queues and runs together.
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

// What a request is told whose deadline passes before it runs, with RESOURCE_EXHAUSTED.
inline constexpr absl::string_view kLateInQueue =
    "Run() timeout exceeded while waiting in batching queue";

struct Batch;

// One request on its way through a queue. Lives with the thread that asks and waits until it is
// settled.
struct BatchTask {
  // The request. Constant once it is queued; `feeds` belong to the thread that waits.
  absl::Span<const Tensor> feeds;
  int64_t rows = 0;
  absl::Time deadline = absl::InfiniteFuture();
  absl::Time queued;
  CancellationManager* cancellation = nullptr;

  struct Result {
    int64_t begin;
    std::vector<Tensor> outputs;
  };

  // How far it is; guarded by the mutex of its Batcher. Settled when all parts are done.
  int parts = 0;
  int parts_taken = 0;
  int parts_done = 0;
  bool cancelled = false;
  absl::Status status;            // of the first part that failed
  std::vector<Result> results;    // one a part, in the order they ended
  std::unique_ptr<Batch> to_run;  // a batch that the waiting thread shall run
  absl::CondVar changed;
};

// Rows [begin, end) of a task, and what came of them.
struct BatchPart {
  BatchTask* task;
  int64_t begin;
  int64_t end;
  absl::Status status;
  std::vector<Tensor> outputs;  // if the status is OK

  int64_t rows() const { return end - begin; }
  bool is_whole() const { return rows() == task->rows; }
};

// Parts that run together, as far as their shapes let them.
struct Batch {
  std::vector<BatchPart> parts;
  int64_t rows = 0;
  absl::Time opened;    // when its first part came
  bool closed = false;  // takes no more parts
  // Whether metrics tell of it.
  bool is_counted = true;
};

}  // namespace tessera::serving
