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

}  // namespace

absl::StatusOr<RoundingVariables> RoundingVariables::Find(const std::string& directory,
                                                          const rapidjson::Document& info) {
  ASSIGN_OR_RETURN(const auto answer, ReadAnswer(JoinPath(directory, "grads_0.pb")));
  std::map<std::string, double> sizes;
  double largest = 0;
  for (const auto& [name, gradient] : answer) {
    const std::string variable = VariableOf(name, info);
    if (variable.empty()) continue;
    sizes[variable] = LargestElement(gradient);
    largest = std::max(largest, sizes[variable]);
  }
  RoundingVariables found;
  for (const auto& [variable, size] : sizes) {
    if (size > 0 && size < kRounding * largest) found.names_.insert(variable);
  }
  return found;
}

absl::Status RoundingVariables::Check(const std::string& key, const Tensor& got, const Tensor& want,
                                      double tolerance) const {
  const bool is_rounding = std::ranges::any_of(names_, [&](const std::string& name) {
    return key == name || absl::EndsWith(key, absl::StrCat("/", name));
  });
  if (!is_rounding) return CheckTensor(key, got, want, tolerance);
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    return absl::DataLossError(absl::StrCat("'", key, "' is ", DTypeName(got.dtype()),
                                            got.shape().ToString(), ", want ",
                                            DTypeName(want.dtype()), want.shape().ToString()));
  }
  if (std::isfinite(LargestElement(got))) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("'", key, "' has an element that is not finite"));
}

}  // namespace tessera
