// Remembers how constants of rewritten graphs follow from the values of variables.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "runtime/framework/resource_manager.h"
#include "runtime/optimize/pass.h"

namespace tessera {

// A derived constant is a Const node that a pass has made of a frozen variable, or of other derived
// constants. Its attribute DerivedNumber() is its number here, and what is kept under that number
// computes its value from the variables of any session on the same graph. A plan can thus be used
// again for other values (exec/kept_plans.h).
//
// That is right only as long as no pass decides by such a value. ConstantValue() therefore shows
// only the constants that are the same in all sessions; a pass that computes constants from others
// reads them by PresentValue(), and calls Note() for what it makes of them. One that has to look at
// a value calls NoteCondition().
//
// There is one such object a session, among its resources. Thread-safe.
class DerivedConstants : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "derived_constants";

  // Runs the kernels that compute constants.
  struct Host {
    Device* device = nullptr;
    ThreadPool* pool = nullptr;  // null: the calling thread
  };
  using Compute = std::function<absl::StatusOr<std::vector<Tensor>>(const Host& host,
                                                                    absl::Span<const Tensor>)>;

  // Returns the constants of the session whose graph `item` has, or null if nothing is frozen
  // there.
  static IntrusivePtr<DerivedConstants> Of(const OptimizationItem& item);

  // Returns the number of the value of a variable, which is `value` now.
  int64_t NoteVariable(absl::string_view container, absl::string_view type_name,
                       absl::string_view name, const Tensor& value);

  // Returns the numbers of `results`, which `compute` has made of the constants `inputs`; an empty
  // list if none of those is derived. Calls with equal `what` and inputs get the same numbers.
  std::vector<int64_t> Note(absl::string_view what, absl::Span<const Endpoint> inputs,
                            Compute compute, absl::Span<const Tensor> results);

  // Notes that a pass took `holds(value)` for `outcome`. Plans with this constant, or with one that
  // is derived from it, serve no values for which it is not.
  void NoteCondition(int64_t number, bool (*holds)(const Tensor& value), bool outcome);

  // Computes the constants of these numbers from the variables in `resources`.
  // Errors: FAILED_PRECONDITION if a variable has no value, if a value has another dtype or shape
  // than when it was noted, or if a condition has another outcome; those of kernels.
  absl::StatusOr<absl::flat_hash_map<int64_t, Tensor>> Evaluate(absl::Span<const int64_t> numbers,
                                                                const ResourceManager& resources,
                                                                const Host& host) const;

  std::string DebugString() const override { return "derived constants"; }

 private:
  struct Input {
    int64_t number = -1;  // -1: the same in all sessions
    Tensor fixed;
  };
  struct Variable {
    std::string container, type_name, name;
  };
  // A step that makes one or more values: a variable, or a computation.
  struct Step {
    Variable variable;
    Compute compute;  // null: the variable's value
    std::vector<Input> inputs;
    std::vector<int64_t> results;
  };
  struct Condition {
    bool (*holds)(const Tensor& value);
    bool outcome;
  };
  struct Value {
    int step = 0, result = 0;
    DType dtype = DType::kInvalid;
    Shape shape;
    std::vector<Condition> conditions;
  };
  class Evaluation;

  std::vector<int64_t> AddStep(Step step, absl::Span<const Tensor> results)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  std::vector<Step> steps_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<int64_t, Value> values_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::vector<int64_t>> known_ ABSL_GUARDED_BY(mu_);
};

// Adds Consts under free names that start with `names` for what `compute` makes of the constants
// `inputs`, and notes them. See DerivedConstants::Note().
absl::StatusOr<std::vector<Node*>> AddComputedConstants(const OptimizationItem& item,
                                                        absl::string_view what,
                                                        const std::vector<Endpoint>& inputs,
                                                        DerivedConstants::Compute compute,
                                                        const std::vector<std::string>& names,
                                                        absl::string_view device);

}  // namespace tessera
