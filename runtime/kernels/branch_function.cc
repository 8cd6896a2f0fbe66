#include "runtime/kernels/branch_function.h"

#include <utility>
#include <vector>

namespace tessera {
namespace {

// Stands in for a function that could not be made: every call ends with the reason.
class RefusedFunction final : public CallableFunction {
 public:
  RefusedFunction(absl::Status reason, int num_args, int num_results)
      : reason_(std::move(reason)), num_args_(num_args), num_results_(num_results) {}
  int num_args() const override { return num_args_; }
  int num_results() const override { return num_results_; }
  absl::Status Call(StepContext&, absl::Span<const Tensor>, std::vector<Tensor>*) const override {
    return reason_;
  }

 private:
  const absl::Status reason_;
  const int num_args_, num_results_;
};

// Whether the kernel of a node refused its attributes. A list of missing kernels has one of these
// codes, too, and is known by its payload.
bool RefusesAttributes(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kInvalidArgument &&
      status.code() != absl::StatusCode::kUnimplemented) {
    return false;
  }
  bool has_payload = false;
  status.ForEachPayload([&](absl::string_view, const absl::Cord&) { has_payload = true; });
  return !has_payload;
}

}  // namespace

BranchFunction::BranchFunction(const KernelBuild& build, const FunctionRef& ref, int num_args,
                               int num_results) {
  if (!build.status().ok()) return;
  const KernelBuild attempt = build;  // records its own errors
  function_ = attempt.function(ref);
  if (attempt.status().ok()) return;
  if (!RefusesAttributes(attempt.status())) {
    build.Fail(attempt.status());
    return;
  }
  refused_ = std::make_unique<RefusedFunction>(attempt.status(), num_args, num_results);
  function_ = refused_.get();
}

}  // namespace tessera
