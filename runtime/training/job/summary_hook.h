// Writes event files, which TensorBoard shows.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/summary/summary_values.h"
#include "runtime/training/job/hook.h"

namespace tessera {

namespace training {
class SummaryHook;
}  // namespace training

// The values that the summaries of a job show beside its steps. Any may be null or empty.
struct SummarySources {
  std::function<absl::StatusOr<double>()> learning_rate;
  // The trained variables by their names.
  std::function<absl::StatusOr<std::vector<std::pair<std::string, Tensor>>>()> variables;
  std::string graph;  // a serialized GraphDef
  std::string job;    // as text
  std::map<std::string, HyperParameter> hyper_parameters;
};

// Writes the scalars loss, steps_per_second, examples_per_second and learning_rate every some
// steps; eval/NAME for each metric, and histograms, at each evaluation; the graph, the job and the
// hyperparameters once. Errors: those of the file system.
absl::StatusOr<std::unique_ptr<Hook>> MakeSummaryHook(const training::SummaryHook& spec,
                                                      const std::string& folder,
                                                      SummarySources sources);

}  // namespace tessera
