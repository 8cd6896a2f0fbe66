// Products and convolutions of ResNet-50 and BERT-base on one thread, and the throughputs in the
// table of machine_speeds.h, all but amx_flops and shared_sum_nanoseconds. The environment variable
// TESSERA_CPU selects the planner's choices.
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "benchmark/benchmark.h"
#include "runtime/base/logging.h"
#include "runtime/kernels/primitives/byte_gemm.h"
#include "runtime/kernels/primitives/cpu/depthwise_convolution.h"
#include "runtime/kernels/primitives/cpu/fma_micro_kernel.h"
#include "runtime/kernels/primitives/cpu/gemv.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"
#include "runtime/kernels/primitives/cpu/scaled_weights.h"
#include "runtime/kernels/primitives/cpu/testing/kernel_product.h"
#include "runtime/kernels/primitives/cpu/testing/reference_product.h"
#include "runtime/kernels/primitives/cpu/winograd_transform.h"

namespace tessera {
namespace {

// Reports the operations per second of `flops` that each iteration computes.
void Report(benchmark::State& state, double flops) {
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate,
                                               benchmark::Counter::kIs1000);
}

// Times a product with constant weights, m x k by k x n.
void TimeMatMul(benchmark::State& state, int64_t m, int64_t n, int64_t k, Numerics numerics) {
  const Tensor a = RandomTensor({m, k}, 1), b = RandomTensor({k, n}, 2);
  Tensor output = RandomTensor({m, n}, 3);
  KernelProduct product(b, {.is_constant = true, .numerics = numerics});
  const auto run = [&] {
    CHECK(product.Run({.m = m, .n = n, .k = k}, PostOps(), a, {}, &output).ok());
  };
  run();  // packs the weights
  for (auto _ : state) run();
}

// The arguments are m, n, k and strict.
void BM_MatMul(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  TimeMatMul(state, m, n, k, state.range(3) != 0 ? Numerics::kStrict : Numerics::kFast);
  Report(state, 2.0 * m * n * k);
}
BENCHMARK(BM_MatMul)
    ->ArgNames({"m", "n", "k", "strict"})
    ->ArgsProduct({{1, 4, 16, 128, 1024}, {768, 3072}, {768}, {0, 1}})
    ->ArgsProduct({{1, 4, 128, 1024}, {768}, {3072}, {0, 1}});

// The arguments are images, size, filter, input channels, output channels and strict.
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
  KernelConvolution convolution(weights, {.is_constant = true, .numerics = numerics});
  const auto run = [&] { CHECK(convolution.Run(s, post_ops, input, {}, &output).ok()); };
  run();  // packs the filter
  for (auto _ : state) run();
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

// Reports the throughput, `per_iteration` units an iteration, beside the table's number.
void Compare(benchmark::State& state, double per_iteration, double in_table) {
  state.counters["per_second"] =
      benchmark::Counter(per_iteration, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["table"] = in_table * 1e9;
}

// Measures fma_flops, with weights that stay in the second-level cache.
void BM_FmaFlops(benchmark::State& state) {
  constexpr int64_t kRows = 10 * gemm::kFmaRows, kSize = 256;
  TimeMatMul(state, kRows, kSize, kSize, Numerics::kFast);
  Compare(state, 2.0 * kRows * kSize * kSize, SpeedsForCpu().fma_flops);
}
BENCHMARK(BM_FmaFlops);

// Measures depthwise_flops, with images of 56 x 56 points and 128 channels.
void BM_DepthwiseFlops(benchmark::State& state) {
  const ConvolutionShape s{.batch = 1,
                           .in_channels = 128,
                           .out_channels = 128,
                           .groups = 128,
                           .input = {56, 56},
                           .filter = {3, 3},
                           .output = {56, 56},
                           .strides = {1, 1},
                           .dilations = {1, 1},
                           .pad_before = {1, 1},
                           .pad_after = {1, 1}};
  const Tensor input = RandomTensor({1, 56, 56, 128}, 1), filter = RandomTensor({3, 3, 128}, 2);
  Tensor output = RandomTensor({1, 56, 56, 128}, 3);
  StepContext step;
  KernelContext ctx(step, nullptr);
  for (auto _ : state) {
    CHECK(ConvolveDepthwise(ctx, s, PostOps(), input.data<float>(), filter.data<float>(), nullptr,
                            output.data<float>())
              .ok());
  }
  Compare(state, FlopsOf(s), SpeedsForCpu().depthwise_flops);
}
BENCHMARK(BM_DepthwiseFlops);

// Measures gemv_bytes, with weights that no cache holds. They lie in small pages, as those in a
// mapped file do: memory of the heap would have huge ones.
void BM_GemvBytes(benchmark::State& state) {
  constexpr int64_t kColumns = 4096, kDepth = 16384;
  const Tensor a = RandomTensor({1, kDepth}, 1), weights = RandomTensor({kDepth, kColumns}, 2);
  const size_t size = weights.size_bytes();
  void* const map =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(map != MAP_FAILED && ::madvise(map, size, MADV_NOHUGEPAGE) == 0);
  std::memcpy(map, weights.raw(), size);
  Tensor output = RandomTensor({1, kColumns}, 3);
  StepContext step;
  KernelContext ctx(step, nullptr);
  for (auto _ : state) {
    CHECK(Gemv(ctx, 1, kColumns, kDepth, /*transpose_b=*/false, PostOps(), a.data<float>(),
               static_cast<const float*>(map), nullptr, output.data<float>())
              .ok());
  }
  ::munmap(map, size);
  Compare(state, sizeof(float) * kColumns * kDepth, SpeedsForCpu().gemv_bytes);
}
BENCHMARK(BM_GemvBytes);

// Multiplies m rows by packed weights that no cache holds, and reports the bytes of these.
void TimePackedWeights(benchmark::State& state, int64_t m, double in_table) {
  constexpr int64_t kColumns = 4096, kDepth = 8192;
  TimeMatMul(state, m, kColumns, kDepth, Numerics::kStrict);
  Compare(state, sizeof(float) * kColumns * kDepth, in_table);
}

// packed_gemv_bytes: one row, as gemv_bytes.
void BM_PackedGemvBytes(benchmark::State& state) {
  TimePackedWeights(state, 1, SpeedsForCpu().packed_gemv_bytes);
}
BENCHMARK(BM_PackedGemvBytes);

// weight_bytes: so few rows that the products take less time than their weights.
void BM_WeightBytes(benchmark::State& state) {
  TimePackedWeights(state, 5, SpeedsForCpu().weight_bytes);
}
BENCHMARK(BM_WeightBytes);

// tile_bytes: transforms of 4 x 4 outputs for an image of 28 x 28 points and 128 channels, between
// which products would be made.
void BM_TileBytes(benchmark::State& state) {
  constexpr int64_t kSize = 28, kChannels = 128, kTiles = (kSize / 4) * (kSize / 4);
  constexpr int64_t kPointStride = kTiles * kChannels + 16;
  const winograd::Transforms& transforms = winograd::TransformsForCpu(4);
  const int64_t points = transforms.points();
  const Tensor input = RandomTensor({kSize + 2, kSize + 2, kChannels}, 1);
  Tensor output = RandomTensor({kSize, kSize, kChannels}, 2);
  Tensor tiles = RandomTensor({points, kPointStride}, 3);
  const Tensor products = RandomTensor({points, kPointStride}, 4);
  const Epilogue epilogue = ClampEpilogue(PostOps(), nullptr);
  for (auto _ : state) {
    for (int64_t tile = 0; tile < kTiles; ++tile) {
      const int64_t row = tile / (kSize / 4) * 4, column = tile % (kSize / 4) * 4;
      const float* from[winograd::kMaxPoints];
      for (int64_t p = 0; p < points; ++p) {
        from[p] = input.data<float>() + ((row + p / 6) * (kSize + 2) + column + p % 6) * kChannels;
      }
      transforms.input(from, kChannels, kPointStride, tiles.data<float>() + tile * kChannels);
    }
    for (int64_t tile = 0; tile < kTiles; ++tile) {
      const int64_t row = tile / (kSize / 4) * 4, column = tile % (kSize / 4) * 4;
      float* to[winograd::kMaxPoints];
      for (int64_t i = 0; i < 16; ++i) {
        to[i] = output.data<float>() + ((row + i / 4) * kSize + column + i % 4) * kChannels;
      }
      CHECK(transforms.output(products.data<float>() + tile * kChannels, kPointStride, kChannels,
                              epilogue, to));
    }
  }
  Compare(state, sizeof(float) * points * 2 * kChannels * kTiles, SpeedsForCpu().tile_bytes);
}
BENCHMARK(BM_TileBytes);

// scaled_floats: a filter of ResNet-50, into memory that is fresh in each iteration.
void BM_ScaledFloats(benchmark::State& state) {
  const Tensor values = RandomTensor({3, 3, 512, 512}, 1);
  const Tensor scale = Tensor::Zeros(DType::kDouble, {512}).value();
  StepContext step;
  KernelContext ctx(step, nullptr);
  for (auto _ : state) CHECK(ApplyScale(ctx, {values, &scale}, WeightsAllocator()).ok());
  Compare(state, values.num_elements(), SpeedsForCpu().scaled_floats);
}
BENCHMARK(BM_ScaledFloats);

// byte_products: weights that stay in the second-level cache.
void BM_ByteProducts(benchmark::State& state) {
  constexpr int64_t kRows = 24, kSize = 512;
  const std::vector<uint8_t> a(kRows * kSize, 3);
  const std::vector<int8_t> b(kSize * kSize, 5);
  std::vector<int8_t> room(ByteMatrix::PackedSize(kSize, kSize));
  const ByteMatrix matrix = ByteMatrix::Pack(b.data(), kSize, kSize, kSize, 1, room.data());
  std::vector<int32_t> sums(kRows * kSize);
  for (auto _ : state) {
    matrix.Multiply(a.data(), kRows, sums.data(), kSize);
    benchmark::DoNotOptimize(sums.data());
  }
  Compare(state, kRows * kSize * kSize, SpeedsForCpu().byte_products);
}
BENCHMARK(BM_ByteProducts);

// Measures packed_floats, with weights of BERT-base.
void BM_PackedFloats(benchmark::State& state) {
  constexpr int64_t kColumns = 3072, kDepth = 768;
  const gemm::MicroKernel& kernel = gemm::FmaMicroKernel();
  const Tensor b = RandomTensor({kDepth, kColumns}, 1);
  std::vector<char> packed(kernel.PackedSize(1, kDepth, kColumns));
  const gemm::Weights weights{
      .data = b.data<float>(), .depth = kDepth, .columns = kColumns, .row_stride = kColumns};
  for (auto _ : state) {
    CHECK(kernel.Pack(weights, 0, gemm::Blocks(kColumns), packed.data()));
  }
  Compare(state, kColumns * kDepth, SpeedsForCpu().packed_floats);
}
BENCHMARK(BM_PackedFloats);

}  // namespace
}  // namespace tessera

BENCHMARK_MAIN();
