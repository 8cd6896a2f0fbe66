// Replays recorded trainings, in process:
//
//   check_training DIR [NAME...] [--jobs=N]
//
// DIR/NAME/ is a folder as training_case.h describes it. Every case runs in a process of its own.
#include <iostream>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/conformance/isolated_cases.h"
#include "tests/conformance/training_case.h"

namespace tessera {
namespace {

int Main(const std::string& directory, const std::vector<std::string>& patterns, int jobs) {
  const absl::StatusOr<std::vector<TrainingCase>> cases = FindTrainingCases(directory, patterns);
  if (!cases.ok() || cases->empty()) {
    std::cerr << "check_training: "
              << (cases.ok() ? "no recorded trainings" : cases.status().ToString()) << "\n";
    return 2;
  }
  const std::vector<Outcome> outcomes =
      RunIsolated(static_cast<int>(cases->size()), jobs, [&](int i) -> Outcome {
        const absl::Status status = ReplayTraining((*cases)[i]);
        if (status.ok()) return {};
        if (status.message() == kNeedsCluster) {
          return {Outcome::kSkipped, std::string(status.message())};
        }
        return {Outcome::kFailed, status.ToString()};
      });
  int counts[3] = {0, 0, 0};
  std::map<std::string, int> reasons;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    ++counts[outcomes[i].kind];
    if (outcomes[i].kind == Outcome::kSkipped) ++reasons[outcomes[i].text];
    if (outcomes[i].kind == Outcome::kFailed) {
      std::cout << "failed " << (*cases)[i].name << ": " << outcomes[i].text << "\n";
    }
  }
  for (const auto& [reason, count] : reasons) std::cout << count << " skipped: " << reason << "\n";
  std::cout << counts[Outcome::kPassed] << " passed, " << counts[Outcome::kFailed] << " failed, "
            << counts[Outcome::kSkipped] << " skipped" << std::endl;
  return counts[Outcome::kFailed] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  std::string directory;
  std::vector<std::string> patterns;
  int jobs = 2;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (absl::StartsWith(arg, "--jobs=") && absl::SimpleAtoi(arg.substr(7), &jobs) && jobs > 0) {
      continue;
    }
    if (absl::StartsWith(arg, "--")) {
      directory.clear();
      break;
    }
    if (directory.empty()) {
      directory = arg;
    } else {
      patterns.push_back(arg);
    }
  }
  if (directory.empty()) {
    std::cerr << "usage: check_training DIR [NAME...] [--jobs=N]\n";
    return 2;
  }
  return tessera::Main(directory, patterns, jobs);
}
