// A graph compiled to run from its first node to its last on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/compiled_graph.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// An immutable list of nodes over an array of value slots. Each constant has a slot, which is
// filled once for all runs. Any other slot holds a value from the node that makes it to the last
// node that reads it, and then another value, so that a long graph needs few slots, which stay in
// the cache.
struct StraightProgram {
  // An input that comes over a reference edge.
  struct RefInput {
    uint32_t slot;
    uint16_t input;
    bool read;  // the kernel takes a plain tensor, so the slot gets the value of the variable
    bool may_be_uninitialized;
  };
  struct Node {
    OpKernel* kernel;
    const DType* output_types;
    const MemoryKind* output_kinds;  // null: all are host memory
    uint32_t first_input;            // index in `inputs`
    uint32_t first_output;           // slot of the first output; those of the others follow
    uint32_t first_release;          // index in `releases`
    uint32_t first_ref;              // index in `refs`
    uint32_t first_place;  // place of the first output (OutputMemory); those of the others follow
    uint16_t num_inputs;
    uint16_t num_outputs;
    uint16_t num_releases;
    uint16_t num_refs;
    bool is_expensive;
  };
  struct Arg {
    int index;
    uint32_t slot;
  };
  struct Constant {
    uint32_t slot;
    Tensor value;
  };
  struct Result {
    int index;
    uint32_t slot;
    bool last_use;
    bool read_ref;
    std::string node_name;
  };

  std::vector<Node> nodes;
  std::vector<KernelContext::InputSlot> inputs;
  std::vector<uint32_t> releases;  // slots that no node reads later
  std::vector<RefInput> refs;
  std::vector<Arg> args;
  std::vector<Constant> constants;  // in the first slots
  std::vector<Result> results;
  // Some node writes a variable or another resource, as the steps of a training run do, which
  // follow each other.
  bool writes_state = false;
  uint32_t num_slots = 0;
  uint32_t num_places = 0;  // one for each output
  int num_args = 0;
  int num_results = 0;
  std::vector<NodeLabel> labels;  // labels[i] describes nodes[i]
  // These own what the nodes point to.
  std::vector<std::shared_ptr<OpKernel>> kernels;
  std::vector<std::vector<DType>> output_types;
  std::vector<std::vector<MemoryKind>> output_kinds;
};

// Errors: INVALID_ARGUMENT if the graph needs the dataflow executor, or if a node has too many
// inputs or outputs.
absl::StatusOr<StraightProgram> LayOutStraight(CompiledGraph graph);

}  // namespace tessera
