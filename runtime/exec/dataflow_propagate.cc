// The propagation of values along edges, into loops, to their next iterations, and out of them.
#include <utility>

#include "runtime/exec/compiled_graph.h"
#include "runtime/exec/dataflow_run.h"
#include "runtime/exec/run_state.h"

namespace tessera {

void DataflowRun::EndNode(const Ready& ready, Value* outputs, const absl::Status& status,
                          ReadyList& out) {
  const DataflowProgram::Node& node = *ready.node;
  if (!status.ok()) [[unlikely]]
    Fail(AtNode(label(node).name, status));
  Value* const inputs = ready.iteration->values.get() + node.first_slot;
  for (int i = 0; i < node.num_slots; ++i) Clear(inputs[i]);
  if (!failed_.load(std::memory_order_relaxed)) [[likely]] {
    switch (node.role) {
      case NodeRole::kEnter:
        Enter(ready, outputs, out);
        break;
      case NodeRole::kExit:
        Exit(ready, outputs, out);
        break;
      case NodeRole::kNextIteration:
        NextIteration(ready, outputs, out);
        break;
      default: {
        // A Recv may have received a dead value although its own inputs are alive.
        const bool is_dead = node.role == NodeRole::kTransfer && node.num_outputs > 0
                                 ? !HasValue(outputs[0])
                                 : ready.is_dead;
        const int change = Propagate(node, *ready.iteration, outputs, is_dead, out) - 1;
        if (IsRoot(ready.iteration)) break;
        if (change > 0) {
          Add(ready.iteration->outstanding, change);
        } else if (change < 0) {
          LeaveIteration(ready.iteration, out);
        }
      }
    }
  }
  for (int i = 0; i < node.num_outputs; ++i) Clear(outputs[i]);
}

int DataflowRun::Propagate(const DataflowProgram::Node& node, Iteration& to, Value* outputs,
                           bool is_dead, ReadyList& out) {
  const DataflowProgram::Edge* const begin = program_.edges.data() + node.first_edge;
  const DataflowProgram::Edge* const end = begin + node.num_edges;
  const size_t before = out.size();
  for (const DataflowProgram::Edge* edge = begin; edge != end; ++edge) {
    const DataflowProgram::Node& reader = program_.nodes[edge->node];
    const bool is_control = edge->slot == DataflowProgram::kControl;
    const bool edge_is_dead = is_dead || (!is_control && !HasValue(outputs[edge->output]));
    if (reader.role == NodeRole::kMerge) {
      bool reader_is_dead;
      Value value;
      if (!is_control && !edge_is_dead) {
        value = edge->last ? std::move(outputs[edge->output]) : outputs[edge->output];
      }
      if (ArriveAtMerge(reader, *edge, to, is_control || edge_is_dead ? nullptr : &value,
                        node.role == NodeRole::kEnter, &reader_is_dead)) {
        out.push_back({&reader, &to, reader_is_dead});
      }
      continue;
    }
    if (!is_control && !edge_is_dead) {
      Value& value = outputs[edge->output];
      to.values[edge->slot] = edge->last ? std::move(value) : value;
    }
    if (reader.waits_for == 1) {
      out.push_back({&reader, &to, edge_is_dead && reader.role != NodeRole::kControlTrigger});
      continue;
    }
    std::atomic<uint32_t>& state = word(reader, to);
    if (edge_is_dead) Set(state, NodeWord::kDead);
    const uint32_t old = Add(state, uint32_t{0} - 1);
    if ((old & NodeWord::kCount) == 1) {
      out.push_back(
          {&reader, &to, (old & NodeWord::kDead) != 0 && reader.role != NodeRole::kControlTrigger});
    }
  }
  return static_cast<int>(out.size() - before);
}

bool DataflowRun::ArriveAtMerge(const DataflowProgram::Node& merge,
                                const DataflowProgram::Edge& edge, Iteration& to, Value* value,
                                bool from_enter, bool* is_dead) {
  std::atomic<uint32_t>& state = word(merge, to);
  if (edge.slot == DataflowProgram::kControl) {
    Add(state, uint32_t{0} - 1);
  } else if (value != nullptr) {
    const uint32_t old = Set(state, NodeWord::kMergeClaimed);
    // Another input was accepted before, or all inputs were taken for dead, so this one is dropped.
    if (old & (NodeWord::kMergeClaimed | NodeWord::kMergeReady)) return false;
    to.values[edge.slot] = std::move(*value);
    Set(state, NodeWord::kMergeLive);
  } else if (from_enter) {
    // A loop that is dead has no next iteration.
    Set(state, NodeWord::kMergeAllDead);
  } else {
    Add(state, NodeWord::kMergeOneDead);
  }
  uint32_t now = state.load(std::memory_order_acquire);
  while (true) {
    if (now & (NodeWord::kMergeControls | NodeWord::kMergeReady)) return false;
    const bool live = now & NodeWord::kMergeLive;
    const bool dead =
        !(now & NodeWord::kMergeClaimed) &&
        ((now & NodeWord::kMergeAllDead) || (now >> NodeWord::kMergeDeadShift) >= merge.num_inputs);
    if (!live && !dead) return false;
    if (state.compare_exchange_weak(now, now | NodeWord::kMergeReady, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      *is_dead = !live;
      return true;
    }
  }
}

void DataflowRun::Enter(const Ready& ready, Value* outputs, ReadyList& out) {
  const DataflowProgram::Node& node = *ready.node;
  Iteration* const parent = ready.iteration;
  FrameLock lock(*this);
  FrameState*& child = parent->children[program_.frames[node.index].place_in_parent];
  if (child == nullptr) {
    child = frames_.NewFrame(static_cast<uint32_t>(node.index), parent);
    if (!IsRoot(parent)) Add(parent->outstanding, 1);
    StartIteration(child, out);
  }
  FrameState* const frame = child;
  if (node.is_constant_enter) {
    frame->invariants.push_back({&node, outputs[0]});
    for (int64_t i = frame->first; i <= frame->last; ++i) {
      Value copy = outputs[0];
      Iteration* const iteration = frame->At(i);
      Add(iteration->outstanding, Propagate(node, *iteration, &copy, ready.is_dead, out));
    }
  } else {
    Iteration* const first = frame->At(0);
    Add(first->outstanding, Propagate(node, *first, outputs, ready.is_dead, out));
  }
  // A frame in which all Enters were dead may have ended already.
  if (--frame->enters_to_come == 0 && EndIterations(frame, out) && !IsRoot(parent)) {
    LeaveIterationLocked(parent, out);
  }
  if (!IsRoot(parent)) LeaveIterationLocked(parent, out);
}

void DataflowRun::Exit(const Ready& ready, Value* outputs, ReadyList& out) {
  Iteration* const iteration = ready.iteration;
  FrameState* const frame = iteration->frame;
  if (!ready.is_dead) {
    Iteration* const parent = frame->parent_iteration;
    const int count = Propagate(*ready.node, *parent, outputs, false, out);
    if (!IsRoot(parent)) Add(parent->outstanding, count);
    LeaveIteration(iteration, out);
    return;
  }
  FrameLock lock(*this);
  // An Exit is dead in all iterations but the last, because the loop goes on.
  if (iteration->number == frame->last) frame->dead_exits.push_back(ready.node);
  LeaveIterationLocked(iteration, out);
}

void DataflowRun::NextIteration(const Ready& ready, Value* outputs, ReadyList& out) {
  Iteration* const iteration = ready.iteration;
  if (ready.is_dead) {
    LeaveIteration(iteration, out);
    return;
  }
  FrameState* const frame = iteration->frame;
  FrameLock lock(*this);
  Iteration* next = nullptr;
  if (iteration->number < frame->last) {
    next = frame->At(iteration->number + 1);
  } else if (frame->in_flight() < frame->program->parallel_iterations) {
    next = StartIteration(frame, out);
  } else {
    frame->waiting.push_back({ready.node, std::move(outputs[0])});
  }
  if (next != nullptr) {
    Add(next->outstanding, Propagate(*ready.node, *next, outputs, false, out));
  }
  LeaveIterationLocked(iteration, out);
}

Iteration* DataflowRun::StartIteration(FrameState* frame, ReadyList& out) {
  Iteration* const iteration = frames_.NewIteration(frame, ++frame->last);
  frame->At(frame->last) = iteration;
  frame->dead_exits.clear();
  for (const FrameState::Held& held : frame->invariants) {
    Value copy = held.value;
    Add(iteration->outstanding, Propagate(*held.node, *iteration, &copy, !HasValue(copy), out));
  }
  return iteration;
}

void DataflowRun::LeaveIteration(Iteration* iteration, ReadyList& out) {
  int count = iteration->outstanding.load(std::memory_order_relaxed);
  while (count > 1 && !is_alone_) {
    if (iteration->outstanding.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel)) {
      return;
    }
  }
  // This may be the last one. Its count keeps the iteration alive until the lock is taken.
  FrameLock lock(*this);
  LeaveIterationLocked(iteration, out);
}

void DataflowRun::LeaveIterationLocked(Iteration* iteration, ReadyList& out) {
  while (Add(iteration->outstanding, -1) == 1) {
    Iteration* const parent = iteration->frame->parent_iteration;
    if (!EndIterations(iteration->frame, out) || IsRoot(parent)) return;
    iteration = parent;
  }
}

bool DataflowRun::EndIterations(FrameState* frame, ReadyList& out) {
  while (frame->first <= frame->last) {
    Iteration* const iteration = frame->At(frame->first);
    if (iteration->outstanding.load(std::memory_order_acquire) != 0 ||
        (frame->first == 0 && frame->enters_to_come > 0)) {
      return false;
    }
    frames_.Recycle(iteration);
    ++frame->first;
    if (frame->waiting.empty()) continue;
    std::vector<FrameState::Held> waiting = std::exchange(frame->waiting, {});
    Iteration* const next = StartIteration(frame, out);
    for (FrameState::Held& held : waiting) {
      Add(next->outstanding, Propagate(*held.node, *next, &held.value, false, out));
    }
  }
  Iteration* const parent = frame->parent_iteration;
  parent->children[frame->program->place_in_parent] = nullptr;
  for (const DataflowProgram::Node* exit : frame->dead_exits) {
    const int count = Propagate(*exit, *parent, nullptr, true, out);
    if (!IsRoot(parent)) Add(parent->outstanding, count);
  }
  frames_.Recycle(frame);
  return true;
}

}  // namespace tessera
