#include "tests/conformance/rounding_variables.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "tests/conformance/training_replay.h"

namespace tessera {
namespace {

// Rounding errors of a sum of float products, relative to the largest gradient.
constexpr double kRounding = 1e-6;

// Returns the variable of a recorded gradient; empty for what is no gradient or has no known name.
std::string VariableOf(absl::string_view answer, const rapidjson::Document& info) {
  if (answer == "loss" || answer == "pred" || absl::EndsWith(answer, "/indices") ||
      absl::EndsWith(answer, "/values")) {
    return "";
  }
  uint32_t number = 0;
  const bool is_numbered =
      absl::ConsumePrefix(&answer, "grad_") && absl::SimpleAtoi(answer, &number);
  if (!is_numbered) return std::string(answer);
  if (!info.HasMember("trainable") || number >= info["trainable"].Size()) return "";
  return info["trainable"][number].GetString();
}

absl::Status CheckForm(const std::string& name, const Tensor& got, const Tensor& want) {
  if (got.dtype() == want.dtype() && got.shape() == want.shape()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("'", name, "' is ", DTypeName(got.dtype()),
                                          got.shape().ToString(), ", want ",
                                          DTypeName(want.dtype()), want.shape().ToString()));
}

}  // namespace

absl::StatusOr<RoundingVariables> RoundingVariables::Find(const std::string& directory,
                                                          const rapidjson::Document& info) {
  ASSIGN_OR_RETURN(const auto answer, ReadAnswer(JoinPath(directory, "grads_0.pb")));
  std::map<std::string, double> sizes;  // by the names of the gradients
  double largest = 0;
  for (const auto& [name, gradient] : answer) {
    if (VariableOf(name, info).empty()) continue;
    sizes[name] = LargestElement(gradient);
    largest = std::max(largest, sizes[name]);
  }
  RoundingVariables found;
  found.limit_ = kRounding * largest;
  for (const auto& [name, size] : sizes) {
    if (!(size > 0 && size < found.limit_)) continue;
    found.answers_.insert(name);
    found.names_.insert(VariableOf(name, info));
  }
  return found;
}

absl::Status RoundingVariables::Check(const std::string& key, const Tensor& got, const Tensor& want,
                                      double tolerance) const {
  const bool is_rounding = std::ranges::any_of(names_, [&](const std::string& name) {
    return key == name || absl::EndsWith(key, absl::StrCat("/", name));
  });
  if (!is_rounding) return CheckTensor(key, got, want, tolerance);
  RETURN_IF_ERROR(CheckForm(key, got, want));
  if (std::isfinite(LargestElement(got))) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("'", key, "' has an element that is not finite"));
}

absl::Status RoundingVariables::CheckGradient(const std::string& answer, const Tensor& got,
                                              const Tensor& want, double tolerance) const {
  if (!answers_.contains(answer)) return CheckTensor(answer, got, want, tolerance);
  RETURN_IF_ERROR(CheckForm(answer, got, want));
  const double size = LargestElement(got);
  if (size < limit_) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("'", answer, "' has an element of the size ", size,
                                          ", though rounding alone gives less than ", limit_));
}

}  // namespace tessera
