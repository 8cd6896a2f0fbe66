#include "serving/batching/batch_metrics.h"

#include "absl/strings/str_cat.h"

namespace tessera::serving {
namespace {

// tensorflow_model_server has this label with an empty value, too.
constexpr absl::string_view kThreadPool = "";

}  // namespace

BatchMetrics::BatchMetrics(MetricsRegistry* registry)
    : registry_(registry),
      runs_family_(
          registry->AddCounter("/tensorflow/serving/batching_session/wrapped_run_count", {})),
      queuing_family_(registry->AddHistogram("/tensorflow/serving/batching_session/queuing_latency",
                                             {"thread_pool_name"},
                                             ExponentialBounds(100, 1.2, 52))) {}

void BatchMetrics::AddCells() {
  runs_ = &runs_family_->Get({});
  queuing_latency_ = &queuing_family_->Get({kThreadPool});
  const std::vector<double> bounds = ExponentialBounds(1, 2, 14);
  auto add = [&](absl::string_view name, std::vector<std::string> labels) {
    return registry_->AddHistogram(absl::StrCat("/tensorflow/serving/batching_session/", name),
                                   std::move(labels), bounds);
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

}  // namespace tessera::serving
