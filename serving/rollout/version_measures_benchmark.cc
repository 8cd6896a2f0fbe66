// What a request costs that is measured or mirrored.
#include <benchmark/benchmark.h>

#include <vector>

#include "absl/time/clock.h"
#include "serving/rollout/version_measures.h"

namespace tessera::serving {
namespace {

std::vector<NamedOutput> Answer(int64_t elements) {
  return {{"y", Tensor::Zeros(DType::kFloat, {1, elements}).value()}};
}

VersionMeasurer& Measurer() {
  static VersionMeasurer measurer(absl::Seconds(60), "");
  return measurer;
}

// Argument: the floats of the answer.
void BM_Record(benchmark::State& state) {
  const std::vector<NamedOutput> outputs = Answer(state.range(0));
  for (auto _ : state) {
    Measurer().Record(absl::Now(), absl::OkStatus(), absl::Microseconds(70), outputs);
  }
}
BENCHMARK(BM_Record)->Arg(0)->Arg(10)->Arg(1000)->Arg(1 << 16)->Arg(1 << 20);
BENCHMARK(BM_Record)->Arg(10)->Threads(2)->Threads(4);

void BM_Measures(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Measurer().Measures(absl::Now()));
}
BENCHMARK(BM_Measures);

void BM_Excerpt(benchmark::State& state) {
  const std::vector<NamedOutput> outputs = Answer(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(ExcerptOf(outputs, ""));
}
BENCHMARK(BM_Excerpt)->Arg(10)->Arg(1000)->Arg(1 << 20);

void BM_Compare(benchmark::State& state) {
  const std::vector<NamedOutput> outputs = Answer(state.range(0));
  const AnswerExcerpt live = ExcerptOf(outputs, "");
  for (auto _ : state) {
    Measurer().RecordComparison(absl::Now(), live, absl::OkStatus(), outputs);
  }
}
BENCHMARK(BM_Compare)->Arg(10)->Arg(1000)->Arg(1 << 20);

}  // namespace
}  // namespace tessera::serving
