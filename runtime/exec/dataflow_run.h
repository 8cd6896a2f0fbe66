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

// Executes nodes as their inputs come, on whichever threads take part: the caller's, the step's
// inter-op pool, those on which asynchronous kernels end. Reusable: Begin() starts over.
//
// A thread that takes part works through a list of ready nodes of its own; values go from node to
// node without locks. One lock a run guards the frames: it is taken when a value enters a loop,
// goes around it, or a loop's iteration ends. Where no second thread can take part, neither locks
// nor atomic read-modify-writes are used.
//
// The run is over when nobody takes part any more and no asynchronous kernel is out (activities_
// is zero). After an error nodes that are ready are dropped, so that it is over soon.
class DataflowRun {
 public:
  using DoneCallback = Executor::DoneCallback;

  explicit DataflowRun(const DataflowProgram& program, Device* device);

  // Runs on the calling thread until the run is over; see Executor::Run().
  absl::Status RunHere(StepContext& step, const RunArgs& run);
  // Calls `done` when the run is over; the object may be reused from then on, not earlier.
  void RunAsync(StepContext& step, const RunArgs& run, DoneCallback done);

 private:
  struct Ready {
    const DataflowProgram::Node* node;
    Iteration* iteration;
    bool is_dead;
  };
  using ReadyList = std::vector<Ready>;
  // What a thread needs to run nodes: its ready nodes, and a place for a node's outputs.
  struct Worker {
    ReadyList ready;
    std::vector<Value> outputs;
    int nodes_run = 0;
  };
  struct AsyncNode;

  // Holds the lock of the frames, which a thread that is alone does without.
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
  // Runs until worker.ready is empty.
  void Work(Worker& worker);
  // Hands ready nodes, and the caller's part in the run with them, to other threads: the inter-op
  // pool's, or the one in RunHere(). Without either they run on this thread.
  void HandOver(ReadyList ready);
  void Schedule(ReadyList ready);
  void WorkAndEnd(ReadyList ready);
  // Ends the participation of a thread or asynchronous kernel. True if that was the last: the
  // caller must call Finish().
  bool EndActivity() { return activities_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  // To be called once, by whoever was last.
  void Finish();
  // The run's status; makes the object ready for the next run.
  absl::Status Conclude() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What a thread in RunHere() does after its own nodes are done.
  void WaitUntilOver() ABSL_LOCKS_EXCLUDED(mu_);

  void RunNode(const Ready& ready, Worker& worker);
  // Does what a kernel would that only hands a value on. False if this node needs its kernel.
  bool TakeShortcut(const Ready& ready, Value* outputs) const;
  absl::Status RunKernel(const Ready& ready, Value* outputs);
  KernelContext MakeContext(const Ready& ready, Value* outputs) const;
  absl::Status PrepareRefs(const DataflowProgram::Node& node, Iteration& iteration) const;
  absl::Status CheckOutputs(const DataflowProgram::Node& node, const Value* outputs) const;
  void StartAsync(const Ready& ready, Worker& worker);
  // On the thread on which an asynchronous kernel ends.
  void EndAsync(std::unique_ptr<AsyncNode> node);
  void ConcludeAsync(AsyncNode& node, ReadyList& out);
  void RecordStats(const DataflowProgram::Node& node, int64_t start, const Value* outputs) const;
  absl::Status PutResult(const Ready& ready);
  // Inputs are dropped, outputs go where they are read, and the node is no longer outstanding.
  void EndNode(const Ready& ready, Value* outputs, const absl::Status& status, ReadyList& out);

  // Sends outputs along the edges of `node` to readers in `to`. Returns how many became ready.
  int Propagate(const DataflowProgram::Node& node, Iteration& to, Value* outputs, bool is_dead,
                ReadyList& out);
  // The same for one edge into a Merge; `value` is null if the edge is dead or a control edge.
  bool ArriveAtMerge(const DataflowProgram::Node& merge, const DataflowProgram::Edge& edge,
                     Iteration& to, Value* value, bool from_enter, bool* is_dead);
  void Enter(const Ready& ready, Value* outputs, ReadyList& out);
  void Exit(const Ready& ready, Value* outputs, ReadyList& out);
  void NextIteration(const Ready& ready, Value* outputs, ReadyList& out);
  Iteration* StartIteration(FrameState* frame, ReadyList& out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // One node or child frame less in an iteration, which may end it, its frame, and so on upwards.
  void LeaveIteration(Iteration* iteration, ReadyList& out);
  void LeaveIterationLocked(Iteration* iteration, ReadyList& out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // True if the frame is over.
  bool EndIterations(FrameState* frame, ReadyList& out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Fail(const absl::Status& status);

  // fetch_add and fetch_sub, as far as other threads make them necessary.
  template <typename T>
  T Add(std::atomic<T>& counter, T change) const {
    if (!is_alone_) return counter.fetch_add(change, std::memory_order_acq_rel);
    const T old = counter.load(std::memory_order_relaxed);
    counter.store(old + change, std::memory_order_relaxed);
    return old;
  }

  // fetch_or, likewise.
  uint32_t Set(std::atomic<uint32_t>& word, uint32_t bits) const {
    if (!is_alone_) return word.fetch_or(bits, std::memory_order_acq_rel);
    const uint32_t old = word.load(std::memory_order_relaxed);
    word.store(old | bits, std::memory_order_relaxed);
    return old;
  }

  uint32_t number(const DataflowProgram::Node& node) const {
    return static_cast<uint32_t>(&node - program_.nodes.data());
  }
  const DataflowProgram::Label& label(const DataflowProgram::Node& node) const {
    return program_.labels[number(node)];
  }
  std::atomic<uint32_t>& word(const DataflowProgram::Node& node, Iteration& iteration) const {
    return iteration.words[program_.word_of[number(node)]];
  }
  bool IsRoot(const Iteration* iteration) const { return iteration == root_; }

  const DataflowProgram& program_;
  Device* const device_;

  // Of the run in progress.
  StepContext* step_ = nullptr;
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
  // For the thread in RunHere(): nodes to run, how many parts in the run came with them, and
  // whether the run is over.
  ReadyList handed_over_ ABSL_GUARDED_BY(mu_);
  int parts_handed_over_ ABSL_GUARDED_BY(mu_) = 0;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace tessera
