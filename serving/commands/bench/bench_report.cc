#include "serving/commands/bench/bench_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "serving/commands/bench/latency_histogram.h"
#include "serving/frontend/json/json_writer.h"

namespace tessera::serving {
namespace {

constexpr int kMaxBins = 16;
constexpr int kBarWidth = 50;

struct NamedLatency {
  const char* name;
  absl::Duration value;
};

std::vector<NamedLatency> Latencies(const WindowSummary& summary) {
  if (summary.latencies.empty()) return {};
  return {{"min", summary.latencies.front()},
          {"mean", summary.mean},
          {"p50", summary.p50},
          {"p90", summary.Percentile(90)},
          {"p99", summary.p99},
          {"p99.9", summary.p999},
          {"max", summary.max}};
}

std::string TensorText(const Tensor& tensor) {
  return absl::StrCat(DTypeName(tensor.dtype()), tensor.shape().ToString());
}

}  // namespace

int64_t RowsPerRequest(const std::map<std::string, Tensor>& inputs) {
  int64_t rows = -1;
  for (const auto& [name, tensor] : inputs) {
    if (tensor.rank() == 0 || (rows >= 0 && tensor.dim(0) != rows)) return 1;
    rows = tensor.dim(0);
  }
  return rows < 0 ? 1 : rows;
}

std::string BenchText(const BenchReport& report) {
  const WindowSummary& summary = report.summary;
  std::string text = absl::StrCat(
      report.subject, ", signature ", report.signature, "\n", "each request  ",
      absl::StrJoin(report.inputs, ", ",
                    [](std::string* out, const auto& input) {
                      absl::StrAppend(out, input.first, ": ", TensorText(input.second));
                    }),
      "\n");
  if (report.rate > 0) {
    absl::StrAppendFormat(&text, "load          %g requests/s, at random times\n", report.rate);
  } else {
    absl::StrAppendFormat(&text, "load          %d at a time\n", report.concurrency);
  }
  absl::StrAppendFormat(&text, "requests      %d in %.1f s, %d failed\n",
                        summary.right + summary.lost, absl::ToDoubleSeconds(summary.length),
                        summary.lost);
  const int64_t rows = RowsPerRequest(report.inputs);
  absl::StrAppendFormat(&text, "throughput    %.1f requests/s", summary.answers_per_second());
  if (rows > 1) {
    absl::StrAppendFormat(&text, ", %.1f rows/s", summary.answers_per_second() * rows);
  }
  absl::StrAppend(&text, "\nlatency       ",
                  absl::StrJoin(Latencies(summary), "  ",
                                [](std::string* out, const NamedLatency& latency) {
                                  absl::StrAppend(out, latency.name, " ",
                                                  LatencyText(latency.value));
                                }),
                  "\n\n", DrawLatencyBins(LatencyBins(summary.latencies, kMaxBins), kBarWidth));
  return text;
}

std::string BenchJson(const BenchReport& report) {
  const WindowSummary& summary = report.summary;
  std::string text;
  JsonWriter json(&text);
  const auto string = [&](absl::string_view key, absl::string_view value) {
    json.Key(key);
    json.String(value);
  };
  const auto number = [&](absl::string_view key, auto value) {
    json.Key(key);
    json.Number(value);
  };
  // What is beyond thousandths is noise.
  const auto fraction = [&](absl::string_view key, double value) {
    json.Key(key);
    json.Literal(absl::StrFormat("%.3f", value));
  };
  const auto micros = [&](absl::string_view key, absl::Duration value) {
    fraction(key, absl::ToDoubleMicroseconds(value));
  };
  json.StartObject();
  string("subject", report.subject);
  string("signature", report.signature);
  json.Key("inputs");
  json.StartObject();
  for (const auto& [name, tensor] : report.inputs) string(name, TensorText(tensor));
  json.EndObject();
  number("rows_per_request", RowsPerRequest(report.inputs));
  number("concurrency", report.concurrency);
  fraction("rate", report.rate);
  fraction("seconds", absl::ToDoubleSeconds(summary.length));
  number("requests", summary.right + summary.lost);
  number("failed", summary.lost);
  json.Key("failures");
  json.StartArray();
  for (const std::string& failure : report.failures) json.String(failure);
  json.EndArray();
  fraction("requests_per_second", summary.answers_per_second());
  fraction("rows_per_second", summary.answers_per_second() * RowsPerRequest(report.inputs));
  json.Key("latency_us");
  json.StartObject();
  for (const NamedLatency& latency : Latencies(summary)) micros(latency.name, latency.value);
  json.EndObject();
  json.Key("histogram");
  json.StartArray();
  for (const LatencyBin& bin : LatencyBins(summary.latencies, kMaxBins)) {
    json.StartObject();
    micros("from_us", bin.from);
    micros("to_us", bin.to);
    number("count", bin.count);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return text + "\n";
}

}  // namespace tessera::serving
