// The frames and iterations of a dataflow run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/exec/dataflow_program.h"
#include "runtime/framework/kernel.h"

namespace tessera {

struct FrameState;

// The state of the inputs of a node, in one word.
//   Most nodes: the number of inputs that are still to arrive, and whether a dead one has arrived.
//   A Merge: the number of control inputs that are still to arrive (low bits), the number of dead
//   inputs that have arrived (high bits), and flags: one live input was accepted, its value is in
//   its slot, all inputs are known to be dead, the node has become ready.
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

// One iteration of a loop. The root frame has exactly one.
struct Iteration {
  FrameState* frame = nullptr;
  int64_t number = 0;
  // The number of nodes that are ready or running and of child frames that have not ended. Not
  // counted for the root frame. Becomes zero only under the lock of the run.
  std::atomic<int> outstanding{0};
  std::unique_ptr<Value[]> values;
  std::unique_ptr<std::atomic<uint32_t>[]> words;
  std::vector<FrameState*> children;  // indexed by place_in_parent; null if there is no such frame
};

// One execution of a loop. The lock of the run guards everything but `program`, `id` and the
// iteration of the root.
struct FrameState {
  struct Held {
    const DataflowProgram::Node* node;
    Value value;  // without a value if it is dead
  };
  const DataflowProgram::Frame* program = nullptr;
  uint32_t number = 0;  // index in DataflowProgram::frames
  int64_t id = 0;       // the same for the same loop in every partition of a graph
  Iteration* parent_iteration = nullptr;  // null for the root
  uint32_t enters_to_come = 0;
  int64_t first = 0;  // the iterations in flight: [first, last]
  int64_t last = 0;
  std::vector<Iteration*> iterations;  // indexed by number modulo their count
  std::vector<Held> invariants;        // values of constant Enters, which go to every iteration
  std::vector<Held> waiting;           // for the next iteration, which must wait for an older one
  std::vector<const DataflowProgram::Node*> dead_exits;  // of the last iteration

  Iteration*& At(int64_t iteration) {
    return iterations[static_cast<size_t>(iteration) % iterations.size()];
  }
  int64_t in_flight() const { return last - first + 1; }
};

// Makes the frames and iterations of one run, and keeps those that have ended for reuse.
// Not thread-safe; the lock of the run guards it.
class FramePool {
 public:
  explicit FramePool(const DataflowProgram& program);

  Iteration* NewIteration(FrameState* frame, int64_t number);
  // Requires that all slots but those of constants are empty.
  void Recycle(Iteration* iteration);
  // Makes a frame of DataflowProgram::frames[number], which has no iterations yet.
  FrameState* NewFrame(uint32_t number, Iteration* parent);
  void Recycle(FrameState* frame);
  // Takes back all frames and iterations in any state, after a failed run.
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
  std::vector<Kind> kinds_;  // indexed by the number of the frame
};

}  // namespace tessera
