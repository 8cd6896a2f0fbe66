#include "runtime/optimize/testing/pass_test_graph.h"

#include <cmath>
#include <utility>

#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/function_runtime.h"
#include "runtime/exec/rendezvous.h"
#include "runtime/graph/function.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/graph/testing/graph_text.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

std::shared_ptr<const FunctionLibrary> LibraryOf(const std::string& text) {
  return FunctionLibrary::Create(GraphFromText(text).library()).value();
}

void ExpectClose(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.dtype(), b.dtype());
  ASSERT_EQ(a.shape().ToString(), b.shape().ToString());
  if (tolerance == 0 || a.dtype() != DType::kFloat) {
    EXPECT_TRUE(AttrValue(a) == AttrValue(b)) << a.ToString() << " against " << b.ToString();
    return;
  }
  double largest = 0;
  for (float v : a.flat<float>()) {
    if (!std::isnan(v)) largest = std::max(largest, std::abs(double{v}));
  }
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    EXPECT_EQ(std::isnan(a.flat<float>()[i]), std::isnan(b.flat<float>()[i])) << "element " << i;
    if (std::isnan(a.flat<float>()[i])) continue;
    EXPECT_NEAR(a.flat<float>()[i], b.flat<float>()[i], tolerance * largest) << "element " << i;
  }
}

}  // namespace

PassTestGraph::PassTestGraph(const std::string& functions)
    : graph(functions.empty() ? nullptr : LibraryOf(functions)),
      device_(*DeviceName::Parse("/job:localhost/replica:0/task:0/device:CPU:0")) {
  item.graph = &graph;
  item.devices = {&device_};
  item.resources = &resources;
}

Node* PassTestGraph::OpNode(const std::string& op, const std::vector<Endpoint>& inputs,
                            AttrMap attrs, const std::string& name) {
  const OpDef* def = graph.FindOp(op);
  CHECK(def != nullptr) << op;
  if (!inputs.empty() && def->FindAttr("T") != nullptr && def->FindAttr("T")->type == "type") {
    attrs.emplace("T", RemoveRef(inputs[0].node->output_type(inputs[0].index)));
  }
  return graph.AddNode(graph.UniqueName(name.empty() ? op : name), op, std::move(attrs), inputs)
      .value();
}

Endpoint PassTestGraph::Op(const std::string& op, const std::vector<Endpoint>& inputs,
                           AttrMap attrs, const std::string& name) {
  return {OpNode(op, inputs, std::move(attrs), name), 0};
}

Endpoint PassTestGraph::Arg(DType dtype) {
  const Endpoint arg = Op("_Arg", {}, {{"T", dtype}, {"index", num_args_++}});
  Keep(arg.node);
  return arg;
}

Node* PassTestGraph::Result(const Endpoint& value) {
  Node* result = OpNode("_Retval", {value}, {{"index", num_results_++}});
  Keep(result);
  return result;
}

Endpoint PassTestGraph::Const(Tensor value, const std::string& name) {
  const DType dtype = value.dtype();
  return Op("Const", {}, {{"dtype", dtype}, {"value", std::move(value)}}, name);
}

bool PassTestGraph::Apply(const Pass& pass) {
  bool changed = false;
  const absl::Status status = pass.Run(item, &changed);
  EXPECT_TRUE(status.ok()) << status;
  RemoveAllBut(&graph, item.preserved);
  return changed;
}

absl::StatusOr<std::vector<Tensor>> PassTestGraph::Run(const std::vector<Tensor>& args) {
  LocalFunctionRuntime::Options options;
  options.library = graph.library();
  options.planning.devices = {&device_};
  options.planning.optimize = false;
  LocalFunctionRuntime functions(options);
  auto executor = Compile(graph, {.device = &device_, .functions = &functions});
  if (!executor.ok()) return executor.status();
  ResourceManager step_resources;
  CancellationManager cancellation;
  LocalRendezvous rendezvous;
  StepContext step;
  step.resources = &resources;
  step.step_resources = &step_resources;
  step.cancellation = &cancellation;
  step.rendezvous = &rendezvous;
  std::vector<Tensor> results;
  RunArgs run;
  run.args = args;
  run.results = &results;
  if (absl::Status status = (*executor)->Run(step, run); !status.ok()) return status;
  return results;
}

bool PassTestGraph::ExpectSameResults(const Pass& pass, const std::vector<Tensor>& args,
                                      double tolerance) {
  const auto before = Run(args);
  const bool changed = Apply(pass);
  const auto after = Run(args);
  EXPECT_TRUE(before.ok()) << before.status();
  EXPECT_TRUE(after.ok()) << after.status();
  if (!before.ok() || !after.ok()) return changed;
  EXPECT_EQ(before->size(), after->size());
  for (size_t i = 0; i < before->size(); ++i) {
    SCOPED_TRACE(absl::StrCat("result ", i));
    ExpectClose((*before)[i], (*after)[i], tolerance);
  }
  return changed;
}

int PassTestGraph::CountOf(const std::string& op) const {
  int count = 0;
  for (const Node* node : graph.nodes()) count += node->IsOp(op);
  return count;
}

Node* PassTestGraph::Only(const std::string& op) const {
  CHECK(CountOf(op) == 1) << CountOf(op) << " nodes are " << op;
  for (Node* node : graph.nodes()) {
    if (node->IsOp(op)) return node;
  }
  return nullptr;
}

Tensor Ramp(const Shape& shape, float step) {
  Tensor tensor = Tensor::Allocate(DType::kFloat, shape).value();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.flat<float>()[i] = static_cast<float>(i) * step;
  }
  return tensor;
}

}  // namespace tessera
