// Measures how fast numbers are read and written as JSON, in bytes of text a second.
#include <cstdio>
#include <random>
#include <string>

#include "benchmark/benchmark.h"
#include "serving/frontend/json/json_numeric_body.h"
#include "serving/frontend/json/json_predict_request.h"
#include "serving/frontend/json/json_response.h"

namespace tessera::serving {
namespace {

constexpr size_t kBytes = 1 << 20;

// Returns about 1 MB of rows of eight numbers, printed with `format`.
std::string Body(const char* format) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> value(-1, 1);
  std::string json = "{\"instances\": [";
  char text[64];
  for (int row = 0; json.size() < kBytes; ++row) {
    json += row == 0 ? "[" : ", [";
    for (int i = 0; i < 8; ++i) {
      std::snprintf(text, sizeof(text), format, value(random));
      if (i > 0) json += ", ";
      json += text;
    }
    json += "]";
  }
  return json + "]}";
}

const char* const kFormats[] = {"%.17g", "%.9g", "%.2f", "%.0f"};

template <absl::Status (*kDecode)(absl::string_view, FindInputTypes, PredictBody*)>
void BM_Decode(benchmark::State& state) {
  const std::string json = Body(kFormats[state.range(0)]);
  const InputType type = {"x", DType::kFloat};
  const auto find = [&](absl::string_view) -> absl::StatusOr<absl::Span<const InputType>> {
    return absl::MakeConstSpan(&type, 1);
  };
  for (auto _ : state) {
    PredictBody body;
    if (!kDecode(json, find, &body).ok()) state.SkipWithError("not decoded");
    benchmark::DoNotOptimize(body);
  }
  state.SetBytesProcessed(state.iterations() * json.size());
  state.SetLabel(kFormats[state.range(0)]);
}
BENCHMARK(BM_Decode<DecodePredictBody>)->DenseRange(0, 3);
BENCHMARK(BM_Decode<DecodePredictBodyByDocument>)->DenseRange(0, 3);

template <typename T>
void BM_Encode(benchmark::State& state) {
  constexpr int kValues = 100'000;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<T> values(kValues);
  for (T& v : values) v = static_cast<T>(value(random) * 1000);
  const NamedOutput output{"y", Tensor::Of<T>({kValues / 8, 8}, values)};
  size_t size = 0;
  for (auto _ : state) {
    std::string text;
    if (!AppendPredictResponse(PredictLayout::kRow, absl::MakeConstSpan(&output, 1), &text).ok()) {
      state.SkipWithError("not encoded");
    }
    size = text.size();
    benchmark::DoNotOptimize(text);
  }
  state.SetBytesProcessed(state.iterations() * size);
  state.SetItemsProcessed(state.iterations() * kValues);
}
BENCHMARK(BM_Encode<float>);
BENCHMARK(BM_Encode<double>);
BENCHMARK(BM_Encode<int32_t>);

}  // namespace
}  // namespace tessera::serving

BENCHMARK_MAIN();
