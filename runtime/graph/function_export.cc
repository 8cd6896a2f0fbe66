#include "runtime/graph/function_export.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/attr_value_proto.h"
#include "tensorflow/core/framework/function.pb.h"

namespace tessera {
namespace {

class Exporter {
 public:
  Exporter(const FunctionExport& function, tensorflow::FunctionDef* definition)
      : function_(function), definition_(*definition) {}

  absl::Status Export() {
    definition_.Clear();
    tensorflow::OpDef* const signature = definition_.mutable_signature();
    signature->set_name(function_.name);
    for (size_t i = 0; i < function_.args.size(); ++i) {
      const std::string name = ArgName(i);
      AddArg(name, function_.args[i]->output_type(0), signature->add_input_arg());
      arg_names_[function_.args[i]] = name;
    }
    const absl::flat_hash_set<const Node*> results(function_.results.begin(),
                                                   function_.results.end());
    bool is_stateful = false;
    for (const Node* node : function_.graph->nodes()) {
      if (arg_names_.contains(node) || results.contains(node)) continue;
      is_stateful |= node->is_stateful();
      RETURN_IF_ERROR(ExportNode(*node));
    }
    signature->set_is_stateful(is_stateful);
    for (size_t i = 0; i < function_.results.size(); ++i) {
      const Node* result = function_.results[i];
      const std::string name = absl::StrCat("result_", i);
      AddArg(name, result->input_type(0), signature->add_output_arg());
      ASSIGN_OR_RETURN((*definition_.mutable_ret())[name], Reference(*result, 0));
    }
    for (const Node* control : function_.control_results) {
      (*definition_.mutable_control_ret())[control->name()] = control->name();
      signature->add_control_output(control->name());
    }
    return absl::OkStatus();
  }

 private:
  // A name that no node has.
  std::string ArgName(size_t i) const {
    std::string name = absl::StrCat("arg_", i);
    auto is_taken = [&] {
      const Node* node = function_.graph->FindNode(name);
      return node != nullptr && !node->IsOp("_Arg") && !node->IsOp("_Retval");
    };
    while (is_taken()) absl::StrAppend(&name, "_");
    return name;
  }

  static void AddArg(const std::string& name, DType dtype, tensorflow::OpDef::ArgDef* arg) {
    arg->set_name(name);
    arg->set_type(static_cast<tensorflow::DataType>(RemoveRef(dtype)));
  }

  absl::Status ExportNode(const Node& node) {
    tensorflow::NodeDef* const proto = definition_.add_node_def();
    proto->set_name(node.name());
    proto->set_op(node.op_name());
    proto->set_device(node.device());
    AttrMapToProto(node.attrs(), proto->mutable_attr());
    for (int i = 0; i < node.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(std::string reference, Reference(node, i));
      proto->add_input(std::move(reference));
    }
    for (const Node* control : node.control_inputs()) {
      const auto arg = arg_names_.find(control);
      proto->add_input(absl::StrCat("^", arg == arg_names_.end() ? control->name() : arg->second));
    }
    return absl::OkStatus();
  }

  // "node:output:index", or the name of an argument.
  absl::StatusOr<std::string> Reference(const Node& node, int input) const {
    const Endpoint& from = node.input(input);
    if (from.node == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", input, " of node '", node.name(), "' is not connected"));
    }
    const auto arg = arg_names_.find(from.node);
    if (arg != arg_names_.end()) return arg->second;
    for (const ArgDef& output : from.node->op().outputs) {
      ASSIGN_OR_RETURN(const ArgRange range,
                       OutputRange(from.node->op(), from.node->attrs(), output.name));
      if (from.index < range.begin || from.index >= range.end) continue;
      return absl::StrCat(from.node->name(), ":", output.name, ":", from.index - range.begin);
    }
    return absl::InternalError(absl::StrCat("node '", from.node->name(), "' lacks an output"));
  }

  const FunctionExport& function_;
  tensorflow::FunctionDef& definition_;
  absl::flat_hash_map<const Node*, std::string> arg_names_;
};

}  // namespace

absl::Status ExportFunction(const FunctionExport& function, tensorflow::FunctionDef* definition) {
  return Exporter(function, definition).Export();
}

}  // namespace tessera
