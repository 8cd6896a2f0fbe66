// Replays recorded Predict requests on SavedModels, in process and without a server:
//
//   check_saved_models DIR [MODEL...] [--jobs=N]
//
// DIR/MODEL/V/ is a SavedModel, DIR/MODEL/golden/ (of version 1) or golden_vV/ its cases: a
// manifest.json with tolerances, and a PredictRequest and PredictResponse each. Every model runs in
// a process of its own, each request four times unless the model has state.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "tests/conformance/check_program.h"
#include "tests/conformance/recorded_models.h"

namespace tessera {
namespace {

absl::StatusOr<CheckedCases> FindCases(const std::string& directory,
                                       const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(std::vector<Recording> found, FindRecordings(directory, names));
  CheckedCases checked;
  for (const Recording& one : found) checked.names.push_back(one.name);
  auto cases = std::make_shared<const std::vector<Recording>>(std::move(found));
  checked.check = [cases](int i) -> Outcome {
    SessionOptions options;
    options.freeze_variables = true;  // as servers do
    const absl::Status status = ReplayModel((*cases)[i], options);
    if (status.ok()) return {};
    return {absl::IsUnimplemented(status) ? Outcome::kSkipped : Outcome::kFailed,
            status.ToString()};
  };
  return checked;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::RunCheckProgram(argc, argv, tessera::FindCases); }
