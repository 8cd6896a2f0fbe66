#include "runtime/data/captured_function.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {

absl::StatusOr<bool> MapOutcome(const absl::Status& status, bool preserves_cardinality) {
  if (status.ok()) return true;
  if (status.code() != absl::StatusCode::kOutOfRange) return status;
  if (!preserves_cardinality) return false;
  return absl::InvalidArgumentError(
      absl::StrCat("Function invocation produced OutOfRangeError: ", status.message()));
}

CallStep::CallStep(StepContext& parent) : parents_(parent.cancellation), context_(parent) {
  context_.step_resources = &resources_;
  context_.cancellation = &cancellation_;
  context_.rendezvous = nullptr;
  if (parents_ == nullptr) return;
  registered_ = parents_->Register([this] { cancellation_.Cancel(); }, &token_);
  if (!registered_) cancellation_.Cancel();
}

CallStep::~CallStep() {
  if (registered_) parents_->Deregister(token_);
}

absl::Status CapturedFunction::Check(int num_args, int num_results) const {
  const int expected = num_args + static_cast<int>(captured_.size());
  if (function_->num_args() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("the function takes ", function_->num_args(), " arguments, the dataset has ",
                     num_args, " and ", captured_.size(), " captured ones for it"));
  }
  if (num_results >= 0 && function_->num_results() != num_results) {
    return absl::InvalidArgumentError(absl::StrCat("the function gives ", function_->num_results(),
                                                   " results, not ", num_results));
  }
  return absl::OkStatus();
}

absl::Status CapturedFunction::Call(StepContext& step, Element args, Element* results) const {
  CallStep call(step);
  args.insert(args.end(), captured_.begin(), captured_.end());
  return function_->CallConsuming(call.context(), absl::MakeSpan(args), results);
}

absl::StatusOr<Tensor> CapturedFunction::CallForOne(StepContext& step, Element args) const {
  Element results;
  RETURN_IF_ERROR(Call(step, std::move(args), &results));
  if (results.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the function gives ", results.size(), " results, not one"));
  }
  return std::move(results[0]);
}

absl::StatusOr<bool> CapturedFunction::Holds(StepContext& step, Element args,
                                             absl::string_view name) const {
  ASSIGN_OR_RETURN(const Tensor result, CallForOne(step, std::move(args)));
  if (result.dtype() != DType::kBool || result.num_elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(name, " must return a scalar bool."));
  }
  return result.scalar<bool>();
}

absl::StatusOr<DatasetPtr> CapturedFunction::MakeDataset(StepContext& step, Element args,
                                                         const ElementSpec& spec) const {
  ASSIGN_OR_RETURN(const Tensor result, CallForOne(step, std::move(args)));
  ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetIn(result, "the result of the function"));
  RETURN_IF_ERROR(spec.CheckFits(dataset->spec()));
  return dataset;
}

absl::StatusOr<int64_t> CapturedFunction::Number(StepContext& step, Element args,
                                                 absl::string_view name) const {
  ASSIGN_OR_RETURN(const Tensor result, CallForOne(step, std::move(args)));
  if (result.dtype() != DType::kInt64 || result.num_elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(name, " must return a scalar int64."));
  }
  return result.scalar<int64_t>();
}

}  // namespace tessera
