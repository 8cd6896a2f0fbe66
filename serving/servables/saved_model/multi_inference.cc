#include "serving/servables/saved_model/multi_inference.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/base/status.h"

namespace tessera::serving {

absl::Status MultiInferenceRuns::Run(absl::Span<const Task> tasks,
                                     absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
                                     const CallOptions& options,
                                     std::vector<InferenceResult>* results) {
  auto matches = [&](const Plan& plan) {
    return std::equal(
        plan.tasks.begin(), plan.tasks.end(), tasks.begin(), tasks.end(),
        [](const Task& a, const Task& b) { return a.runs == b.runs && a.classify == b.classify; });
  };
  if (const Plan* plan = plans_.Find(matches)) return RunPlan(*plan, examples, options, results);

  ASSIGN_OR_RETURN(Plan made, MakePlan(tasks));
  const Plan* plan = &made;
  {
    absl::MutexLock lock(&add_mu_);
    if (const Plan* found = plans_.Find(matches)) {
      plan = found;
    } else if (plans_.size() < kMaxTaskLists) {
      plan = plans_.Add(std::move(made));
    }
  }
  return RunPlan(*plan, examples, options, results);
}

absl::StatusOr<MultiInferenceRuns::Plan> MultiInferenceRuns::MakePlan(
    absl::Span<const Task> tasks) const {
  Plan plan;
  plan.tasks.assign(tasks.begin(), tasks.end());
  RunSignature signature;
  RunRows rows = RunRows::kAny;
  std::set<std::string> feeds;
  const auto fetch = [&](const SignatureTensor& tensor) {
    signature.fetches.push_back(tensor.tensor_name);
    rows = std::max(rows, RowsOf(tensor));
  };
  for (const Task& task : tasks) {
    Share share;
    share.first_fetch = signature.fetches.size();
    if (task.classify) {
      ASSIGN_OR_RETURN(share.outputs, FindClassifyOutputs(task.runs->signature()));
      for (const int position : share.outputs.Positions()) {
        fetch(*task.runs->outputs()[position].tensor);
      }
    } else {
      RETURN_IF_ERROR(CheckRegressSignature(task.runs->signature()));
      fetch(*task.runs->outputs()[0].tensor);
    }
    share.num_fetches = signature.fetches.size() - share.first_fetch;
    feeds.insert(task.runs->inputs()[0].tensor->tensor_name);
    plan.shares.push_back(share);
  }
  signature.feeds.assign(feeds.begin(), feeds.end());
  plan.num_feeds = feeds.size();
  ASSIGN_OR_RETURN(plan.callable, make_run_(signature, rows));
  return plan;
}

absl::Status MultiInferenceRuns::RunPlan(const Plan& plan,
                                         absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
                                         const CallOptions& options,
                                         std::vector<InferenceResult>* results) const {
  ASSIGN_OR_RETURN(const Tensor input, examples());
  RETURN_IF_ERROR(CheckExamples(input));
  const std::vector<Tensor> feeds(plan.num_feeds, input);
  std::vector<Tensor> fetches;
  RETURN_IF_ERROR(RunCallable(*plan.callable, options, feeds, &fetches));
  for (size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& task = plan.tasks[i];
    const Share& share = plan.shares[i];
    if (task.classify) {
      ClassifyResult result{.signature_name = task.runs->name()};
      RETURN_IF_ERROR(MakeClassifyResult(
          share.outputs, input.num_elements(),
          absl::MakeConstSpan(fetches).subspan(share.first_fetch, share.num_fetches), &result));
      results->push_back(std::move(result));
    } else {
      RegressResult result{.signature_name = task.runs->name()};
      RETURN_IF_ERROR(MakeRegressResult(input.num_elements(), fetches[share.first_fetch], &result));
      results->push_back(std::move(result));
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera::serving
