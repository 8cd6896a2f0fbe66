// How long it takes to bring a graph of 10,000 nodes into memory, and to cut it down.
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "runtime/graph/graph_export.h"
#include "runtime/graph/graph_import.h"
#include "runtime/graph/prune.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

constexpr int kNumNodes = 10000;

// A chain of layers: constants, products, biases, activations.
tensorflow::GraphDef LayeredGraph() {
  Graph graph;
  Node* previous = graph.AddNode("x", "Placeholder", {{"dtype", DType::kFloat}}).value();
  for (int i = 0; i < kNumNodes / 4; ++i) {
    const std::string scope = absl::StrCat("model/layer_", i, "/");
    const AttrMap t = {{"T", DType::kFloat}};
    Node* weights =
        graph
            .AddNode(scope + "kernel", "Const",
                     {{"dtype", DType::kFloat}, {"value", Tensor::Of<float>({2, 2}, {1, 2, 3, 4})}})
            .value();
    Node* product =
        graph.AddNode(scope + "MatMul", "MatMul", t, {{previous, 0}, {weights, 0}}).value();
    Node* sum = graph.AddNode(scope + "add", "AddV2", t, {{product, 0}, {weights, 0}}).value();
    previous = graph.AddNode(scope + "Relu", "Relu", t, {{sum, 0}}).value();
  }
  tensorflow::GraphDef graph_def;
  ExportGraph(graph, &graph_def);
  return graph_def;
}

void BM_ImportGraph(benchmark::State& state) {
  const tensorflow::GraphDef graph_def = LayeredGraph();
  for (auto _ : state) benchmark::DoNotOptimize(ImportGraph(graph_def));
  state.SetItemsProcessed(state.iterations() * kNumNodes);
}
BENCHMARK(BM_ImportGraph)->Unit(benchmark::kMillisecond);

void BM_Prune(benchmark::State& state) {
  const auto graph = ImportGraph(LayeredGraph()).value();
  const RunSignature signature = {
      .feeds = {"x"}, .fetches = {absl::StrCat("model/layer_", kNumNodes / 4 - 1, "/Relu")}};
  for (auto _ : state) benchmark::DoNotOptimize(Prune(*graph, signature));
  state.SetItemsProcessed(state.iterations() * kNumNodes);
}
BENCHMARK(BM_Prune)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera
