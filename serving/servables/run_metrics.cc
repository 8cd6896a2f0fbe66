#include "serving/servables/run_metrics.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"

namespace tessera::serving {
namespace {

double Bytes(absl::Span<const Tensor> tensors) {
  double bytes = 0;
  for (const Tensor& tensor : tensors) bytes += static_cast<double>(tensor.total_bytes());
  return bytes;
}

}  // namespace

class RunMetrics::MeteredCallable : public Callable {
 public:
  MeteredCallable(RunMetrics* metrics, std::shared_ptr<const Callable> callable)
      : metrics_(metrics), callable_(std::move(callable)) {}

  absl::Status Run(const RunOptions& options, absl::Span<const Tensor> feeds,
                   std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata) const override {
    metrics_->session_runs_->Increment();
    const absl::Time start = absl::Now();
    absl::Status status = callable_->Run(options, feeds, fetches, metadata);
    if (!status.ok()) return status;
    const double micros = absl::ToDoubleMicroseconds(absl::Now() - start);
    metrics_->graph_runs_->Increment();
    metrics_->run_time_->Increment(static_cast<int64_t>(micros));
    metrics_->run_times_->Record(micros);
    metrics_->input_bytes_->Record(Bytes(feeds));
    metrics_->output_bytes_->Record(Bytes(*fetches));
    return status;
  }
  const RunSignature& signature() const override { return callable_->signature(); }

 private:
  RunMetrics* const metrics_;
  const std::shared_ptr<const Callable> callable_;
};

RunMetrics::RunMetrics(MetricsRegistry* registry)
    : graph_runs_(&registry->AddCounter("/tensorflow/core/graph_runs", {})->Get({})),
      session_runs_(&registry->AddCounter("/tensorflow/core/direct_session_runs", {})->Get({})),
      run_time_(&registry->AddCounter("/tensorflow/core/graph_run_time_usecs", {})->Get({})),
      run_times_(&registry
                      ->AddHistogram("/tensorflow/core/graph_run_time_usecs_histogram", {},
                                     ExponentialBounds(1000, 2, 20))
                      ->Get({})),
      input_bytes_(&registry
                        ->AddHistogram("/tensorflow/core/graph_run_input_tensor_bytes", {},
                                       ExponentialBounds(1, 4, 14))
                        ->Get({})),
      output_bytes_(&registry
                         ->AddHistogram("/tensorflow/core/graph_run_output_tensor_bytes", {},
                                        ExponentialBounds(1, 4, 14))
                         ->Get({})),
      load_attempts_(registry->AddCounter("/tensorflow/cc/saved_model/load_attempt_count",
                                          {"model_path", "status"})),
      load_latency_(
          registry->AddCounter("/tensorflow/cc/saved_model/load_latency", {"model_path"})) {}

std::shared_ptr<const Callable> RunMetrics::Meter(std::shared_ptr<const Callable> callable) {
  return std::make_shared<MeteredCallable>(this, std::move(callable));
}

void RunMetrics::RecordLoad(absl::string_view directory, const absl::Status& status,
                            absl::Duration time) {
  load_attempts_->Get({directory, status.ok() ? "success" : "fail"}).Increment();
  if (status.ok()) load_latency_->Get({directory}).Increment(absl::ToInt64Microseconds(time));
}

}  // namespace tessera::serving
