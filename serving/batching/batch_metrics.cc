#include "serving/batching/batch_metrics.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tessera::serving {
namespace {

// tensorflow_model_server has this label with an empty value, too.
constexpr absl::string_view kThreadPool = "";

const std::vector<double>& SizeBounds() {
  static const auto* const bounds = new std::vector<double>(ExponentialBounds(1, 2, 14));
  return *bounds;
}

}  // namespace

BatchMetrics::BatchMetrics(MetricsRegistry* registry)
    : registry_(registry),
      runs_family_(
          registry->AddCounter("/tensorflow/serving/batching_session/wrapped_run_count", {})),
      queuing_family_(registry->AddHistogram("/tensorflow/serving/batching_session/queuing_latency",
                                             {"thread_pool_name"},
                                             ExponentialBounds(100, 1.2, 52))) {
  Collect("batch_size", prometheus::MetricType::Histogram, [](const VersionBatchMetrics& version) {
    return MetricSample{.histogram = version.sizes_.Read()};
  });
  Collect("queue_length", prometheus::MetricType::Gauge, [](const VersionBatchMetrics& version) {
    return MetricSample{.value = static_cast<double>(version.waiting_.load())};
  });
  Collect("queue_rejections", prometheus::MetricType::Counter,
          [](const VersionBatchMetrics& version) {
            return MetricSample{.value = static_cast<double>(version.refused_.load())};
          });
  Collect("preferred_batch_size", prometheus::MetricType::Gauge,
          [](const VersionBatchMetrics& version) {
            return MetricSample{.value = static_cast<double>(version.preferred_rows_.load())};
          });
}

void BatchMetrics::Collect(absl::string_view name, prometheus::MetricType type,
                           SampleOf sample_of) {
  auto collect = [this, sample_of = std::move(sample_of)] {
    std::vector<MetricSample> samples;
    absl::MutexLock lock(&mu_);
    for (const auto& [id, version] : versions_) {
      samples.push_back(sample_of(*version));
      samples.back().values = {id.name, absl::StrCat(id.version)};
    }
    return samples;
  };
  collections_.push_back(registry_->Collect(absl::StrCat("/tessera/serving/", name), type,
                                            {"model_name", "version"}, std::move(collect)));
}

void BatchMetrics::AddCells() {
  runs_ = &runs_family_->Get({});
  queuing_latency_ = &queuing_family_->Get({kThreadPool});
  auto add = [&](absl::string_view name, std::vector<std::string> labels) {
    return registry_->AddHistogram(absl::StrCat("/tensorflow/serving/batching_session/", name),
                                   std::move(labels), SizeBounds());
  };
  input_sizes_ = &add("input_batch_size", {})->Get({});
  processed_sizes_ = &add("processed_batch_size", {})->Get({});
  padding_sizes_ = add("padding_size", {"execution_batch_size"});
}

void BatchMetrics::RecordQueued(absl::Duration time) {
  EnsureCells();
  queuing_latency_->Record(absl::ToDoubleMicroseconds(time));
}

void BatchMetrics::RecordInput(int64_t rows) {
  EnsureCells();
  input_sizes_->Record(static_cast<double>(rows));
}

void BatchMetrics::RecordRun(int64_t rows, int64_t padding) {
  EnsureCells();
  runs_->Increment();
  processed_sizes_->Record(static_cast<double>(rows));
  padding_sizes_->Get({absl::StrCat(rows)}).Record(static_cast<double>(padding));
}

VersionBatchMetrics::VersionBatchMetrics(const ServableId& id, BatchMetrics* all)
    : id_(id), all_(*all), sizes_(SizeBounds()) {
  absl::MutexLock lock(&all_.mu_);
  all_.versions_[id_] = this;
}

VersionBatchMetrics::~VersionBatchMetrics() {
  absl::MutexLock lock(&all_.mu_);
  const auto shown = all_.versions_.find(id_);
  if (shown != all_.versions_.end() && shown->second == this) all_.versions_.erase(shown);
}

void VersionBatchMetrics::RecordRun(int64_t rows, int64_t padding) {
  all_.RecordRun(rows, padding);
  RecordLoneRun(rows);
}

}  // namespace tessera::serving
