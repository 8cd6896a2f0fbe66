// One run of a dataflow program.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/exec/dataflow_frame.h"
#include "runtime/exec/dataflow_program.h"
#include "runtime/exec/executor.h"

namespace tessera {

// Executes nodes when their inputs have arrived. Several threads may take part: that of the caller,
// those of the inter-op pool of the step, and those on which asynchronous kernels end. The object
// is reusable: Begin() starts over.
//
// Each thread has a list of ready nodes of its own, and values go from node to node without locks.
// One lock guards the frames of the run. It is taken when a value enters a loop or goes to its next
// iteration, and when an iteration ends. If no second thread can take part, neither locks nor
// atomic read-modify-write operations are used.
//
// Updates of variables wait until their thread has nothing else to run. Those of one thread are
// then run by as many tasks as the inter-op pool has threads, and not by a task each: a model has
// many variables, and most are small.
//
// The run is over when no thread takes part any more and the callbacks of all asynchronous kernels
// have run (activities_ is zero). After an error, ready nodes are dropped, so that it is over soon.
class DataflowRun {
 public:
  using DoneCallback = Executor::DoneCallback;

  explicit DataflowRun(const DataflowProgram& program, Device* device);

  // Runs on the calling thread until the run is over; see Executor::Run().
  absl::Status RunHere(StepContext& step, const RunArgs& run);
  // Calls `done` when the run is over. The object may be reused from then on.
  void RunAsync(StepContext& step, const RunArgs& run, DoneCallback done);

 private:
  struct Ready {
    const DataflowProgram::Node* node;
    Iteration* iteration;
    bool is_dead;
  };
  using ReadyList = std::vector<Ready>;
  // The state of a thread that runs nodes: its ready nodes, and a place for the outputs of a node.
  struct Worker {
    ReadyList ready;
    ReadyList updates;  // ready nodes that update variables
    std::vector<Value> outputs;
    int nodes_run = 0;
  };
  struct AsyncNode;
  struct SharedUpdates;

  // Holds the lock of the frames, unless no other thread can take part.
  class ABSL_SCOPED_LOCKABLE FrameLock {
   public:
    explicit FrameLock(DataflowRun& run)
        ABSL_EXCLUSIVE_LOCK_FUNCTION(run.mu_) ABSL_NO_THREAD_SAFETY_ANALYSIS
        : mu_(run.is_alone_ ? nullptr : &run.mu_) {
      if (mu_ != nullptr) mu_->Lock();
    }
    ~FrameLock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (mu_ != nullptr) mu_->Unlock();
    }
    FrameLock(const FrameLock&) = delete;
    FrameLock& operator=(const FrameLock&) = delete;

   private:
    absl::Mutex* const mu_;
  };

  void Begin(StepContext& step, const RunArgs& run);
  // Runs until the worker has no ready nodes.
  void Work(Worker& worker);
  // The same, but leaves updates in worker.updates if there is an inter-op pool.
  void WorkUpToUpdates(Worker& worker);
  // Runs worker.updates on this thread and on the inter-op pool.
  void ShareUpdates(Worker& worker);
  // Runs updates of `shared` until all have been taken.
  void RunUpdates(SharedUpdates& shared, Worker& worker);
  // Hands ready nodes, and with them the participation of the caller, to a thread of the inter-op
  // pool or to the thread in RunHere(). If there is neither, the nodes run on this thread.
  void HandOver(ReadyList ready);
  void Schedule(ReadyList ready);
  void WorkAndEnd(ReadyList ready);
  // Checks the deadline and the cancellation of the step. Returns false after it has failed the
  // run.
  bool GoesOn();
  // Ends the participation of a thread or an asynchronous kernel. Returns true if it was the last
  // one; then the caller must call Finish().
  bool EndActivity() { return activities_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  // Must be called once, by the last participant.
  void Finish();
  // Returns the status of the run, and prepares the object for the next run.
  absl::Status Conclude() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Runs nodes that are handed to the thread in RunHere() until the run is over.
  void WaitUntilOver() ABSL_LOCKS_EXCLUDED(mu_);

  void RunNode(const Ready& ready, Worker& worker);
  // Passes a value on in place of a kernel that would only do that. Returns false if the node needs
  // its kernel.
  bool TakeShortcut(const Ready& ready, Value* outputs) const;
  absl::Status RunKernel(const Ready& ready, Value* outputs);
  KernelContext MakeContext(const Ready& ready, Value* outputs) const;
  absl::Status PrepareRefs(const DataflowProgram::Node& node, Iteration& iteration) const;
  absl::Status CheckOutputs(const DataflowProgram::Node& node, const Value* outputs) const;
  void StartAsync(const Ready& ready, Worker& worker);
  // Called on the thread on which an asynchronous kernel ends.
  void EndAsync(std::unique_ptr<AsyncNode> node);
  void ConcludeAsync(AsyncNode& node, ReadyList& out);
  void RecordStats(const DataflowProgram::Node& node, int64_t start, const Value* outputs) const;
  absl::Status PutResult(const Ready& ready);
  // Drops the inputs, sends the outputs to their readers, and ends the node.
  void EndNode(const Ready& ready, Value* outputs, const absl::Status& status, ReadyList& out);

  // Sends outputs along the edges of `node` to readers in `to`. Returns the number of readers that
  // became ready.
  int Propagate(const DataflowProgram::Node& node, Iteration& to, Value* outputs, bool is_dead,
                ReadyList& out);
  // The same for one edge into a Merge; `value` is null if the edge is dead or a control edge.
  bool ArriveAtMerge(const DataflowProgram::Node& merge, const DataflowProgram::Edge& edge,
                     Iteration& to, Value* value, bool from_enter, bool* is_dead);
  void Enter(const Ready& ready, Value* outputs, ReadyList& out);
  void Exit(const Ready& ready, Value* outputs, ReadyList& out);
  void NextIteration(const Ready& ready, Value* outputs, ReadyList& out);
  Iteration* StartIteration(FrameState* frame, ReadyList& out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Counts one node or child frame less in an iteration. This may end the iteration, its frame, and
  // the iterations around it.
  void LeaveIteration(Iteration* iteration, ReadyList& out);
  void LeaveIterationLocked(Iteration* iteration, ReadyList& out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether the frame has ended.
  bool EndIterations(FrameState* frame, ReadyList& out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Fail(const absl::Status& status);

  // fetch_add, but not atomic if no other thread can take part.
  template <typename T>
  T Add(std::atomic<T>& counter, T change) const {
    if (!is_alone_) return counter.fetch_add(change, std::memory_order_acq_rel);
    const T old = counter.load(std::memory_order_relaxed);
    counter.store(old + change, std::memory_order_relaxed);
    return old;
  }

  // fetch_or, but not atomic if no other thread can take part.
  uint32_t Set(std::atomic<uint32_t>& word, uint32_t bits) const {
    if (!is_alone_) return word.fetch_or(bits, std::memory_order_acq_rel);
    const uint32_t old = word.load(std::memory_order_relaxed);
    word.store(old | bits, std::memory_order_relaxed);
    return old;
  }

  uint32_t number(const DataflowProgram::Node& node) const {
    return static_cast<uint32_t>(&node - program_.nodes.data());
  }
  const NodeLabel& label(const DataflowProgram::Node& node) const {
    return program_.labels[number(node)];
  }
  std::atomic<uint32_t>& word(const DataflowProgram::Node& node, Iteration& iteration) const {
    return iteration.words[program_.word_of[number(node)]];
  }
  bool IsRoot(const Iteration* iteration) const { return iteration == root_; }

  const DataflowProgram& program_;
  Device* const program_device_;

  // The state of the run in progress.
  StepContext* step_ = nullptr;
  Device* device_ = nullptr;  // the stream of program_device_ that the step has taken
  RunArgs run_;
  bool is_alone_ = false;    // no other thread can take part
  DoneCallback done_;        // of RunAsync()
  bool has_waiter_ = false;  // a thread is in RunHere()
  Iteration* root_ = nullptr;
  std::atomic<int> activities_{0};
  std::atomic<bool> failed_{false};
  std::atomic<int> results_put_{0};
  int num_retvals_ = 0;
  Worker caller_;  // of the thread that starts the run

  absl::Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  FramePool frames_ ABSL_GUARDED_BY(mu_);
  // For the thread in RunHere(): nodes to run, the number of participations that came with them,
  // and whether the run is over.
  ReadyList handed_over_ ABSL_GUARDED_BY(mu_);
  int parts_handed_over_ ABSL_GUARDED_BY(mu_) = 0;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace tessera
