// A graph compiled to run by dataflow: a node runs when its inputs have arrived.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/compiled_graph.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The immutable part of dataflow runs. Loops of TensorFlow 1 are frames: a frame consists of the
// nodes between the Enter and Exit nodes of one `frame_name`, and frame 0 is the graph outside all
// loops. At run time a frame has iterations. Each iteration has a value slot for each input of each
// node of the frame, and for each node a word that counts the inputs which have not arrived.
//
// A slot belongs to one input, so each input is the last use of its value. Slots of several readers
// share a value. Constants without control inputs do not run: each frame that reads one has it in a
// slot, which is filled once.
struct DataflowProgram {
  static constexpr uint32_t kControl = 0xffffffff;

  // Kernels that only pass a value on. A run does this itself, from the slots of the node.
  enum class Shortcut : uint8_t {
    kNone,
    kForward,  // input 0 is output 0
    kMerge,    // the input that has arrived is output 0; nobody reads output 1
    kSwitch,   // input 0 is output 0 or 1; input 1 selects
  };

  struct Edge {
    uint32_t node;    // the node that it goes to
    uint32_t slot;    // the slot of that node, or kControl
    uint16_t output;  // of the node that it comes from
    bool last;        // the last data edge from this output, which may move the value
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
    uint32_t first_input;            // in `inputs`
    uint32_t first_slot;             // the first of its input slots, which are consecutive
    uint32_t first_edge;             // in `edges`: data edges ordered by output, then control edges
    uint32_t num_edges;
    uint32_t first_ref;  // in `refs`
    uint32_t frame;      // the frame of its inputs
    // The number of inputs that it waits for; for a Merge only its control inputs.
    uint32_t waits_for;
    int32_t index;  // of an argument, result or constant; for an Enter the frame that it enters
    uint16_t num_inputs;
    uint16_t num_slots;
    uint16_t num_outputs;
    uint16_t num_refs;
    NodeRole role;
    Shortcut shortcut;
    bool is_expensive;
    bool is_async;
    bool is_update;          // expensive, only updates variables, and waits for nothing
    bool may_skip_outputs;   // an output without a value is dead, not an error
    bool is_constant_enter;  // an Enter whose value goes to every iteration
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
    std::vector<uint32_t> words;      // the initial word of each of its nodes
  };

  std::vector<Node> nodes;
  std::vector<uint32_t> word_of;  // index of the word of nodes[i] in the words of its frame
  std::vector<KernelContext::InputSlot> inputs;
  std::vector<Edge> edges;
  std::vector<RefInput> refs;
  std::vector<Frame> frames;
  std::vector<uint32_t> start;    // nodes without inputs to wait for
  std::vector<Tensor> constants;  // values of constants that run because they have control inputs
  int num_args = 0;
  int num_results = 0;
  int max_outputs = 0;
  bool may_wait = false;
  std::vector<NodeLabel> labels;  // labels[i] describes nodes[i]
  std::vector<std::shared_ptr<OpKernel>> kernels;
  std::vector<std::vector<DType>> output_types;
  std::vector<std::vector<MemoryKind>> output_kinds;
};

// Errors: INVALID_ARGUMENT, which names the node, for loops that are not well formed: inputs from
// different frames, or an Exit or NextIteration outside of all loops.
absl::StatusOr<DataflowProgram> LayOutDataflow(CompiledGraph graph);

}  // namespace tessera
