// BatchScheduler: joins what several steps bring to the batching ops, and runs the batches.
//
//   auto task = std::make_shared<BatchTask>();
//   task->rows = 2;
//   task->inputs = {rows};
//   task->step = &ctx.step();
//   task->done = [&ctx, done](absl::StatusOr<std::vector<Tensor>> outputs) { ... };
//   scheduler->Add("queue", options, process, std::move(task));
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/cancellation.h"
#include "runtime/framework/kernel.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

struct Batch;

// The part of a batch that one execution of a kernel contributes.
struct BatchTask {
  int64_t rows = 0;  // the first dimension of every input
  std::vector<Tensor> inputs;
  std::vector<Tensor> captured;  // inputs that are not joined; alike in all tasks of a queue
  // The step of the execution. Must live until `done` has been called.
  StepContext* step = nullptr;
  Allocator* allocator = nullptr;  // of host memory, for joined inputs; must outlive them
  // Takes the outputs of the task, or why there are none. Called once, from any thread. It should
  // hold the scheduler, which must live until then.
  std::function<void(absl::StatusOr<std::vector<Tensor>>)> done;

 private:
  friend class BatchScheduler;
  // The batch that the task waits or runs in. Guarded by the mutex of the scheduler.
  std::shared_ptr<Batch> batch;
  bool is_cancelled = false;
  CancellationManager::Token token = 0;
};

// Tasks that run together.
struct Batch {
  std::vector<std::shared_ptr<BatchTask>> tasks;
  int64_t rows = 0;                  // of all tasks
  CancellationManager cancellation;  // of the run; cancelled once all tasks are

 private:
  friend class BatchScheduler;
  std::string queue;
  absl::Time due;          // when it runs even if it is not full
  bool is_closed = false;  // takes no further task
  bool is_running = false;
  size_t num_cancelled = 0;  // tasks, while it runs
};

// Joins the inputs of the tasks of a batch, and pads them to `padded_rows`. Errors: those of
// JoinRows().
absl::StatusOr<std::vector<Tensor>> JoinInputs(const Batch& batch, int64_t padded_rows);

// Computes the outputs of each task of a batch, in their order.
using BatchProcessor =
    std::function<absl::StatusOr<std::vector<std::vector<Tensor>>>(Batch& batch)>;

struct BatchQueueOptions {
  int64_t max_batch_rows = 1;
  int64_t max_enqueued_batches = 10;
  // How long the first task of a batch waits for others.
  absl::Duration timeout;
};

// Queues by their names, whose batches run on threads that the queues share. A batch runs once it
// is full or its time is up, and a thread is free. A thread is started when one is needed for the
// first time.
//
// A task that is cancelled while it waits ends at once; one whose batch runs ends with its batch,
// which is cancelled when all its tasks are. Tasks of background work (see pool_redirect) neither
// wait nor join others: they run on the calling thread.
//
// Thread-safe.
class BatchScheduler : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "batch_scheduler";
  static constexpr int64_t kMaxThreads = 4096;

  explicit BatchScheduler(int num_threads);
  // No task may wait or run.
  ~BatchScheduler() override;

  // Adds a task to a queue, which the first call for its name makes with these options and this
  // processor. Calls task->done with the outputs of the processor or with an error: UNAVAILABLE if
  // the queue is full; INVALID_ARGUMENT if the task is larger than a batch; CANCELLED; those of the
  // processor.
  void Add(const std::string& queue, const BatchQueueOptions& options,
           const BatchProcessor& process, std::shared_ptr<BatchTask> task);

  std::string DebugString() const override { return "batch scheduler"; }

 private:
  struct Queue;
  struct State;
  using Outputs = absl::StatusOr<std::vector<std::vector<Tensor>>>;

  static void RunAlone(const std::shared_ptr<BatchTask>& task, const BatchProcessor& process);
  static absl::Status Enqueue(const std::shared_ptr<State>& state, const std::string& queue,
                              const BatchQueueOptions& options, const BatchProcessor& process,
                              const std::shared_ptr<BatchTask>& task);
  static void CallThread(const std::shared_ptr<State>& state);
  static void RunThread(const std::shared_ptr<State>& state);
  static void Cancel(State& state, const std::shared_ptr<BatchTask>& task);
  static void End(Batch& batch, Outputs outputs);

  // Shared with the threads, one of which may drop the last reference to this object.
  const std::shared_ptr<State> state_;
};

}  // namespace tessera
