// A pipeline's graph in a session of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/session.h"
#include "runtime/training/pipeline/pipeline_plan.h"

namespace tessera {

// Used by one thread at a time.
class RunningPipeline {
 public:
  // Errors: those of making the graph's kernels.
  static absl::StatusOr<RunningPipeline> Start(const PipelinePlan& plan, int64_t batch_size,
                                               int64_t seed, const SessionOptions& options);

  // Puts the next batch into *batch; one without rows ends an epoch. `cancellation` may be null.
  absl::Status Next(CancellationManager* cancellation, std::vector<Tensor>* batch) const;
  // The position, a vector of one variant.
  absl::StatusOr<Tensor> Save() const;
  absl::Status Restore(const Tensor& position) const;

 private:
  std::unique_ptr<Session> session_;
  std::shared_ptr<const Callable> next_;
};

}  // namespace tessera
