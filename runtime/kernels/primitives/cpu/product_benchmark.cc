// Products and convolutions of ResNet-50 and BERT-base on one thread. The environment variable
// TESSERA_CPU selects the planner's choices; with TESSERA_CPU=avx2 everything is oneDNN's.
#include "benchmark/benchmark.h"
#include "runtime/base/logging.h"
#include "runtime/kernels/primitives/cpu/convolution.h"
#include "runtime/kernels/primitives/cpu/matmul.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"

namespace tessera {
namespace {

// Reports the operations per second of `flops` that each iteration computes.
void Report(benchmark::State& state, double flops) {
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate,
                                               benchmark::Counter::kIs1000);
}

// Arguments: m, n, k, strict.
void BM_MatMul(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const Numerics numerics = state.range(3) != 0 ? Numerics::kStrict : Numerics::kFast;
  const Tensor a = RandomTensor({m, k}, 1), b = RandomTensor({k, n}, 2);
  Tensor output = RandomTensor({m, n}, 3);
  StepContext step;
  KernelContext ctx(step, nullptr);
  PackedWeights packed;
  for (auto _ : state) {
    CHECK(ComputeMatMul(ctx, {.m = m, .n = n, .k = k}, PostOps(), a, b, nullptr, &packed, &output,
                        numerics)
              .ok());
  }
  Report(state, 2.0 * m * n * k);
}
BENCHMARK(BM_MatMul)
    ->ArgNames({"m", "n", "k", "strict"})
    ->ArgsProduct({{1, 4, 16, 128, 1024}, {768, 3072}, {768}, {0, 1}})
    ->ArgsProduct({{1, 4, 128, 1024}, {768}, {3072}, {0, 1}});

// Arguments: images, size, filter, input channels, output channels, strict.
void BM_Convolution(benchmark::State& state) {
  const int64_t size = state.range(1), filter = state.range(2), pad = filter / 2;
  const Numerics numerics = state.range(5) != 0 ? Numerics::kStrict : Numerics::kFast;
  const ConvolutionShape s{.batch = state.range(0),
                           .in_channels = state.range(3),
                           .out_channels = state.range(4),
                           .input = {size, size},
                           .filter = {filter, filter},
                           .output = {size, size},
                           .strides = {1, 1},
                           .dilations = {1, 1},
                           .pad_before = {pad, pad},
                           .pad_after = {pad, pad}};
  const Tensor input = RandomTensor({s.batch, size, size, s.in_channels}, 1);
  const Tensor weights = RandomTensor({filter, filter, s.in_channels, s.out_channels}, 2);
  Tensor output = RandomTensor({s.batch, size, size, s.out_channels}, 3);
  const PostOps post_ops{.activation = Activation::kRelu};
  StepContext step;
  KernelContext ctx(step, nullptr);
  PackedWeights packed;
  for (auto _ : state) {
    CHECK(Convolve(ctx, s, post_ops, input, weights, nullptr, &packed, &output, numerics).ok());
  }
  Report(state, FlopsOf(s));
}
void ResNet(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t images : {1, 8}) {
    for (const int64_t strict : {0, 1}) {
      for (int64_t size = 56, channels = 64; size >= 7; size /= 2, channels *= 2) {
        benchmark->Args({images, size, 3, channels, channels, strict});
        benchmark->Args({images, size, 1, channels, 4 * channels, strict});
        benchmark->Args({images, size, 1, 4 * channels, channels, strict});
      }
    }
  }
}
BENCHMARK(BM_Convolution)
    ->ArgNames({"images", "size", "filter", "in", "out", "strict"})
    ->Apply(ResNet);

}  // namespace
}  // namespace tessera

BENCHMARK_MAIN();
