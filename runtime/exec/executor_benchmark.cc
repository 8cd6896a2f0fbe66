// What an executor costs a node: chains of nodes that do nothing.
#include "benchmark/benchmark.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/testing/executor_test_ops.h"

namespace tessera {
namespace {

void RunRepeatedly(benchmark::State& state, const Graph& graph, ExecutorKind kind, int num_nodes) {
  CompileOptions options;
  options.kind = kind;
  const std::unique_ptr<Executor> executor = Compile(graph, options).value();
  const std::vector<Tensor> args = {Tensor::Scalar<int32_t>(1)};
  std::vector<Tensor> results;
  for (auto _ : state) {
    TestStep step;
    RunArgs run;
    run.args = args;
    run.results = &results;
    if (!executor->Run(step.context, run).ok()) state.SkipWithError("the run failed");
  }
  state.SetItemsProcessed(state.iterations() * num_nodes);
}

// Identity after Identity.
void BM_Chain(benchmark::State& state, ExecutorKind kind) {
  const int n = static_cast<int>(state.range(0));
  TestGraph g;
  Endpoint x = g.Arg(0, DType::kInt32);
  for (int i = 0; i < n; ++i) x = g.Op("Identity", {x}, {{"T", DType::kInt32}});
  g.Result(0, x);
  RunRepeatedly(state, g.graph, kind, n);
}
BENCHMARK_CAPTURE(BM_Chain, straight, ExecutorKind::kStraightThrough)->Arg(1)->Arg(100)->Arg(2000);
BENCHMARK_CAPTURE(BM_Chain, dataflow, ExecutorKind::kDataflow)->Arg(1)->Arg(100)->Arg(2000);

// One value that many nodes read.
void BM_Fan(benchmark::State& state, ExecutorKind kind) {
  const int n = static_cast<int>(state.range(0));
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  for (int i = 0; i < n; ++i) g.Op("Identity", {x}, {{"T", DType::kInt32}});
  g.Result(0, x);
  RunRepeatedly(state, g.graph, kind, n);
}
BENCHMARK_CAPTURE(BM_Fan, straight, ExecutorKind::kStraightThrough)->Arg(100);
BENCHMARK_CAPTURE(BM_Fan, dataflow, ExecutorKind::kDataflow)->Arg(100);

}  // namespace
}  // namespace tessera

BENCHMARK_MAIN();
