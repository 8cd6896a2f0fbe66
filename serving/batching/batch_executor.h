// BatchExecutor: runs a batch, and gives each request its share of the outputs.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/session/session.h"
#include "serving/batching/batch.h"
#include "serving/batching/batch_metrics.h"
#include "serving/batching/batching_options.h"
#include "serving/batching/cost_curve.h"

namespace tessera::serving {

// Runs the parts of a batch in one run if they can be merged, else in as few runs as their dtypes
// and shapes allow. The rows that a run was padded with are cut from its outputs.
//
// No request fails because of its neighbours: if a merged run fails, each of its parts is run again
// by itself, and only those that fail then have failed.
//
// Thread-safe.
class BatchExecutor {
 public:
  // How a part is run that is not merged with any other.
  enum class LoneRuns {
    // Like merged parts: it is padded to an allowed size, and its outputs must have as many rows as
    // its inputs.
    kLikeMerged,
    // The part runs as without batching, whatever the shapes of its outputs are.
    kUnchanged,
  };

  // `options` and `metrics` must outlive the executor.
  BatchExecutor(std::shared_ptr<const Callable> callable, const BatchingOptions* options,
                LoneRuns lone_runs, VersionBatchMetrics* metrics);

  // Sets the status and the outputs of each part. The status is RESOURCE_EXHAUSTED if the deadlines
  // of all parts have passed, FAILED_PRECONDITION if the outputs cannot be split by rows, else that
  // of the run. The deadline of a run is the latest one of its parts. Requires whole parts, or rows
  // of tensors that have elements. Metrics count each part once, and each run, unless the batch is
  // not counted.
  void Execute(absl::Time now, Batch* batch) const;

  const Callable& callable() const { return *callable_; }
  // Returns the costs of runs so far, if the options say that it is measured. May be told of other
  // runs.
  CostCurve& cost() const { return cost_; }

 private:
  using Parts = std::vector<BatchPart*>;

  // Returns groups of parts that can be merged, in the order of the batch.
  std::vector<Parts> Group(Batch& batch) const;
  absl::Status Run(const Parts& parts, absl::Time deadline, bool is_counted) const;
  absl::Status RunMerged(const Parts& parts, int64_t padded_rows, absl::Time deadline) const;
  absl::Status RunWhole(BatchPart& part, absl::Time deadline) const;
  absl::Status RunCallable(int64_t rows, absl::Span<const Tensor> feeds,
                           CancellationManager* cancellation, absl::Time deadline,
                           std::vector<Tensor>* outputs) const;

  const std::shared_ptr<const Callable> callable_;
  const BatchingOptions& options_;
  const LoneRuns lone_runs_;
  VersionBatchMetrics& metrics_;
  mutable CostCurve cost_;
};

}  // namespace tessera::serving
