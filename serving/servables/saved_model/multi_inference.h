// MultiInferenceRuns: runs several signatures over the same examples in one run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/saved_model/append_only_list.h"
#include "serving/servables/saved_model/classify_regress.h"
#include "serving/servables/saved_model/signature_runs.h"

namespace tessera::serving {

// Keeps the compiled runs of one model by their lists of tasks. Thread-safe. A list whose run is
// compiled already takes no lock.
class MultiInferenceRuns {
 public:
  struct Task {
    const SignatureRuns* runs;
    bool classify;  // else regress
  };
  // The most lists of tasks whose compiled runs are kept. Further ones are compiled at each
  // request.
  static constexpr int kMaxTaskLists = 64;

  explicit MultiInferenceRuns(MakeRun make_run) : make_run_(std::move(make_run)) {}

  // Feeds the examples to every distinct input tensor of the tasks. Results are in the order of the
  // tasks. Errors: INVALID_ARGUMENT for an unfit signature, no examples, or unfit results; those of
  // the run.
  absl::Status Run(absl::Span<const Task> tasks,
                   absl::FunctionRef<absl::StatusOr<Tensor>()> examples, const CallOptions& options,
                   std::vector<InferenceResult>* results);

 private:
  // The share of one task in the fetches of the common run.
  struct Share {
    ClassifyOutputs outputs;  // for classify
    size_t first_fetch = 0;
    size_t num_fetches = 0;
  };
  struct Plan {
    std::vector<Task> tasks;
    std::vector<Share> shares;
    size_t num_feeds = 0;
    std::shared_ptr<const Callable> callable;
  };

  absl::StatusOr<Plan> MakePlan(absl::Span<const Task> tasks) const;
  absl::Status RunPlan(const Plan& plan, absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
                       const CallOptions& options, std::vector<InferenceResult>* results) const;

  const MakeRun make_run_;
  absl::Mutex add_mu_;
  AppendOnlyList<Plan> plans_;  // added to under add_mu_
};

}  // namespace tessera::serving
