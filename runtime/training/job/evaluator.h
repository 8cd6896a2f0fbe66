// Evaluator: the metrics of a graph over the data for evaluation.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/training/job/data_position.h"
#include "runtime/training/job/hook.h"
#include "runtime/training/job/run_control.h"
#include "runtime/training/metrics/metric.h"
#include "runtime/training/pipeline/batch_source.h"
#include "runtime/training/program/training_program.h"

namespace tessera {

namespace training {
class EvalSpec;
}  // namespace training

// Used by one thread at a time.
class Evaluator {
 public:
  // `program` must outlive the evaluator. Errors: INVALID_ARGUMENT for metrics that name an output
  // or a field that there is not, and for fields that do not fit the graph's inputs.
  static absl::StatusOr<std::unique_ptr<Evaluator>> Make(const training::EvalSpec& spec,
                                                         const TrainingProgram& program,
                                                         std::unique_ptr<BatchSource> source);

  // Runs one epoch of the data, or the first batches of it, from where the last call ended in that
  // case. `control` may be null. Errors: CANCELLED after RunControl::Stop(); those of the data
  // (RunFailure::kData), of the graph and of the metrics.
  absl::StatusOr<Evaluation> Run(int64_t step, RunControl* control);
  // Evaluates a batch of source(), to find out whether graph, data and metrics fit together. The
  // variables must have values. Errors: as those of Run().
  absl::Status Try(const std::vector<Tensor>& batch);

  BatchSource& source() { return *source_; }
  // The place at which the next evaluation begins; null if each begins at the start of the data.
  DataPosition* position() { return position_ ? &*position_ : nullptr; }
  std::vector<std::string> MetricNames() const;
  // Returns whether a greater value of the metric is better.
  bool HigherIsBetter(const std::string& name) const;

 private:
  struct NamedMetric {
    std::string name;
    std::unique_ptr<Metric> metric;
    int output = 0;  // its place in the fetches
    int label = -1;  // the fields of the batch; -1: none
    int weight = -1;
  };

  Evaluator(std::unique_ptr<BatchSource> source, int64_t batches)
      : source_(std::move(source)), batches_(batches) {
    if (batches > 0) position_.emplace(source_.get(), "_tessera/eval_data");
  }
  absl::StatusOr<bool> NextBatch(CancellationManager* cancellation, std::vector<Tensor>* batch);
  absl::Status Update(const std::vector<Tensor>& batch);

  const std::unique_ptr<BatchSource> source_;
  const int64_t batches_;  // 0: all of an epoch
  std::optional<DataPosition> position_;
  std::vector<NamedMetric> metrics_;
  std::vector<int> fields_;  // that are fed
  std::vector<NamedTensor> constants_;
  std::shared_ptr<const Callable> callable_;
  std::vector<Tensor> feeds_;
  std::vector<Tensor> fetches_;
};

}  // namespace tessera
