// Ops and graphs for the tests of executors.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/executor.h"
#include "runtime/framework/kernel.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Builds graphs whose nodes are there for a test; a mistake in one aborts.
//
//   TestGraph g;
//   Endpoint x = g.Arg(0, DType::kInt32);
//   g.Result(0, g.Op("TestAdd", {x, x}));
//
// Ops: TestAdd, TestLess (int32 x int32), TestFail (fails with INTERNAL "told to fail"),
// TestTooLarge (needs more memory than there is in a parallel loop), TestWait (asynchronous; ends
// when it is cancelled), TestLater (asynchronous identity that ends on another thread), TestCount
// (identity; counts its executions in `test_count`), TestSleep (identity that takes x
// milliseconds).
class TestGraph {
 public:
  Endpoint Const(int32_t value);
  Endpoint Arg(int index, DType dtype);
  Node* Result(int index, Endpoint value);
  Endpoint Op(const std::string& op, const std::vector<Endpoint>& inputs, AttrMap attrs = {},
              const std::string& name = "");
  Node* OpNode(const std::string& op, const std::vector<Endpoint>& inputs, AttrMap attrs = {},
               const std::string& name = "");

  Graph graph;
};

// A step with everything that kernels may ask for.
struct TestStep {
  TestStep();
  ~TestStep();
  ResourceManager resources;
  ResourceManager step_resources;
  CancellationManager cancellation;
  std::unique_ptr<Rendezvous> rendezvous;
  StepContext context;
};

absl::StatusOr<std::vector<Tensor>> RunGraph(const Graph& graph, ExecutorKind kind,
                                             const std::vector<Tensor>& args);

}  // namespace tessera
