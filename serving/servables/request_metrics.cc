#include "serving/servables/request_metrics.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serving/servables/request_stats.h"

namespace tessera::serving {
namespace {

using prometheus::MetricType;
using Samples = std::vector<MetricSample>;

// Appends the samples of a cell. `values` are those of the labels that all families share.
using AppendSamples = void (*)(const RequestCell& cell, const std::vector<std::string>& values,
                               Samples* samples);

std::vector<std::string> With(std::vector<std::string> values, absl::string_view last) {
  values.emplace_back(last);
  return values;
}

void AppendCounts(const RequestCell& cell, const std::vector<std::string>& values,
                  Samples* samples) {
  for (int i = 0; i < RequestCell::kNumCodes; ++i) {
    const auto code = static_cast<absl::StatusCode>(i);
    const int64_t count = cell.ended(code);
    if (count == 0 && code != absl::StatusCode::kOk) continue;
    samples->push_back({With(values, absl::StatusCodeToString(code)), static_cast<double>(count)});
  }
}

void AppendInFlight(const RequestCell& cell, const std::vector<std::string>& values,
                    Samples* samples) {
  samples->push_back({values, static_cast<double>(cell.in_flight())});
}

void AppendLatency(const RequestCell& cell, const std::vector<std::string>& values,
                   Samples* samples) {
  samples->push_back({.values = values, .histogram = cell.latency().Read()});
}

void AppendPhases(const RequestCell& cell, const std::vector<std::string>& values,
                  Samples* samples) {
  for (size_t i = 0; i < kPhaseNames.size(); ++i) {
    samples->push_back({.values = With(values, kPhaseNames[i]),
                        .histogram = cell.latency(static_cast<RequestPhase>(i)).Read()});
  }
}

struct RequestMetric {
  const char* name;
  MetricType type;
  const char* last_label;  // may be null
  AppendSamples append;
};

constexpr RequestMetric kMetrics[] = {
    {"request_count", MetricType::Counter, "status", AppendCounts},
    {"requests_in_flight", MetricType::Gauge, nullptr, AppendInFlight},
    {"request_latency", MetricType::Histogram, nullptr, AppendLatency},
    {"phase_latency", MetricType::Histogram, "phase", AppendPhases},
};

}  // namespace

std::vector<std::unique_ptr<MetricsRegistry::Collection>> CollectRequests(
    std::function<std::vector<ModelHandle>()> versions, MetricsRegistry* registry) {
  std::vector<std::unique_ptr<MetricsRegistry::Collection>> collections;
  for (const RequestMetric& metric : kMetrics) {
    std::vector<std::string> labels = {"model_name", "version", "method", "protocol"};
    if (metric.last_label != nullptr) labels.push_back(metric.last_label);
    collections.push_back(registry->Collect(
        absl::StrCat("/tessera/serving/", metric.name), metric.type, std::move(labels),
        [versions, append = metric.append] {
          Samples samples;
          for (const ModelHandle& version : versions()) {
            version->request_stats().ForEach(
                [&](absl::string_view method, absl::string_view protocol, const RequestCell& cell) {
                  append(cell,
                         {version.id().name, absl::StrCat(version.version()), std::string(method),
                          std::string(protocol)},
                         &samples);
                });
          }
          return samples;
        }));
  }
  return collections;
}

}  // namespace tessera::serving
