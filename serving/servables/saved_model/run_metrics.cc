#include "serving/servables/saved_model/run_metrics.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "serving/servables/saved_model/upstream_metrics.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

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
      load_attempts_(registry->AddPassingCounter("/tensorflow/cc/saved_model/load_attempt_count",
                                                 {"model_path", "status"})),
      load_latency_(
          registry->AddPassingCounter("/tensorflow/cc/saved_model/load_latency", {"model_path"})),
      load_stages_(registry->AddPassingHistogram("/tensorflow/cc/saved_model/load_latency_by_stage",
                                                 {"model_path", "stage"},
                                                 ExponentialBounds(10, 1.8, 37))),
      own_load_stages_(registry->AddHistogram("/tessera/serving/load_latency_by_stage", {"stage"},
                                              ExponentialBounds(10, 1.8, 37))),
      graph_builds_(&registry->AddCounter("/tensorflow/core/graph_build_calls", {})->Get({})),
      graph_build_time_(
          &registry->AddCounter("/tensorflow/core/graph_build_time_usecs", {})->Get({})),
      reads_(registry->AddCounter("/tensorflow/core/saved_model/read/api", {"api_label"})),
      reads_by_version_(
          registry->AddCounter("/tensorflow/core/saved_model/read/count", {"write_version"})),
      session_created_(&registry->AddGauge("/tensorflow/core/session_created", {})->Get({})),
      shown_paths_(registry) {
  // These metrics are texts, which the page shows as 0.
  for (const char* text : {"fingerprint", "path"}) {
    registry->AddGauge(absl::StrCat("/tensorflow/core/saved_model/read/", text), {})->Get({});
  }
  AddUpstreamMetrics(registry);
}

std::shared_ptr<const Callable> RunMetrics::Meter(std::shared_ptr<const Callable> callable) {
  graph_builds_->Increment();
  return std::make_shared<MeteredCallable>(this, std::move(callable));
}

void RunMetrics::RecordLoad(absl::string_view directory,
                            const absl::StatusOr<SavedModelBundle>& bundle, absl::Duration time) {
  load_attempts_->Record({directory, bundle.ok() ? "success" : "fail"}, 1);
  if (!bundle.ok()) return;
  load_latency_->Record({directory}, static_cast<double>(absl::ToInt64Microseconds(time)));
  session_created_->Set(1);
  reads_->Get({"cc_load"}).Increment();
  reads_by_version_->Get({bundle->meta_graph->has_object_graph_def() ? "2" : "1"}).Increment();
  // TensorFlow records these two stages for every model, even if there is nothing to do.
  std::map<absl::string_view, double> of_model = {{"restore_graph", 0}, {"init_graph", 0}};
  for (const auto& [stage, stage_time] : bundle->stages) {
    const double micros = absl::ToDoubleMicroseconds(stage_time);
    own_load_stages_->Get({stage}).Record(micros);
    if (auto found = of_model.find(stage); found != of_model.end()) found->second = micros;
    if (stage == "import" || stage == "compile" || stage == "prepare") {
      graph_build_time_->Increment(static_cast<int64_t>(micros));
    }
  }
  for (const auto& [stage, micros] : of_model) {
    load_stages_->Record({directory, stage}, micros);
  }
}

}  // namespace tessera::serving
