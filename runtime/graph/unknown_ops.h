// Stand-ins for nodes whose op nobody has declared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/graph/graph.h"

namespace tessera {

// The op of a stand-in. It takes `_inputs` and gives `_outputs` (dtypes); `_op` is the
// name of the real one, whose other attributes it keeps.
inline constexpr absl::string_view kUnsupportedOp = "_Unsupported";

// Gathers the unknown nodes of a graph that is being built, and the edges that touch them; how many
// outputs they have, and of which types, shows only once all edges are known.
//
//   UnknownOps unknown(&graph);
//   const int foo = unknown.Add("foo", "CustomFoo", attrs, "");
//   unknown.ConnectFrom(foo, 1, Use{known_node, 0});
//   if (!allowed) return unknown.NotFound();
//   RETURN_IF_ERROR(unknown.CreateNodes());
//
// Not thread-safe.
class UnknownOps {
 public:
  explicit UnknownOps(Graph* graph) : graph_(graph) {}

  bool empty() const { return nodes_.empty(); }
  // Notes a node and returns its number.
  int Add(absl::string_view name, absl::string_view op, AttrMap attrs, absl::string_view device);
  // Its number, or -1.
  int Find(absl::string_view name) const;

  // The next input of unknown node `to` is this output of a known, or of an unknown, node.
  void ConnectTo(int to, Endpoint from);
  void ConnectTo(int to, int from, int output);
  // An input of a known node is output `output` of unknown node `from`.
  void ConnectFrom(int from, int output, Use to);
  // Control edges: into an unknown node, out of one, or between two.
  void AddControlTo(int to, Node* from);
  void AddControlFrom(int from, Node* to);
  void AddControl(int from, int to);

  // Adds a stand-in for each to the graph, with its edges. An output that only other unknown nodes
  // use has dtype kInvalid.
  // Errors: INVALID_ARGUMENT if two uses of one output ask for different dtypes, or those of
  // Graph::AddNode().
  absl::Status CreateNodes();
  // The created node.
  Node* created(int number) const { return nodes_[number].created; }

  // "2 ops are unknown: CTCLoss (node 'loss/ctc'), Foo (nodes 'a', 'b') ...", NOT_FOUND.
  absl::Status NotFound() const;

 private:
  struct Source {
    Endpoint known;    // if known.node is set
    int unknown = -1;  // else this one's output
    int output = 0;
  };
  struct Unknown {
    std::string name, op, device;
    AttrMap attrs;
    std::vector<Source> inputs;
    std::vector<DType> output_types;
    std::vector<std::pair<int, Use>> uses;  // by known nodes: output, input
    std::vector<Node*> controls_in, controls_out;
    std::vector<int> unknown_controls_in;
    Node* created = nullptr;
  };
  absl::Status DeduceOutputs(Unknown& node);
  void NoteOutput(Unknown& node, int output);

  Graph* const graph_;
  std::vector<Unknown> nodes_;
  absl::flat_hash_map<std::string, int> numbers_;
};

}  // namespace tessera
