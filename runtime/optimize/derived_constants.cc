#include "runtime/optimize/derived_constants.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/host/mapping_guard.h"
#include "runtime/optimize/constant_node.h"

namespace tessera {
namespace {

// Numbers are unique in the process, so that one of another session is never taken for one's own.
int64_t NextNumber() {
  static std::atomic<int64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

IntrusivePtr<DerivedConstants> DerivedConstants::Of(const OptimizationItem& item) {
  if (item.resources == nullptr || item.is_frozen == nullptr) return nullptr;
  const auto found = item.resources->LookupOrCreate(
      "", kTypeName, "", []() -> absl::StatusOr<IntrusivePtr<Resource>> {
        return IntrusivePtr<Resource>(MakeRefCounted<DerivedConstants>());
      });
  if (!found.ok()) return nullptr;
  return IntrusivePtr<DerivedConstants>(static_cast<DerivedConstants*>(found->get()));
}

std::vector<int64_t> DerivedConstants::AddStep(Step step, absl::Span<const Tensor> results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const int64_t number = NextNumber();
    step.results.push_back(number);
    values_.emplace(number, Value{.step = static_cast<int>(steps_.size()),
                                  .result = static_cast<int>(i),
                                  .dtype = results[i].dtype(),
                                  .shape = results[i].shape(),
                                  .conditions = {}});
  }
  std::vector<int64_t> numbers = step.results;
  steps_.push_back(std::move(step));
  return numbers;
}

int64_t DerivedConstants::NoteVariable(absl::string_view container, absl::string_view type_name,
                                       absl::string_view name, const Tensor& value) {
  absl::MutexLock lock(&mu_);
  auto& numbers = known_[absl::StrCat("variable\n", container, "\n", type_name, "\n", name)];
  if (numbers.empty()) {
    Step step;
    step.variable = {std::string(container), std::string(type_name), std::string(name)};
    numbers = AddStep(std::move(step), {value});
  }
  return numbers[0];
}

std::vector<int64_t> DerivedConstants::Note(absl::string_view what,
                                            absl::Span<const Endpoint> inputs, Compute compute,
                                            absl::Span<const Tensor> results) {
  Step step;
  step.compute = std::move(compute);
  std::string key(what);
  bool is_derived = false;
  for (const Endpoint& input : inputs) {
    const int64_t number = DerivedNumber(*input.node);
    Input& added = step.inputs.emplace_back(Input{.number = number, .fixed = Tensor()});
    if (number >= 0) {
      is_derived = true;
      absl::StrAppend(&key, "\n", number);
      continue;
    }
    added.fixed = *PresentValue(input);
    // The step holds the tensor, so that nothing else can come to lie at its address.
    absl::StrAppend(&key, "\n@", absl::Hex(reinterpret_cast<uintptr_t>(added.fixed.raw())), " ",
                    DTypeName(added.fixed.dtype()), added.fixed.shape().ToString());
  }
  if (!is_derived) return {};
  absl::MutexLock lock(&mu_);
  std::vector<int64_t>& numbers = known_[key];
  if (numbers.empty()) numbers = AddStep(std::move(step), results);
  return numbers;
}

void DerivedConstants::NoteCondition(int64_t number, bool (*holds)(const Tensor& value),
                                     bool outcome) {
  absl::MutexLock lock(&mu_);
  const auto value = values_.find(number);
  if (value == values_.end()) return;
  std::vector<Condition>& conditions = value->second.conditions;
  const bool is_known = std::any_of(conditions.begin(), conditions.end(),
                                    [&](const Condition& one) { return one.holds == holds; });
  if (!is_known) conditions.push_back({holds, outcome});
}

// Computes what some numbers need, in the order in which it was noted.
class DerivedConstants::Evaluation {
 public:
  Evaluation(const std::vector<Step>& steps, const absl::flat_hash_map<int64_t, Value>& values)
      : steps_(steps), values_(values), needed_(steps.size(), false) {}

  absl::Status Need(absl::Span<const int64_t> numbers) {
    std::vector<int64_t> open(numbers.begin(), numbers.end());
    for (int64_t number : numbers) ++uses_[number];
    while (!open.empty()) {
      const auto value = values_.find(open.back());
      open.pop_back();
      if (value == values_.end()) {
        return absl::FailedPreconditionError("a constant is derived from what is not known");
      }
      if (needed_[value->second.step]) continue;
      needed_[value->second.step] = true;
      for (const Input& input : steps_[value->second.step].inputs) {
        if (input.number < 0) continue;
        ++uses_[input.number];
        open.push_back(input.number);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Run(const ResourceManager& resources, const Host& host) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!needed_[i]) continue;
      const Step& step = steps_[i];
      std::vector<Tensor> results;
      if (step.compute == nullptr) {
        ASSIGN_OR_RETURN(Tensor value, ValueOf(step.variable, resources));
        results.push_back(std::move(value));
      } else {
        std::vector<Tensor> inputs;
        for (const Input& input : step.inputs) {
          inputs.push_back(input.number < 0 ? input.fixed : computed_.at(input.number));
        }
        ASSIGN_OR_RETURN(results, step.compute(host, inputs));
        for (const Input& input : step.inputs) Release(input);
      }
      RETURN_IF_ERROR(Take(step, std::move(results)));
    }
    return absl::OkStatus();
  }

  absl::flat_hash_map<int64_t, Tensor> TakeComputed() { return std::move(computed_); }

 private:
  static absl::StatusOr<Tensor> ValueOf(const Variable& variable,
                                        const ResourceManager& resources) {
    const auto found = resources.Lookup(variable.container, variable.type_name, variable.name);
    const auto* resource =
        found.ok() ? dynamic_cast<const tessera::Variable*>(found->get()) : nullptr;
    if (resource == nullptr || !resource->initialized()) {
      return absl::FailedPreconditionError(
          absl::StrCat("variable '", variable.name, "' has no value"));
    }
    return resource->Read();
  }

  // What nothing needs any more leaves memory, with the mapped pages that it was read from.
  void Release(const Input& input) {
    if (input.number < 0 || --uses_[input.number] > 0) return;
    const auto computed = computed_.find(input.number);
    ReleaseMappedPages({computed->second.raw(), computed->second.size_bytes()});
    computed_.erase(computed);
  }

  absl::Status Take(const Step& step, std::vector<Tensor> results) {
    if (results.size() != step.results.size()) {
      return absl::FailedPreconditionError("a constant has another number of results");
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const auto uses = uses_.find(step.results[i]);
      if (uses == uses_.end()) continue;
      const Value& value = values_.at(step.results[i]);
      if (results[i].dtype() != value.dtype || results[i].shape() != value.shape) {
        return absl::FailedPreconditionError(absl::StrCat("a constant of shape ",
                                                          value.shape.ToString(), " now has shape ",
                                                          results[i].shape().ToString()));
      }
      for (const Condition& condition : value.conditions) {
        if (condition.holds(results[i]) != condition.outcome) {
          return absl::FailedPreconditionError("a constant does not meet a condition of the plan");
        }
      }
      computed_.emplace(step.results[i], std::move(results[i]));
    }
    return absl::OkStatus();
  }

  const std::vector<Step>& steps_;
  const absl::flat_hash_map<int64_t, Value>& values_;
  std::vector<bool> needed_;                // by step
  absl::flat_hash_map<int64_t, int> uses_;  // by number
  absl::flat_hash_map<int64_t, Tensor> computed_;
};

absl::StatusOr<absl::flat_hash_map<int64_t, Tensor>> DerivedConstants::Evaluate(
    absl::Span<const int64_t> numbers, const ResourceManager& resources, const Host& host) const {
  absl::MutexLock lock(&mu_);
  Evaluation evaluation(steps_, values_);
  RETURN_IF_ERROR(evaluation.Need(numbers));
  RETURN_IF_ERROR(evaluation.Run(resources, host));
  return evaluation.TakeComputed();
}

absl::StatusOr<std::vector<Node*>> AddComputedConstants(const OptimizationItem& item,
                                                        absl::string_view what,
                                                        const std::vector<Endpoint>& inputs,
                                                        DerivedConstants::Compute compute,
                                                        const std::vector<std::string>& names,
                                                        absl::string_view device) {
  std::vector<Tensor> values;
  for (const Endpoint& input : inputs) values.push_back(*PresentValue(input));
  ASSIGN_OR_RETURN(std::vector<Tensor> results, compute({item.host(), item.pool}, values));
  std::vector<int64_t> numbers;
  if (const IntrusivePtr<DerivedConstants> derived = DerivedConstants::Of(item)) {
    numbers = derived->Note(what, inputs, std::move(compute), results);
  }
  std::vector<Node*> constants;
  for (size_t i = 0; i < results.size(); ++i) {
    ASSIGN_OR_RETURN(Node * constant,
                     AddConstant(item.graph, names[i], std::move(results[i]), device));
    if (!numbers.empty()) SetDerivedNumber(constant, numbers[i]);
    constants.push_back(constant);
  }
  return constants;
}

}  // namespace tessera
