// Graph: nodes and edges in memory, free of protobuf; what passes rewrite and executors compile.
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

// Output `index` of `node`.
struct Endpoint {
  Node* node = nullptr;
  int index = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Endpoint& e) {
    return H::combine(std::move(h), e.node, e.index);
  }
};

// Input `index` of `node`.
struct Use {
  Node* node = nullptr;
  int index = 0;
  friend bool operator==(const Use&, const Use&) = default;
};

// A node. Owned by its graph, which alone changes its edges.
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
  // What op and attributes declare, ref types included.
  DType input_type(int i) const { return input_types_[i]; }
  DType output_type(int i) const { return output_types_[i]; }
  const std::vector<DType>& input_types() const { return input_types_; }
  const std::vector<DType>& output_types() const { return output_types_; }

  // node is null while an input is not connected.
  const Endpoint& input(int i) const { return inputs_[i]; }
  const std::vector<Endpoint>& inputs() const { return inputs_; }
  // Data uses of all outputs, those of output i first come in no order.
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

// GraphDef's version numbers.
struct GraphVersions {
  int producer = 0;
  int min_consumer = 0;
  std::vector<int> bad_consumers;
};

// A mutable graph. Cycles are only through NextIteration -> Merge once it is complete; see
// CheckAcyclic() in graph_algorithms.h. Not thread-safe; a const Graph may be shared.
class Graph {
 public:
  // `library` gives the ops that are functions of this graph; may be null.
  explicit Graph(std::shared_ptr<const FunctionLibrary> library = nullptr);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  std::unique_ptr<Graph> Clone() const;

  // What nodes may use as op: a function of the library, else a registered op; null if unknown.
  const OpDef* FindOp(absl::string_view name) const;

  // Adds an unconnected node; `attrs` are completed with the op's defaults and checked, and empty
  // lists get the type that the op declares.
  // Errors: ALREADY_EXISTS for a name in use; NOT_FOUND for an unknown op; INVALID_ARGUMENT from
  // CompleteAttrs(), for a malformed name, or for over 65,536 inputs or outputs.
  absl::StatusOr<Node*> AddNode(absl::string_view name, absl::string_view op, AttrMap attrs,
                                absl::string_view device = "");
  // As above, and connects `inputs` in order. Errors: those of Connect(), and INVALID_ARGUMENT if
  // there are not as many inputs as the op takes; the graph is then unchanged.
  absl::StatusOr<Node*> AddNode(absl::string_view name, absl::string_view op, AttrMap attrs,
                                const std::vector<Endpoint>& inputs, absl::string_view device = "");

  // Connects (or reconnects) an input. Errors: INVALID_ARGUMENT, naming both nodes, if there is no
  // such output or input or the dtypes differ (a ref output may feed a plain input).
  absl::Status Connect(Endpoint from, Node* to, int input);
  // Adds a control edge unless it is there.
  void AddControlEdge(Node* from, Node* to);
  void RemoveControlEdge(Node* from, Node* to);
  // Lets all data uses of `from` use `to` instead. On an error (that of Connect()) nothing changes.
  absl::Status ReplaceUses(Endpoint from, Endpoint to);
  // Lets all control edges out of `from` start at `to`.
  void MoveControlOutputs(Node* from, Node* to);
  // Drops a node and its edges. Uses of its outputs become unconnected.
  void Remove(Node* node);

  // Null if there is none.
  Node* FindNode(absl::string_view name) const;
  // "node", "node:2", "^node" excluded. Errors: INVALID_ARGUMENT if malformed or the node has no
  // such output; NOT_FOUND if there is no such node.
  absl::StatusOr<Endpoint> FindEndpoint(absl::string_view tensor_name) const;
  // `prefix`, or `prefix_N` with the first N that is free.
  std::string UniqueName(absl::string_view prefix);

  // All nodes in order of id.
  std::vector<Node*> nodes() const;
  int num_nodes() const { return num_nodes_; }
  int id_bound() const { return static_cast<int>(nodes_.size()); }  // all ids are below
  Node* node(int id) const { return nodes_[id].get(); }             // null if removed

  const std::shared_ptr<const FunctionLibrary>& library() const { return library_; }
  // Requires that all functions called by nodes of this graph stay the same.
  void set_library(std::shared_ptr<const FunctionLibrary> library) {
    library_ = std::move(library);
  }
  const GraphVersions& versions() const { return versions_; }
  void set_versions(GraphVersions versions) { versions_ = std::move(versions); }

 private:
  // Unconnects an input.
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
