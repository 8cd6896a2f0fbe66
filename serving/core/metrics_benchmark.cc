// Measures what metrics cost a request, here and with prometheus-cpp alone. Run it with
// --benchmark_enable_random_interleaving, and compare CPU times.
#include <benchmark/benchmark.h>

#include "serving/core/metrics.h"

namespace tessera::serving {
namespace {

// The metrics of both libraries.
struct Metrics {
  const std::vector<double> bounds = ExponentialBounds(10, 1.8, 33);
  MetricsRegistry registry;
  CounterFamily* const counters = registry.AddCounter("/c", {"model_name", "status"});
  Histogram& histogram = registry.AddHistogram("/h", {"model_name"}, bounds)->Get({"resnet"});
  prometheus::Registry library;
  prometheus::Family<prometheus::Counter>& library_counters =
      prometheus::BuildCounter().Name(":c").Register(library);
  prometheus::Histogram& library_histogram =
      prometheus::BuildHistogram().Name(":h").Register(library).Add({{"model_name", "resnet"}},
                                                                    bounds);

  static Metrics& Shared() {
    static auto* const metrics = new Metrics;
    return *metrics;
  }
};

double NextSample(double sample) { return sample < 1e5 ? sample * 1.3 : 100; }

void BM_Find(benchmark::State& state) {
  Metrics& metrics = Metrics::Shared();
  for (auto _ : state) benchmark::DoNotOptimize(&metrics.counters->Get({"resnet", "OK"}));
}
BENCHMARK(BM_Find)->ThreadRange(1, 4);

void BM_LibraryFind(benchmark::State& state) {
  Metrics& metrics = Metrics::Shared();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        &metrics.library_counters.Add({{"model_name", "resnet"}, {"status", "OK"}}));
  }
}
BENCHMARK(BM_LibraryFind)->ThreadRange(1, 4);

void BM_Record(benchmark::State& state) {
  Metrics& metrics = Metrics::Shared();
  double sample = 100;
  for (auto _ : state) metrics.histogram.Record(sample = NextSample(sample));
}
BENCHMARK(BM_Record)->ThreadRange(1, 4);

void BM_LibraryObserve(benchmark::State& state) {
  Metrics& metrics = Metrics::Shared();
  double sample = 100;
  for (auto _ : state) metrics.library_histogram.Observe(sample = NextSample(sample));
}
BENCHMARK(BM_LibraryObserve)->ThreadRange(1, 4);

}  // namespace
}  // namespace tessera::serving
