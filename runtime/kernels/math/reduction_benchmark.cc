// Reductions over rows, columns and everything.
#include "benchmark/benchmark.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

void BM_Reduce(benchmark::State& state, const char* op, const Shape& shape,
               std::vector<int32_t> axes) {
  const Tensor x = Tensor::Zeros(DType::kFloat, shape).value();
  const Tensor axis = Tensor::Vector<int32_t>(axes);
  std::vector<Value> inputs = {{x, nullptr}, {axis, nullptr}};
  KernelRunner runner = KernelRunner::Create(op, {x, axis}).value();
  for (auto _ : state) {
    benchmark::DoNotOptimize(runner.RunInPlace(absl::MakeSpan(inputs)));
  }
  state.SetItemsProcessed(state.iterations() * shape.num_elements());
}
const std::vector<int32_t> kFirst = {0}, kLast = {1}, kBoth = {0, 1}, kSpace = {1, 2};
BENCHMARK_CAPTURE(BM_Reduce, tiny, "Sum", {3, 1}, kFirst);
BENCHMARK_CAPTURE(BM_Reduce, sum_rows, "Sum", {64, 256}, kLast);
BENCHMARK_CAPTURE(BM_Reduce, sum_columns, "Sum", {64, 256}, kFirst);
BENCHMARK_CAPTURE(BM_Reduce, sum_all, "Sum", {256, 1024}, kBoth);
BENCHMARK_CAPTURE(BM_Reduce, max_rows, "Max", {64, 256}, kLast);
BENCHMARK_CAPTURE(BM_Reduce, max_columns, "Max", {64, 256}, kFirst);
BENCHMARK_CAPTURE(BM_Reduce, global_average_pool, "Mean", {4, 7, 7, 512}, kSpace);
BENCHMARK_CAPTURE(BM_Reduce, few_channels, "Mean", {4, 64, 64, 3}, kSpace);

}  // namespace
}  // namespace tessera

BENCHMARK_MAIN();
