// Any bytes as the module of an XlaCallModule node: reading fails with a status or gives functions
// that can be translated or refused, and what they become is a graph that can be imported.
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/logging.h"
#include "runtime/graph/graph_import.h"
#include "runtime/stablehlo/expand_call_modules.h"
#include "runtime/stablehlo/read_module.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace {

// A node whose arguments and results are those of the module's main function, so that no
// difference between the two keeps the module from being translated.
tensorflow::GraphDef GraphWith(const std::string& artifact,
                               const tessera::stablehlo::Module& module) {
  tensorflow::GraphDef graph;
  tensorflow::NodeDef* node = graph.add_node();
  node->set_name("module");
  node->set_op("XlaCallModule");
  auto& attrs = *node->mutable_attr();
  attrs["version"].set_i(9);
  attrs["module"].set_s(artifact);
  auto* tin = attrs["Tin"].mutable_list();
  auto* tout = attrs["Tout"].mutable_list();
  const tessera::stablehlo::Function* main = module.FindFunction("main");
  if (main == nullptr) return graph;
  auto dtype = [&](tessera::stablehlo::ValueId value) {
    return static_cast<tensorflow::DataType>(module.types[value]->dtype);
  };
  for (const auto argument : main->body.arguments) {
    tensorflow::NodeDef* input = graph.add_node();
    input->set_name("input" + std::to_string(tin->type_size()));
    input->set_op("Placeholder");
    (*input->mutable_attr())["dtype"].set_type(dtype(argument));
    graph.mutable_node(0)->add_input(input->name());
    tin->add_type(dtype(argument));
  }
  if (!main->body.operations.empty()) {
    for (const auto result : main->body.operations.back().operands) tout->add_type(dtype(result));
  }
  return graph;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string artifact(reinterpret_cast<const char*>(data), size);
  const auto module = tessera::stablehlo::ReadModule(artifact);
  if (!module.ok()) return 0;
  tensorflow::GraphDef graph = GraphWith(artifact, *module);
  tessera::stablehlo::ExpandCallModules(&graph);
  const auto imported = tessera::ImportGraph(graph, {.allow_unknown_ops = true});
  if (graph.node(0).op() != "XlaCallModule") CHECK(imported.ok()) << imported.status();
  return 0;
}
