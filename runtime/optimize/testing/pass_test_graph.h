// For tests of passes: a graph to build, to rewrite, and to run before and after.
#pragma once

#include <string>
#include <vector>

#include "runtime/device/cpu/cpu_device.h"
#include "runtime/framework/resource_manager.h"
#include "runtime/graph/graph.h"
#include "runtime/optimize/pass.h"

namespace tessera {

// Mistakes in building abort.
//
//   PassTestGraph g;
//   Endpoint x = g.Arg(DType::kFloat);
//   g.Result(g.Op("Relu", {x}));
//   g.ExpectSameResults(RemoveNoOpsPass(), {Tensor::Scalar(1.0f)});  // runs before and after
//   EXPECT_EQ(g.CountOf("Relu"), 1);
class PassTestGraph {
 public:
  // `functions`: definitions in the notation of graph_text.h.
  explicit PassTestGraph(const std::string& functions = "");

  Endpoint Arg(DType dtype);
  Node* Result(const Endpoint& value);
  Endpoint Const(Tensor value, const std::string& name = "const");
  // A node; attribute T is set from the first input unless it is given. `name` defaults to the op.
  Endpoint Op(const std::string& op, const std::vector<Endpoint>& inputs, AttrMap attrs = {},
              const std::string& name = "");
  // The same for nodes with other than one output.
  Node* OpNode(const std::string& op, const std::vector<Endpoint>& inputs, AttrMap attrs = {},
               const std::string& name = "");
  // Lets the node run in every step.
  void Keep(Node* node) { item.preserved.push_back(node); }

  // Runs the pass and drops what is not needed any more. Returns whether it changed the graph.
  bool Apply(const Pass& pass);
  // Runs the graph; the state of variables stays from run to run.
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& args);
  // Runs, applies the pass, runs again, and expects equal results, floats up to `tolerance`
  // relative to the largest value; NaN equals NaN. Returns whether the pass changed the graph.
  bool ExpectSameResults(const Pass& pass, const std::vector<Tensor>& args, double tolerance = 0);

  int CountOf(const std::string& op) const;
  // The one node of an op; aborts if there is another number of them.
  Node* Only(const std::string& op) const;

  Graph graph;
  ResourceManager resources;
  OptimizationItem item;

 private:
  CpuDevice device_;
  int num_args_ = 0, num_results_ = 0;
};

// 0, step, 2 * step, ... in a shape, for inputs and weights.
Tensor Ramp(const Shape& shape, float step);

}  // namespace tessera
