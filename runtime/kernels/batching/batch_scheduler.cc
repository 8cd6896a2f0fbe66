#include "runtime/kernels/batching/batch_scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <deque>
#include <map>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/batching/batch_rows.h"

namespace tessera {
namespace {

absl::Status Cancelled() { return absl::CancelledError("cancelled while it waited for its batch"); }

}  // namespace

absl::StatusOr<std::vector<Tensor>> JoinInputs(const Batch& batch, int64_t padded_rows) {
  std::vector<Tensor> joined;
  for (size_t i = 0; i < batch.tasks.front()->inputs.size(); ++i) {
    std::vector<Tensor> parts;
    for (const auto& task : batch.tasks) parts.push_back(task->inputs[i]);
    ASSIGN_OR_RETURN(Tensor tensor,
                     JoinRows(parts, padded_rows - batch.rows, batch.tasks.front()->allocator));
    joined.push_back(std::move(tensor));
  }
  return joined;
}

struct BatchScheduler::Queue {
  BatchQueueOptions options;
  BatchProcessor process;
  std::deque<std::shared_ptr<Batch>> batches;  // the last one may take further tasks
};

struct BatchScheduler::State {
  explicit State(int num_threads) : num_threads(num_threads) {}

  // Returns the queue whose first batch goes next: it is ready, or is the next to become so. Null
  // if no batch waits.
  Queue* FindNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    Queue* next = nullptr;
    for (auto& [name, queue] : queues) {
      if (queue.batches.empty()) continue;
      if (next == nullptr || ReadyAt(queue) < ReadyAt(*next)) next = &queue;
    }
    return next;
  }
  // Returns when the first batch of a queue may run. Full ones go by the time at which they began.
  static absl::Time ReadyAt(const Queue& queue) {
    const Batch& first = *queue.batches.front();
    return first.is_closed ? first.due - queue.options.timeout : first.due;
  }

  const int num_threads;
  absl::Mutex mu;
  absl::CondVar changed;
  std::map<std::string, Queue> queues ABSL_GUARDED_BY(mu);
  std::vector<std::thread> threads ABSL_GUARDED_BY(mu);
  int num_idle ABSL_GUARDED_BY(mu) = 0;
  bool is_ending ABSL_GUARDED_BY(mu) = false;
};

BatchScheduler::BatchScheduler(int num_threads) : state_(std::make_shared<State>(num_threads)) {}

BatchScheduler::~BatchScheduler() {
  std::vector<std::thread> threads;
  {
    absl::MutexLock lock(&state_->mu);
    state_->is_ending = true;
    threads.swap(state_->threads);
    state_->changed.SignalAll();
  }
  for (std::thread& thread : threads) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();  // it ends by itself, and has its share in the state
    } else {
      thread.join();
    }
  }
}

void BatchScheduler::Add(const std::string& queue, const BatchQueueOptions& options,
                         const BatchProcessor& process, std::shared_ptr<BatchTask> task) {
  if (task->rows > options.max_batch_rows) {
    return task->done(absl::InvalidArgumentError(absl::StrCat(
        "a task of ", task->rows, " rows is larger than a batch may be: ", options.max_batch_rows,
        "; send fewer rows at once")));
  }
  if (pool_redirect != nullptr) return RunAlone(task, process);
  CancellationManager* const cancellation = task->step->cancellation;
  const auto on_cancel = [state = state_, task] { Cancel(*state, task); };
  if (cancellation != nullptr && !cancellation->Register(on_cancel, &task->token)) {
    return task->done(Cancelled());
  }
  const absl::Status status = Enqueue(state_, queue, options, process, task);
  if (status.ok()) return;
  if (cancellation != nullptr) cancellation->TryDeregister(task->token);
  task->done(status);
}

void BatchScheduler::RunAlone(const std::shared_ptr<BatchTask>& task,
                              const BatchProcessor& process) {
  Batch batch;
  batch.rows = task->rows;
  batch.tasks.push_back(task);
  CancellationManager* const cancellation = task->step->cancellation;
  const auto on_cancel = [&batch] { batch.cancellation.Cancel(); };
  if (cancellation != nullptr && !cancellation->Register(on_cancel, &task->token)) {
    return task->done(Cancelled());
  }
  End(batch, process(batch));
}

absl::Status BatchScheduler::Enqueue(const std::shared_ptr<State>& state, const std::string& name,
                                     const BatchQueueOptions& options,
                                     const BatchProcessor& process,
                                     const std::shared_ptr<BatchTask>& task) {
  absl::MutexLock lock(&state->mu);
  if (task->is_cancelled) return Cancelled();
  Queue& queue = state->queues.try_emplace(name, Queue{options, process, {}}).first->second;
  auto& batches = queue.batches;
  const int64_t max_rows = queue.options.max_batch_rows;
  const bool joins = !batches.empty() && !batches.back()->is_closed &&
                     batches.back()->rows + task->rows <= max_rows;
  if (!joins) {
    if (static_cast<int64_t>(batches.size()) >= queue.options.max_enqueued_batches) {
      return absl::UnavailableError(
          absl::StrCat("the batching queue '", name, "' is full: ", batches.size(),
                       " batches wait in it, which is max_enqueued_batches; try again later"));
    }
    if (!batches.empty()) batches.back()->is_closed = true;
    batches.push_back(std::make_shared<Batch>());
    batches.back()->queue = name;
    batches.back()->due = absl::Now() + queue.options.timeout;
  }
  Batch& batch = *batches.back();
  batch.rows += task->rows;
  batch.is_closed = batch.rows >= max_rows;
  batch.tasks.push_back(task);
  task->batch = batches.back();
  CallThread(state);
  return absl::OkStatus();
}

// Makes a thread look at the queues, if one is free or may be started.
void BatchScheduler::CallThread(const std::shared_ptr<State>& state)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(state->mu) {
  if (state->num_idle > 0) {
    state->changed.Signal();
  } else if (static_cast<int>(state->threads.size()) < state->num_threads) {
    state->threads.emplace_back([state] { RunThread(state); });
  }
}

void BatchScheduler::RunThread(const std::shared_ptr<State>& state) {
  pthread_setname_np(pthread_self(), "batch");
  while (true) {
    std::shared_ptr<Batch> batch;
    BatchProcessor process;
    {
      absl::MutexLock lock(&state->mu);
      Queue* next = nullptr;
      while (!state->is_ending) {
        next = state->FindNext();
        const absl::Time ready = next == nullptr ? absl::InfiniteFuture() : State::ReadyAt(*next);
        if (ready <= absl::Now()) break;
        ++state->num_idle;
        state->changed.WaitWithDeadline(&state->mu, ready);
        --state->num_idle;
      }
      if (state->is_ending) return;
      batch = std::move(next->batches.front());
      next->batches.pop_front();
      batch->is_running = true;
      process = next->process;
      // The others may sleep until a time that is too late for what is left.
      if (state->FindNext() != nullptr) CallThread(state);
    }
    Outputs outputs = process(*batch);
    {
      absl::MutexLock lock(&state->mu);
      for (const std::shared_ptr<BatchTask>& task : batch->tasks) task->batch = nullptr;
    }
    End(*batch, std::move(outputs));
  }
}

void BatchScheduler::Cancel(State& state, const std::shared_ptr<BatchTask>& task) {
  std::shared_ptr<Batch> batch;
  bool is_running;
  {
    absl::MutexLock lock(&state.mu);
    task->is_cancelled = true;
    batch = task->batch;
    if (batch == nullptr) return;  // it is not in a queue yet, or has its outputs
    is_running = batch->is_running;
    if (is_running) {
      if (++batch->num_cancelled < batch->tasks.size()) return;
    } else {
      task->batch = nullptr;
      std::erase(batch->tasks, task);
      batch->rows -= task->rows;
      if (batch->tasks.empty()) std::erase(state.queues.at(batch->queue).batches, batch);
    }
  }
  if (is_running) {
    batch->cancellation.Cancel();
  } else {
    task->done(Cancelled());
  }
}

// Gives the tasks their outputs.
void BatchScheduler::End(Batch& batch, Outputs outputs) {
  for (size_t i = 0; i < batch.tasks.size(); ++i) {
    BatchTask& task = *batch.tasks[i];
    if (task.step->cancellation != nullptr) task.step->cancellation->Deregister(task.token);
    // It may end the step.
    const auto done = std::move(task.done);
    if (outputs.ok()) {
      done(std::move((*outputs)[i]));
    } else {
      done(outputs.status());
    }
  }
}

}  // namespace tessera
