#include "runtime/exec/kept_plans.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"

namespace tessera {
namespace {

DerivedConstants::Host HostOf(const PlanOptions& options) {
  return {.device = options.devices.front(), .pool = options.pool};
}

std::vector<Node*> DerivedNodes(const Plan& plan) {
  std::vector<Node*> nodes;
  for (const Plan::Part& part : plan.parts) {
    for (Node* node : part.graph->nodes()) {
      if (DerivedNumber(*node) >= 0) nodes.push_back(node);
    }
  }
  return nodes;
}

}  // namespace

std::shared_ptr<const KeptPlans::IsFrozen> KeptPlans::frozen() const {
  absl::MutexLock lock(&mu_);
  return frozen_;
}

void KeptPlans::SetFrozen(std::shared_ptr<const IsFrozen> frozen) {
  absl::MutexLock lock(&mu_);
  frozen_ = std::move(frozen);
}

absl::StatusOr<Plan> KeptPlans::Find(const std::string& key, const ResourceManager& resources,
                                     const DerivedConstants::Host& host) const {
  std::shared_ptr<const Plan> kept;
  {
    absl::MutexLock lock(&mu_);
    const auto found = plans_.find(key);
    if (found == plans_.end()) return absl::NotFoundError("no plan was kept");
    kept = found->second;
  }
  Plan plan{.parts = {},
            .boundary = kept->boundary,
            .library = kept->library,
            .arg_types = kept->arg_types,
            .num_results = kept->num_results,
            .derived = kept->derived};
  for (const Plan::Part& part : kept->parts) {
    plan.parts.push_back({part.device, part.graph->Clone()});
  }
  const std::vector<Node*> nodes = DerivedNodes(plan);
  if (nodes.empty()) return plan;
  if (plan.derived == nullptr) return absl::FailedPreconditionError("the notes are gone");
  std::vector<int64_t> numbers;
  for (const Node* node : nodes) numbers.push_back(DerivedNumber(*node));
  ASSIGN_OR_RETURN(const auto values, plan.derived->Evaluate(numbers, resources, host));
  for (Node* node : nodes) node->SetAttr("value", values.at(DerivedNumber(*node)));
  return plan;
}

void KeptPlans::Keep(const std::string& key, Plan plan) {
  for (Node* node : DerivedNodes(plan)) node->SetAttr("value", Tensor());
  absl::MutexLock lock(&mu_);
  std::shared_ptr<const Plan>& kept = plans_[key];
  if (kept != nullptr && kept->derived == plan.derived) return;
  kept = std::make_shared<const Plan>(std::move(plan));
}

absl::StatusOr<Plan> FindOrMakePlan(const std::string& key, const PlanOptions& options,
                                    absl::FunctionRef<absl::StatusOr<PlanInput>()> input) {
  PlanReuse* const reuse = options.reuse;
  if (reuse != nullptr && !key.empty()) {
    absl::StatusOr<Plan> kept = reuse->plans->Find(key, *options.resources, HostOf(options));
    if (kept.ok()) return kept;
    if (!absl::IsNotFound(kept.status())) {
      LOG(INFO) << "planning anew for other weights: " << kept.status().message();
    }
  }
  if (reuse != nullptr) reuse->num_made.fetch_add(1, std::memory_order_relaxed);
  ASSIGN_OR_RETURN(PlanInput made, input());
  return MakePlan(std::move(made), options);
}

void KeepPlan(const std::string& key, const PlanOptions& options, Plan plan) {
  PlanReuse* const reuse = options.reuse;
  if (reuse != nullptr && reuse->keeps && !key.empty()) reuse->plans->Keep(key, std::move(plan));
}

std::string PlanKey(absl::string_view what, const PlanOptions& options) {
  return absl::StrCat(options.is_frozen == nullptr ? "" : "frozen\n", what, "\n",
                      options.optimize ? options.optimizer.max_rounds : 0, "\n",
                      absl::StrJoin(options.optimizer.disabled_passes, ","));
}

}  // namespace tessera
