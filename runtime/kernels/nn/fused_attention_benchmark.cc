// Attention of a few texts, in the layout of Keras: [batch, tokens, heads, features].
#include "benchmark/benchmark.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

void BM_Attention(benchmark::State& state, int64_t batch, int64_t heads, int64_t queries,
                  int64_t keys, int64_t features) {
  const Tensor query = RandomTensor({batch, queries, heads, features}, 1);
  const Tensor key = RandomTensor({batch, keys, heads, features}, 2);
  Tensor mask = Tensor::Zeros(DType::kFloat, {batch, 1, 1, keys}).value();
  for (int64_t i = 0; i < keys / 4; ++i) mask.flat<float>()[i] = -10000;
  std::vector<Value> inputs = {{query, nullptr}, {key, nullptr}, {key, nullptr}, {mask, nullptr}};
  KernelRunner runner =
      KernelRunner::Create("_Attention", {query, key, key, mask},
                           {{"num_masks", int64_t{1}},
                            {"num_keeps", int64_t{0}},
                            {"scale", 0.125f},
                            {"heads_first", std::vector<bool>{false, false, false, false}}})
          .value();
  for (auto _ : state) {
    benchmark::DoNotOptimize(runner.RunInPlace(absl::MakeSpan(inputs)));
  }
  state.counters["flops"] =
      benchmark::Counter(4.0 * batch * heads * queries * keys * features * state.iterations(),
                         benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(BM_Attention, bert_base_8, 8, 12, 128, 128, 64);
BENCHMARK_CAPTURE(BM_Attention, bert_base_1, 1, 12, 128, 128, 64);
BENCHMARK_CAPTURE(BM_Attention, odd, 1, 12, 77, 93, 40);
BENCHMARK_CAPTURE(BM_Attention, small_heads, 2, 4, 60, 60, 16);
BENCHMARK_CAPTURE(BM_Attention, tiny, 1, 2, 8, 8, 8);
BENCHMARK_CAPTURE(BM_Attention, one_query, 1, 12, 1, 256, 64);
BENCHMARK_CAPTURE(BM_Attention, four_queries, 1, 12, 4, 256, 64);
BENCHMARK_CAPTURE(BM_Attention, long_text, 1, 12, 1024, 1024, 64);
BENCHMARK_CAPTURE(BM_Attention, large_heads, 1, 4, 128, 128, 192);

}  // namespace
}  // namespace tessera

BENCHMARK_MAIN();
