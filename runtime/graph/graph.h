// The graph in memory, independent of protobuf. Passes rewrite it, and executors compile it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/framework/op.h"

namespace tessera {

class Node;
class FunctionLibrary;

// An output of a node.
struct Endpoint {
  Node* node = nullptr;
  int index = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Endpoint& e) {
    return H::combine(std::move(h), e.node, e.index);
  }
};

// An input of a node.
struct Use {
  Node* node = nullptr;
  int index = 0;
  friend bool operator==(const Use&, const Use&) = default;
};

// A node of a graph. The graph owns it, and only the graph changes its edges.
class Node {
 public:
  int id() const { return id_; }  // dense, stable, never reused within the graph
  const std::string& name() const { return name_; }
  const std::string& op_name() const { return op_->name; }
  const OpDef& op() const { return *op_; }
  const AttrMap& attrs() const { return attrs_; }
  template <typename T>
  absl::StatusOr<T> attr(absl::string_view name) const {
    return GetAttr<T>(attrs_, name);
  }
  void SetAttr(absl::string_view name, AttrValue value) {
    attrs_[std::string(name)] = std::move(value);
  }
  const std::string& device() const { return device_; }
  void set_device(std::string device) { device_ = std::move(device); }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(output_types_.size()); }
  // The dtypes that the op declares for these attributes, including reference types.
  DType input_type(int i) const { return input_types_[i]; }
  DType output_type(int i) const { return output_types_[i]; }
  const std::vector<DType>& input_types() const { return input_types_; }
  const std::vector<DType>& output_types() const { return output_types_; }

  // The source of an input. Its `node` is null while the input is not connected.
  const Endpoint& input(int i) const { return inputs_[i]; }
  const std::vector<Endpoint>& inputs() const { return inputs_; }
  // The inputs that an output is connected to, in no particular order.
  const std::vector<Use>& uses(int output) const { return uses_[output]; }
  const std::vector<Node*>& control_inputs() const { return control_inputs_; }
  const std::vector<Node*>& control_outputs() const { return control_outputs_; }

  bool IsOp(absl::string_view name) const { return op_->name == name; }
  bool is_stateful() const { return op_->is_stateful; }

 private:
  friend class Graph;
  int id_ = 0;
  std::string name_;
  const OpDef* op_ = nullptr;
  AttrMap attrs_;
  std::string device_;
  std::vector<DType> input_types_, output_types_;
  std::vector<Endpoint> inputs_;
  std::vector<std::vector<Use>> uses_;
  std::vector<Node*> control_inputs_, control_outputs_;
};

// The version numbers of a GraphDef.
struct GraphVersions {
  int producer = 0;
  int min_consumer = 0;
  std::vector<int> bad_consumers;
};

// A mutable graph. A complete graph has no cycles but those through an edge from a NextIteration to
// a Merge, see CheckAcyclic() in graph_algorithms.h. Not thread-safe; threads may share a const
// Graph.
class Graph {
 public:
  // `library` holds the functions of the graph, which nodes may have as ops; it may be null.
  explicit Graph(std::shared_ptr<const FunctionLibrary> library = nullptr);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  std::unique_ptr<Graph> Clone() const;

  // Finds an op that nodes may have: a function of the library or a registered op. Returns null if
  // there is none.
  const OpDef* FindOp(absl::string_view name) const;

  // Adds a node without edges. Checks `attrs` and completes them with the defaults of the op; empty
  // lists get the type that the op declares.
  // Errors: ALREADY_EXISTS for a name in use; NOT_FOUND for an unknown op; INVALID_ARGUMENT from
  // CompleteAttrs(), for a malformed name, or for over 65,536 inputs or outputs.
  absl::StatusOr<Node*> AddNode(absl::string_view name, absl::string_view op, AttrMap attrs,
                                absl::string_view device = "");
  // Adds a node and connects `inputs` in order. Errors: those of the other AddNode() and of
  // Connect(), and INVALID_ARGUMENT for another number of inputs than the op takes; the graph is
  // then unchanged.
  absl::StatusOr<Node*> AddNode(absl::string_view name, absl::string_view op, AttrMap attrs,
                                const std::vector<Endpoint>& inputs, absl::string_view device = "");

  // Connects an input, or connects it anew. Errors: INVALID_ARGUMENT, with both nodes, if there is
  // no such output or input or if the dtypes differ. A reference may feed an input of the plain
  // dtype.
  absl::Status Connect(Endpoint from, Node* to, int input);
  // Adds a control edge unless the graph has it already.
  void AddControlEdge(Node* from, Node* to);
  void RemoveControlEdge(Node* from, Node* to);
  // Connects all inputs that use `from` to `to` instead. Errors: those of Connect(); the graph is
  // then unchanged.
  absl::Status ReplaceUses(Endpoint from, Endpoint to);
  // Moves all control edges that start at `from` to start at `to`.
  void MoveControlOutputs(Node* from, Node* to);
  // Removes a node and its edges. Inputs that used its outputs become unconnected.
  void Remove(Node* node);

  // Returns null if no node has this name.
  Node* FindNode(absl::string_view name) const;
  // Finds an output by a name such as "node" or "node:2". Errors: INVALID_ARGUMENT if the name is
  // malformed or the node has no such output; NOT_FOUND if there is no such node.
  absl::StatusOr<Endpoint> FindEndpoint(absl::string_view tensor_name) const;
  // Returns `prefix` if no node has that name, otherwise `prefix_N` with the first free N.
  std::string UniqueName(absl::string_view prefix);

  // Returns all nodes in order of id.
  std::vector<Node*> nodes() const;
  int num_nodes() const { return num_nodes_; }
  // All ids are less than this.
  int id_bound() const { return static_cast<int>(nodes_.size()); }
  // Null if the node was removed.
  Node* node(int id) const { return nodes_[id].get(); }

  const std::shared_ptr<const FunctionLibrary>& library() const { return library_; }
  // Requires that functions which nodes of this graph call are the same in the new library.
  void set_library(std::shared_ptr<const FunctionLibrary> library) {
    library_ = std::move(library);
  }
  const GraphVersions& versions() const { return versions_; }
  void set_versions(GraphVersions versions) { versions_ = std::move(versions); }

 private:
  // Disconnects an input.
  void DropInput(Node* node, int input);

  std::vector<std::unique_ptr<Node>> nodes_;
  absl::flat_hash_map<absl::string_view, Node*> by_name_;  // keys are the nodes' own names
  int num_nodes_ = 0;
  absl::flat_hash_map<std::string, int> next_suffix_;
  std::shared_ptr<const FunctionLibrary> library_;
  GraphVersions versions_;
};

// Splits "node" or "node:2" into name and index. Errors: INVALID_ARGUMENT for anything else.
absl::Status ParseTensorName(absl::string_view tensor_name, absl::string_view* node, int* index);
// "name" for index 0, else "name:index".
std::string TensorName(const Endpoint& endpoint);

}  // namespace tessera
