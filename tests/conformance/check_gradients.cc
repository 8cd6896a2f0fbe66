// Differentiates recorded graphs, in process:
//
//   check_gradients DIR [NAME...] [--jobs=N]
//
// DIR holds files as gradient_recording.py writes them. A NAME may have wildcards.
#include <fnmatch.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "tests/conformance/check_program.h"
#include "tests/conformance/gradient_case.h"

namespace tessera {
namespace {

absl::StatusOr<CheckedCases> FindCases(const std::string& directory,
                                       const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(std::vector<GradientCase> found, FindGradientCases(directory));
  std::erase_if(found, [&names](const GradientCase& one) {
    return !names.empty() && std::none_of(names.begin(), names.end(), [&](const std::string& name) {
      return fnmatch(name.c_str(), one.name.c_str(), 0) == 0;
    });
  });
  CheckedCases checked;
  for (const GradientCase& one : found) checked.names.push_back(one.name);
  auto cases = std::make_shared<const std::vector<GradientCase>>(std::move(found));
  checked.check = [cases](int i) -> Outcome {
    std::string difference = CheckGradients((*cases)[i]);
    if (difference.empty()) return {};
    return {Outcome::kFailed, std::move(difference)};
  };
  return checked;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::RunCheckProgram(argc, argv, tessera::FindCases); }
