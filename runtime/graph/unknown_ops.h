// Creates placeholders for nodes whose op is not declared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/graph/graph.h"

namespace tessera {

// The op of a placeholder. Its attributes `_inputs` and `_outputs` are the dtypes of its inputs and
// outputs, and `_op` is the name of the unknown op. It keeps the other attributes of the node.
inline constexpr absl::string_view kUnsupportedOp = "_Unsupported";

// Returns why no node of the op can have these attributes if one is a dtype that the declaration
// does not allow, such as one of a later version of TensorFlow; empty otherwise. A node of such a
// dtype is as good as one of an unknown op, and keeps the reason as its attribute `_unsupported`.
std::string WhyDTypeIsNotAllowed(const OpDef& op, const AttrMap& attrs);

// Collects the nodes with unknown ops of a graph that is being built, together with their edges.
// The number and the dtypes of their outputs are known only when all edges are.
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
  // Adds a node and returns its number.
  int Add(absl::string_view name, absl::string_view op, AttrMap attrs, absl::string_view device);
  // Returns the number of the node with this name, or -1.
  int Find(absl::string_view name) const;

  // Connects the next input of unknown node `to` to an output of a known or of an unknown node.
  void ConnectTo(int to, Endpoint from);
  void ConnectTo(int to, int from, int output);
  // Connects an input of a known node to output `output` of unknown node `from`.
  void ConnectFrom(int from, int output, Use to);
  // Adds a control edge into an unknown node, out of one, or between two.
  void AddControlTo(int to, Node* from);
  void AddControlFrom(int from, Node* to);
  void AddControl(int from, int to);

  // Adds a placeholder for each unknown node to the graph, with its edges. An output that only
  // other unknown nodes use gets dtype kInvalid. Errors: INVALID_ARGUMENT if two uses of one output
  // ask for different dtypes, or those of Graph::AddNode().
  absl::Status CreateNodes();
  // Returns the placeholder of a node. Requires that CreateNodes() has succeeded.
  Node* created(int number) const { return nodes_[number].created; }

  // Returns a NOT_FOUND error with all unknown ops and their nodes:
  // "2 ops are unknown: CTCLoss (node 'loss/ctc'), Foo (nodes 'a', 'b') ...".
  absl::Status NotFound() const;

 private:
  struct Source {
    Endpoint known;    // set for an output of a known node
    int unknown = -1;  // otherwise the number of the unknown node ...
    int output = 0;    // ... and its output
  };
  struct Unknown {
    std::string name, op, device;
    AttrMap attrs;
    std::vector<Source> inputs;
    std::vector<DType> output_types;
    std::vector<std::pair<int, Use>> uses;  // outputs, and inputs of known nodes that they feed
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
