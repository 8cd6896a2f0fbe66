// What elementwise kernels cost: the fixed part on scalars, and the loops on arrays.
#include "benchmark/benchmark.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

Tensor Ones(DType dtype, const Shape& shape) {
  Tensor t = Tensor::Zeros(dtype, shape).value();
  if (dtype == DType::kFloat) {
    for (float& x : t.flat<float>()) x = 1;
  }
  return t;
}

void RunBinary(benchmark::State& state, const char* op, const Shape& x, const Shape& y,
               DType dtype = DType::kFloat) {
  std::vector<Value> inputs = {{Ones(dtype, x), nullptr}, {Ones(dtype, y), nullptr}};
  const Tensor held[] = {inputs[0].tensor, inputs[1].tensor};  // nothing is done in place
  KernelRunner runner = KernelRunner::Create(op, held).value();
  for (auto _ : state) {
    benchmark::DoNotOptimize(runner.RunInPlace(absl::MakeSpan(inputs)));
  }
  state.SetItemsProcessed(state.iterations() * runner.outputs()[0].tensor.num_elements());
}

void BM_AddScalars(benchmark::State& state) { RunBinary(state, "AddV2", {}, {}); }
BENCHMARK(BM_AddScalars);

void BM_AddSameShape(benchmark::State& state) {
  RunBinary(state, "AddV2", {state.range(0)}, {state.range(0)});
}
BENCHMARK(BM_AddSameShape)->Arg(64)->Arg(4096)->Arg(1 << 20);

void BM_AddScalarToArray(benchmark::State& state) {
  RunBinary(state, "AddV2", {state.range(0)}, {});
}
BENCHMARK(BM_AddScalarToArray)->Arg(4096);

void BM_AddRow(benchmark::State& state) {
  RunBinary(state, "AddV2", {4096 / state.range(0), state.range(0)}, {state.range(0)});
}
BENCHMARK(BM_AddRow)->Arg(3)->Arg(32)->Arg(512);

void BM_AddColumn(benchmark::State& state) {
  RunBinary(state, "AddV2", {4096 / state.range(0), state.range(0)}, {4096 / state.range(0), 1});
}
BENCHMARK(BM_AddColumn)->Arg(3)->Arg(32)->Arg(512);

void BM_AddHalf(benchmark::State& state) {
  RunBinary(state, "AddV2", {4096}, {4096}, DType::kHalf);
}
BENCHMARK(BM_AddHalf);

void BM_MaximumInts(benchmark::State& state) {
  RunBinary(state, "Maximum", {4096}, {4096}, DType::kInt32);
}
BENCHMARK(BM_MaximumInts);

void BM_Unary(benchmark::State& state, const char* op) {
  std::vector<Value> inputs = {{Ones(DType::kFloat, {4096}), nullptr}};
  const Tensor held = inputs[0].tensor;
  KernelRunner runner = KernelRunner::Create(op, {held}).value();
  for (auto _ : state) {
    benchmark::DoNotOptimize(runner.RunInPlace(absl::MakeSpan(inputs)));
  }
  state.SetItemsProcessed(state.iterations() * 4096);
}
BENCHMARK_CAPTURE(BM_Unary, relu, "Relu");
BENCHMARK_CAPTURE(BM_Unary, exp, "Exp");
BENCHMARK_CAPTURE(BM_Unary, tanh, "Tanh");
BENCHMARK_CAPTURE(BM_Unary, sigmoid, "Sigmoid");
BENCHMARK_CAPTURE(BM_Unary, erf, "Erf");
BENCHMARK_CAPTURE(BM_Unary, rsqrt, "Rsqrt");

}  // namespace
}  // namespace tessera

BENCHMARK_MAIN();
