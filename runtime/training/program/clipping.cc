#include "runtime/training/program/clipping.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

using training::ClipSpec;

// Clips by the norm of all gradients together. A norm that is no finite number makes all of them
// NaN, so that it is noticed.
void ClipByGlobalNorm(double limit, GraphBuilder& build, std::vector<Gradient>* gradients) {
  std::vector<Expr> squares;
  for (const Gradient& gradient : *gradients) {
    squares.push_back(CastTo(Call("L2Loss", {build.Of(gradient.values)}), DType::kFloat));
  }
  const Expr norm = Call("Sqrt", {2 * Call("AddN", squares)});
  const Expr inverse = build.Scalar(DType::kFloat, 1 / limit);
  const Expr scale = limit * Call("Minimum", {1 / norm, inverse}) + (norm - norm);
  for (Gradient& gradient : *gradients) {
    const Expr values = build.Of(gradient.values);
    gradient.values = (values * CastTo(scale, values.dtype())).endpoint();
  }
}

Expr ClipByNorm(double limit, const Expr& values) {
  const Expr norm = Call("Sqrt", {2 * Call("L2Loss", {values})});
  const Expr longest = values.builder()->Scalar(values.dtype(), limit);
  return limit * values / Call("Maximum", {norm, longest});
}

Expr ClipByValue(double limit, const Expr& values) {
  GraphBuilder& build = *values.builder();
  return Call("ClipByValue",
              {values, build.Scalar(values.dtype(), -limit), build.Scalar(values.dtype(), limit)});
}

absl::Status CheckLimit(const char* name, double limit) {
  if (limit > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("graph.clip.", name, " is ", limit, ", but must be over 0"));
}

}  // namespace

absl::Status CheckClip(const ClipSpec& spec) {
  switch (spec.kind_case()) {
    case ClipSpec::KIND_NOT_SET:
      return absl::OkStatus();
    case ClipSpec::kGlobalNorm:
      return CheckLimit("global_norm", spec.global_norm());
    case ClipSpec::kNorm:
      return CheckLimit("norm", spec.norm());
    case ClipSpec::kValue:
      return CheckLimit("value", spec.value());
  }
  return absl::OkStatus();
}

absl::Status ClipGradients(const ClipSpec& spec, GraphBuilder& build,
                           std::vector<Gradient>* gradients) {
  RETURN_IF_ERROR(CheckClip(spec));
  switch (spec.kind_case()) {
    case ClipSpec::KIND_NOT_SET:
      return absl::OkStatus();
    case ClipSpec::kGlobalNorm:
      ClipByGlobalNorm(spec.global_norm(), build, gradients);
      return build.status();
    case ClipSpec::kNorm:
      for (Gradient& gradient : *gradients) {
        gradient.values = ClipByNorm(spec.norm(), build.Of(gradient.values)).endpoint();
      }
      return build.status();
    case ClipSpec::kValue:
      for (Gradient& gradient : *gradients) {
        gradient.values = ClipByValue(spec.value(), build.Of(gradient.values)).endpoint();
      }
      return build.status();
  }
  return absl::OkStatus();
}

}  // namespace tessera
