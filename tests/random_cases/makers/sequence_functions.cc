#include "tests/random_cases/makers/sequence_functions.h"

#include "absl/strings/str_cat.h"
#include "runtime/graph/attr_value_proto.h"

namespace tessera {

void DefineFunction(Sequence& sequence, const std::string& name, const std::vector<DType>& args,
                    const std::vector<FunctionNode>& nodes, const std::vector<std::string>& results,
                    const std::vector<DType>& result_types) {
  tensorflow::FunctionDef* const function = sequence.AddFunction();
  function->mutable_signature()->set_name(name);
  for (size_t i = 0; i < args.size(); ++i) {
    auto* const arg = function->mutable_signature()->add_input_arg();
    arg->set_name(absl::StrCat("x", i));
    arg->set_type(static_cast<tensorflow::DataType>(args[i]));
  }
  bool is_stateful = false;
  for (const FunctionNode& node : nodes) {
    tensorflow::NodeDef* const added = function->add_node_def();
    added->set_name(node.name);
    added->set_op(node.op);
    for (const std::string& input : node.inputs) added->add_input(input);
    AttrMapToProto(node.attrs, added->mutable_attr());
    is_stateful = is_stateful || OpRegistry::Global().Find(node.op)->is_stateful;
  }
  function->mutable_signature()->set_is_stateful(is_stateful);
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string result = absl::StrCat("y", i);
    auto* const arg = function->mutable_signature()->add_output_arg();
    arg->set_name(result);
    arg->set_type(static_cast<tensorflow::DataType>(result_types[i]));
    (*function->mutable_ret())[result] = results[i];
  }
}

FunctionNode Constant(const std::string& name, const Tensor& value) {
  return {name, "Const", {}, {{"dtype", value.dtype()}, {"value", value}}};
}

}  // namespace tessera
