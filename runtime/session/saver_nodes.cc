#include "runtime/session/saver_nodes.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/saver.pb.h"

namespace tessera {
namespace {

using tensorflow::DataType;
using tensorflow::GraphDef;
using tensorflow::NodeDef;

// Adds nodes under one scope.
class NodeAdder {
 public:
  NodeAdder(std::string scope, GraphDef* graph) : scope_(std::move(scope)), graph_(graph) {}

  std::string Name(absl::string_view name) const { return absl::StrCat(scope_, "/", name); }
  NodeDef* Add(absl::string_view name, const char* op) {
    NodeDef* const node = graph_->add_node();
    node->set_name(Name(name));
    node->set_op(op);
    return node;
  }
  // A constant of strings; a scalar if `rank` is 0.
  std::string Strings(absl::string_view name, absl::Span<const std::string> values, int rank) {
    NodeDef* const node = Add(name, "Const");
    SetType(node, "dtype", tensorflow::DT_STRING);
    tensorflow::TensorProto* const tensor = (*node->mutable_attr())["value"].mutable_tensor();
    tensor->set_dtype(tensorflow::DT_STRING);
    tensor->mutable_tensor_shape();
    if (rank == 1) tensor->mutable_tensor_shape()->add_dim()->set_size(values.size());
    for (const std::string& value : values) tensor->add_string_val(value);
    return node->name();
  }
  static void SetType(NodeDef* node, const char* attr, DataType type) {
    (*node->mutable_attr())[attr].set_type(type);
  }

 private:
  const std::string scope_;
  GraphDef* const graph_;
};

// The first of "save", "save_1", ... that is no scope of the graph.
std::string FreeScope(const GraphDef& graph) {
  for (int i = 0;; ++i) {
    const std::string scope = i == 0 ? "save" : absl::StrCat("save_", i);
    bool is_taken = false;
    for (const NodeDef& node : graph.node()) {
      is_taken |= node.name() == scope || absl::StartsWith(node.name(), scope + "/");
    }
    if (!is_taken) return scope;
  }
}

struct Variable {
  NodeDef node;
  bool is_resource;
  DataType dtype;
};

absl::StatusOr<std::vector<Variable>> FindVariables(absl::Span<const ExportedVariable> variables,
                                                    const GraphDef& graph) {
  absl::flat_hash_map<absl::string_view, const NodeDef*> nodes;
  for (const NodeDef& node : graph.node()) nodes.emplace(node.name(), &node);
  absl::flat_hash_set<absl::string_view> keys;
  std::vector<Variable> found;
  for (const ExportedVariable& variable : variables) {
    const auto it = nodes.find(variable.node);
    if (it == nodes.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the graph has no variable '", variable.node, "'"));
    }
    const NodeDef& node = *it->second;
    const bool is_resource = node.op() == "VarHandleOp";
    const auto dtype = node.attr().find("dtype");
    if ((!is_resource && node.op() != "VariableV2" && node.op() != "Variable") ||
        dtype == node.attr().end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("node '", variable.node, "' is no variable: its op is ", node.op()));
    }
    if (!keys.insert(variable.key).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two variables are saved under the key '", variable.key, "'"));
    }
    found.push_back({node, is_resource, dtype->second.type()});
  }
  return found;
}

}  // namespace

absl::StatusOr<tensorflow::SaverDef> AddSaver(absl::Span<const ExportedVariable> variables,
                                              GraphDef* graph) {
  auto found = FindVariables(variables, *graph);
  if (!found.ok()) return found.status();
  NodeAdder nodes(FreeScope(*graph), graph);

  const std::string default_prefix = nodes.Strings("filename", {"model"}, 0);
  NodeDef* const prefix = nodes.Add("Const", "PlaceholderWithDefault");
  nodes.SetType(prefix, "dtype", tensorflow::DT_STRING);
  (*prefix->mutable_attr())["shape"].mutable_shape();
  prefix->add_input(default_prefix);
  const std::string prefix_name = prefix->name();

  std::vector<std::string> keys;
  for (const ExportedVariable& variable : variables) keys.push_back(variable.key);
  const std::string names = nodes.Strings("tensor_names", keys, 1);
  const std::string slices =
      nodes.Strings("shape_and_slices", std::vector<std::string>(keys.size()), 1);
  NodeDef* const save = nodes.Add("SaveV2", "SaveV2");
  NodeDef* const restore = nodes.Add("RestoreV2", "RestoreV2");
  NodeDef* const restore_all = nodes.Add("restore_all", "NoOp");
  for (NodeDef* node : {save, restore}) {
    for (const std::string& input : {prefix_name, names, slices}) node->add_input(input);
    (*node->mutable_attr())["dtypes"].mutable_list();
  }
  for (size_t i = 0; i < found->size(); ++i) {
    const auto& [variable, is_resource, dtype] = (*found)[i];
    for (NodeDef* node : {save, restore}) {
      (*node->mutable_attr())["dtypes"].mutable_list()->add_type(dtype);
    }
    std::string value = variable.name();
    if (is_resource) {
      NodeDef* const read = nodes.Add(absl::StrCat("Read_", i), "ReadVariableOp");
      read->add_input(variable.name());
      read->set_device(variable.device());
      nodes.SetType(read, "dtype", dtype);
      value = read->name();
    }
    save->add_input(value);
    NodeDef* const assign =
        nodes.Add(absl::StrCat("Assign_", i), is_resource ? "AssignVariableOp" : "Assign");
    assign->add_input(variable.name());
    assign->add_input(absl::StrCat(restore->name(), ":", i));
    assign->set_device(variable.device());
    nodes.SetType(assign, is_resource ? "dtype" : "T", dtype);
    restore_all->add_input(absl::StrCat("^", assign->name()));
  }
  NodeDef* const saved = nodes.Add("control_dependency", "Identity");
  saved->add_input(prefix_name);
  saved->add_input(absl::StrCat("^", save->name()));
  nodes.SetType(saved, "T", tensorflow::DT_STRING);

  tensorflow::SaverDef saver;
  saver.set_filename_tensor_name(prefix_name + ":0");
  saver.set_save_tensor_name(saved->name() + ":0");
  saver.set_restore_op_name(restore_all->name());
  saver.set_version(tensorflow::SaverDef::V2);
  saver.set_max_to_keep(5);
  return saver;
}

}  // namespace tessera
