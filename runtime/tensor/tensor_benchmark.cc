// Measures the cost of outputs for a kernel: allocating, copying and destroying tensors.
#include "benchmark/benchmark.h"
#include "runtime/tensor/tensor.h"

namespace tessera {
namespace {

void BM_AllocateScalar(benchmark::State& state) {
  const Shape shape;
  for (auto _ : state) {
    auto t = Tensor::Allocate(DType::kFloat, shape);
    benchmark::DoNotOptimize(t);
  }
}
BENCHMARK(BM_AllocateScalar);

// The bytes are written as a kernel would, so that the page faults of large blocks are included.
void BM_AllocateAndFill(benchmark::State& state) {
  const Shape shape{state.range(0)};
  for (auto _ : state) {
    auto t = Tensor::Allocate(DType::kUint8, shape);
    std::memset(t->mutable_raw(), 1, t->size_bytes());
    benchmark::DoNotOptimize(t);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_AllocateAndFill)->RangeMultiplier(8)->Range(64, 64 << 20);

void BM_AllocateStringScalar(benchmark::State& state) {
  const Shape shape;
  for (auto _ : state) {
    auto t = Tensor::Allocate(DType::kString, shape);
    benchmark::DoNotOptimize(t);
  }
}
BENCHMARK(BM_AllocateStringScalar);

void BM_CopyTensor(benchmark::State& state) {
  const Tensor t = *Tensor::Allocate(DType::kFloat, {1, 224, 224, 3});
  for (auto _ : state) {
    Tensor copy = t;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(BM_CopyTensor);

void BM_CopyShape(benchmark::State& state) {
  const Shape shape{1, 224, 224, 3};
  for (auto _ : state) {
    Shape copy = shape;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(BM_CopyShape);

}  // namespace
}  // namespace tessera
