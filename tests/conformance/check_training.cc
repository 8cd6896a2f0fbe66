// Replays recorded trainings, in process:
//
//   check_training DIR [NAME...] [--jobs=N]
//
// DIR/NAME/ is a folder as training_case.h describes it. Every case runs in a process of its own.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "tests/conformance/check_program.h"
#include "tests/conformance/training_case.h"

namespace tessera {
namespace {

absl::StatusOr<CheckedCases> FindCases(const std::string& directory,
                                       const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(std::vector<TrainingCase> found, FindTrainingCases(directory, names));
  CheckedCases checked;
  for (const TrainingCase& one : found) checked.names.push_back(one.name);
  auto cases = std::make_shared<const std::vector<TrainingCase>>(std::move(found));
  checked.check = [cases](int i) -> Outcome {
    const absl::Status status = ReplayTraining((*cases)[i]);
    if (status.ok()) return {};
    if (status.message() == kNeedsCluster) {
      return {Outcome::kSkipped, std::string(status.message())};
    }
    return {Outcome::kFailed, status.ToString()};
  };
  return checked;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::RunCheckProgram(argc, argv, tessera::FindCases); }
