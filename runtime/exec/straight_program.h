// A graph laid out to run from first node to last on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/compiled_graph.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// An immutable list of nodes over an array of value slots. Constants keep a slot each, filled once
// for all runs; every other slot holds a value from the node that makes it to the last node that
// reads it, and then the next value: the slots of a long graph are few and stay in the cache.
struct StraightProgram {
  // An input that comes over a reference edge.
  struct RefInput {
    uint32_t slot;
    uint16_t input;
    bool read;  // the kernel takes a plain tensor: put the variable's value there
    bool may_be_uninitialized;
  };
  struct Node {
    OpKernel* kernel;
    const DType* output_types;
    const MemoryKind* output_kinds;  // null: all are host memory
    uint32_t first_input;    // in `inputs`
    uint32_t first_output;   // slot; the others follow
    uint32_t first_release;  // in `releases`
    uint32_t first_ref;      // in `refs`
    uint32_t first_place;    // of the outputs' memory; the others follow
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
  std::vector<uint32_t> releases;  // slots nobody reads after a node
  std::vector<RefInput> refs;
  std::vector<Arg> args;
  std::vector<Constant> constants;  // in the first slots
  std::vector<Result> results;
  uint32_t num_slots = 0;
  uint32_t num_places = 0;  // an output each
  int num_args = 0;
  int num_results = 0;
  // Of nodes[i], for messages and statistics.
  struct Label {
    std::string name;
    std::string op;
  };
  std::vector<Label> labels;
  std::vector<std::shared_ptr<OpKernel>> kernels;  // owns what nodes point to
  std::vector<std::vector<DType>> output_types;    // likewise
  std::vector<std::vector<MemoryKind>> output_kinds;
};

// Errors: INVALID_ARGUMENT if the graph needs the dataflow executor, or a node is beyond what the
// layout can number.
absl::StatusOr<StraightProgram> LayOutStraight(CompiledGraph graph);

}  // namespace tessera
