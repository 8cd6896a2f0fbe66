// What splitting a loop costs, and when it pays.
#include <vector>

#include "benchmark/benchmark.h"
#include "runtime/base/thread_pool.h"

namespace tessera {
namespace {

// Doubles the first `n` floats; about a fifth of a nanosecond each.
void RunLoop(benchmark::State& state, double cost_per_item) {
  ThreadPool pool({});
  std::vector<float> values(static_cast<size_t>(state.range(0)), 1.0f);
  for (auto _ : state) {
    pool.ParallelFor(state.range(0), cost_per_item, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[i] *= 1.0001f;
    });
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_LoopOnCaller(benchmark::State& state) { RunLoop(state, 0); }
BENCHMARK(BM_LoopOnCaller)->RangeMultiplier(8)->Range(64, 16 << 20)->UseRealTime();

void BM_LoopWithItsCost(benchmark::State& state) { RunLoop(state, 0.2); }
BENCHMARK(BM_LoopWithItsCost)->RangeMultiplier(8)->Range(64, 16 << 20)->UseRealTime();

// A loop that is always split: the price of waking the others.
void BM_LoopAlwaysSplit(benchmark::State& state) { RunLoop(state, 1e6); }
BENCHMARK(BM_LoopAlwaysSplit)->RangeMultiplier(8)->Range(64, 16 << 20)->UseRealTime();

}  // namespace
}  // namespace tessera
