// A graph laid out to run by dataflow: a node runs when its inputs have come.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/compiled_graph.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The immutable part of dataflow runs. Loops of TensorFlow 1 ("frames") are known here: a frame is
// what lies between Enter and Exit nodes of one `frame_name`, frame 0 is the graph outside all
// loops. At run time a frame has iterations, and every iteration has a value slot for each input of
// each node of the frame, and a word a node that counts what the node still waits for.
//
// The slot of an input belongs to that input alone, so every input is its value's last use; what
// several nodes read is shared between their slots. Constants without control inputs do not run:
// each frame that reads one has it in a slot of its own, filled once.
struct DataflowProgram {
  static constexpr uint32_t kControl = 0xffffffff;

  // Kernels that only hand a value on, which a run does itself. All that they hand on lies in slots
  // of the node's own.
  enum class Shortcut : uint8_t {
    kNone,
    kForward,  // input 0 is output 0
    kMerge,    // the input that has come is output 0; nobody reads output 1
    kSwitch,   // input 0 is output 0 or 1, as input 1 says
  };

  struct Edge {
    uint32_t node;    // whom it goes to
    uint32_t slot;    // there, or kControl
    uint16_t output;  // of the node it comes from
    bool last;        // the last data edge from this output: the value may be moved
  };
  struct RefInput {
    uint32_t slot;
    uint16_t input;
    bool read;
    bool may_be_uninitialized;
  };
  struct Node {
    OpKernel* kernel;
    const DType* output_types;
    const MemoryKind* output_kinds;  // null: all are host memory
    uint32_t first_input;  // in `inputs`
    uint32_t first_slot;   // of its own input slots, which lie in a row
    uint32_t first_edge;   // in `edges`; data edges by output, then control edges
    uint32_t num_edges;
    uint32_t first_ref;  // in `refs`
    uint32_t frame;      // where its inputs lie
    // What it waits for: inputs of any kind; for a Merge its control inputs alone.
    uint32_t waits_for;
    int32_t index;  // of an argument, result or constant; of an Enter the frame it enters
    uint16_t num_inputs;
    uint16_t num_slots;
    uint16_t num_outputs;
    uint16_t num_refs;
    NodeRole role;
    Shortcut shortcut;
    bool is_expensive;
    bool is_async;
    bool may_skip_outputs;   // an output without a value is dead, not an error
    bool is_constant_enter;  // its value goes to every iteration
  };
  struct Constant {
    uint32_t slot;
    Tensor value;
  };
  struct Frame {
    std::string name;
    uint32_t parent = 0;
    uint32_t place_in_parent = 0;  // among the parent's child frames
    uint32_t num_children = 0;
    uint32_t num_enters = 0;
    int parallel_iterations = 1;
    uint32_t num_slots = 0;
    std::vector<Constant> constants;  // in slots of the frame
    std::vector<uint32_t> words;      // initial state of every node of the program, by place
  };

  std::vector<Node> nodes;
  std::vector<uint32_t> word_of;  // place of nodes[i] in its frame's words
  std::vector<KernelContext::InputSlot> inputs;
  std::vector<Edge> edges;
  std::vector<RefInput> refs;
  std::vector<Frame> frames;
  std::vector<uint32_t> start;    // nodes that wait for nothing
  std::vector<Tensor> constants;  // of constants that do run, because something controls them
  int num_args = 0;
  int num_results = 0;
  int max_outputs = 0;
  bool may_wait = false;
  struct Label {
    std::string name;
    std::string op;
  };
  std::vector<Label> labels;
  std::vector<std::shared_ptr<OpKernel>> kernels;
  std::vector<std::vector<DType>> output_types;
  std::vector<std::vector<MemoryKind>> output_kinds;
};

// Errors: INVALID_ARGUMENT, naming the node, for loops that are not well formed: inputs from
// different frames, an Exit or NextIteration outside any loop.
absl::StatusOr<DataflowProgram> LayOutDataflow(CompiledGraph graph);

}  // namespace tessera
