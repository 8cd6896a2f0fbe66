#include "runtime/exec/dataflow_frame.h"

#include <utility>

#include "runtime/exec/run_state.h"

namespace tessera {
namespace {

// FNV-1a, because all processes must agree on the id of a frame, which is part of rendezvous keys.
int64_t ChildFrameId(int64_t parent_id, int64_t parent_iteration, const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325u;
  auto mix = [&hash](uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3u; };
  for (int i = 0; i < 8; ++i) mix((static_cast<uint64_t>(parent_id) >> (8 * i)) & 0xff);
  for (int i = 0; i < 8; ++i) mix((static_cast<uint64_t>(parent_iteration) >> (8 * i)) & 0xff);
  for (char c : name) mix(static_cast<unsigned char>(c));
  return static_cast<int64_t>(hash >> 1);
}

}  // namespace

FramePool::FramePool(const DataflowProgram& program)
    : program_(program), kinds_(program.frames.size()) {}

void FramePool::FillConstants(Iteration* iteration, uint32_t frame) {
  for (const DataflowProgram::Constant& constant : program_.frames[frame].constants) {
    iteration->values[constant.slot].tensor = constant.value;
  }
}

Iteration* FramePool::NewIteration(FrameState* frame, int64_t number) {
  Kind& kind = kinds_[frame->number];
  const DataflowProgram::Frame& program = program_.frames[frame->number];
  Iteration* iteration;
  if (!kind.idle_iterations.empty()) {
    iteration = kind.idle_iterations.back();
    kind.idle_iterations.pop_back();
  } else {
    auto made = std::make_unique<Iteration>();
    iteration = made.get();
    made->values = std::make_unique<Value[]>(program.num_slots);
    made->words = std::make_unique<std::atomic<uint32_t>[]>(program.words.size());
    made->children.resize(program.num_children);
    FillConstants(iteration, frame->number);
    kind.iterations.push_back(std::move(made));
  }
  for (size_t i = 0; i < program.words.size(); ++i) {
    iteration->words[i].store(program.words[i], std::memory_order_relaxed);
  }
  iteration->frame = frame;
  iteration->number = number;
  iteration->outstanding.store(0, std::memory_order_relaxed);
  return iteration;
}

void FramePool::Recycle(Iteration* iteration) {
  kinds_[iteration->frame->number].idle_iterations.push_back(iteration);
}

FrameState* FramePool::NewFrame(uint32_t number, Iteration* parent) {
  Kind& kind = kinds_[number];
  const DataflowProgram::Frame& program = program_.frames[number];
  FrameState* frame;
  if (!kind.idle_frames.empty()) {
    frame = kind.idle_frames.back();
    kind.idle_frames.pop_back();
  } else {
    kind.frames.push_back(std::make_unique<FrameState>());
    frame = kind.frames.back().get();
    frame->program = &program;
    frame->number = number;
    frame->iterations.resize(program.parallel_iterations);
  }
  frame->id = parent == nullptr ? 0 : ChildFrameId(parent->frame->id, parent->number, program.name);
  frame->parent_iteration = parent;
  frame->enters_to_come = program.num_enters;
  frame->first = 0;
  frame->last = -1;
  return frame;
}

void FramePool::Recycle(FrameState* frame) {
  frame->invariants.clear();
  frame->waiting.clear();
  frame->dead_exits.clear();
  kinds_[frame->number].idle_frames.push_back(frame);
}

void FramePool::Reset() {
  for (uint32_t number = 0; number < kinds_.size(); ++number) {
    Kind& kind = kinds_[number];
    kind.idle_iterations.clear();
    kind.idle_frames.clear();
    for (auto& iteration : kind.iterations) {
      for (uint32_t i = 0; i < program_.frames[number].num_slots; ++i) Clear(iteration->values[i]);
      FillConstants(iteration.get(), number);
      std::fill(iteration->children.begin(), iteration->children.end(), nullptr);
      kind.idle_iterations.push_back(iteration.get());
    }
    for (auto& frame : kind.frames) Recycle(frame.get());
  }
}

}  // namespace tessera
