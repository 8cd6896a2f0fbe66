// Frames and iterations of a dataflow run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/exec/dataflow_program.h"
#include "runtime/framework/kernel.h"

namespace tessera {

struct FrameState;

// The state of a node's inputs, in one word.
//   Most nodes: how many inputs are still to come, and whether a dead one came.
//   A Merge: how many control inputs are still to come (low bits), how many dead inputs came (high
//   bits), and flags: one live input has been let in, its value is in its slot, all inputs are
//   known to be dead, the node has become ready.
struct NodeWord {
  static constexpr uint32_t kDead = 1u << 31;
  static constexpr uint32_t kCount = kDead - 1;

  static constexpr uint32_t kMergeControls = (1u << 12) - 1;
  static constexpr uint32_t kMergeClaimed = 1u << 12;
  static constexpr uint32_t kMergeLive = 1u << 13;
  static constexpr uint32_t kMergeReady = 1u << 14;
  static constexpr uint32_t kMergeAllDead = 1u << 15;
  static constexpr uint32_t kMergeOneDead = 1u << 16;
  static constexpr uint32_t kMergeDeadShift = 16;
};

// One turn of a loop (or the one of the root frame).
struct Iteration {
  FrameState* frame = nullptr;
  int64_t number = 0;
  // Nodes that are ready or running, and child frames that are not over. Not kept for the root
  // frame. Reaches zero only under the run's lock.
  std::atomic<int> outstanding{0};
  std::unique_ptr<Value[]> values;
  std::unique_ptr<std::atomic<uint32_t>[]> words;
  std::vector<FrameState*> children;  // by place_in_parent; null where there is none
};

// One execution of a loop. All but `program`, `id` and the root's iteration is guarded by the run's
// lock.
struct FrameState {
  struct Held {
    const DataflowProgram::Node* node;
    Value value;  // none: dead
  };
  const DataflowProgram::Frame* program = nullptr;
  uint32_t number = 0;  // of the program
  int64_t id = 0;       // the same for the same loop in every partition of a graph
  Iteration* parent_iteration = nullptr;  // null for the root
  uint32_t enters_to_come = 0;
  int64_t first = 0;  // the iterations in flight: [first, last]
  int64_t last = 0;
  std::vector<Iteration*> iterations;  // by number modulo their number
  std::vector<Held> invariants;        // what constant Enters brought: goes to every iteration
  std::vector<Held> waiting;           // for the next iteration, which must wait for an older one
  std::vector<const DataflowProgram::Node*> dead_exits;  // of the last iteration

  Iteration*& At(int64_t iteration) {
    return iterations[static_cast<size_t>(iteration) % iterations.size()];
  }
  int64_t in_flight() const { return last - first + 1; }
};

// Makes the frames and iterations of one run, and keeps those that are over for reuse.
// Not thread-safe: guarded by the run's lock.
class FramePool {
 public:
  explicit FramePool(const DataflowProgram& program);

  Iteration* NewIteration(FrameState* frame, int64_t number);
  // Requires that its slots are empty, but for those of constants.
  void Recycle(Iteration* iteration);
  // `number` of the program; without iterations yet.
  FrameState* NewFrame(uint32_t number, Iteration* parent);
  void Recycle(FrameState* frame);
  // Takes back everything at once, whatever state it is in: after a failed run.
  void Reset();

 private:
  void FillConstants(Iteration* iteration, uint32_t frame);

  struct Kind {
    std::vector<std::unique_ptr<Iteration>> iterations;
    std::vector<std::unique_ptr<FrameState>> frames;
    std::vector<Iteration*> idle_iterations;
    std::vector<FrameState*> idle_frames;
  };
  const DataflowProgram& program_;
  std::vector<Kind> kinds_;  // by number of the frame
};

}  // namespace tessera
