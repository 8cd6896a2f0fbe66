// Replays recorded Predict requests on SavedModels, in process and without a server:
//
//   check_saved_models DIR [MODEL...] [--jobs=N]
//
// DIR/MODEL/V/ is a SavedModel, DIR/MODEL/golden/ (of version 1) or golden_vV/ its cases: a
// manifest.json with tolerances, and a PredictRequest and PredictResponse each. Every model runs in
// a process of its own, each request four times unless the model has state.
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "tests/conformance/isolated_cases.h"
#include "tests/conformance/recorded_models.h"

namespace tessera {
namespace {

int Main(const std::string& directory, const std::vector<std::string>& patterns, int jobs) {
  const absl::StatusOr<std::vector<Recording>> recordings = FindRecordings(directory, patterns);
  if (!recordings.ok() || recordings->empty()) {
    std::cerr << "check_saved_models: "
              << (recordings.ok() ? "no recorded models" : recordings.status().ToString()) << "\n";
    return 2;
  }
  const std::vector<Outcome> outcomes =
      RunIsolated(static_cast<int>(recordings->size()), jobs, [&](int i) -> Outcome {
        SessionOptions options;
        options.freeze_variables = true;  // as servers do
        const absl::Status status = ReplayModel((*recordings)[i], options);
        if (status.ok()) return {};
        return {absl::IsUnimplemented(status) ? Outcome::kSkipped : Outcome::kFailed,
                status.ToString()};
      });
  int counts[3] = {0, 0, 0};
  for (size_t i = 0; i < outcomes.size(); ++i) {
    ++counts[outcomes[i].kind];
    if (outcomes[i].kind == Outcome::kPassed) continue;
    std::cout << (outcomes[i].kind == Outcome::kFailed ? "failed " : "skipped ")
              << (*recordings)[i].name << ": " << outcomes[i].text << "\n";
  }
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
    if (directory.empty() && !absl::StartsWith(arg, "--")) {
      directory = arg;
    } else if (!absl::StartsWith(arg, "--")) {
      patterns.push_back(arg);
    } else {
      directory.clear();
      break;
    }
  }
  if (directory.empty()) {
    std::cerr << "usage: check_saved_models DIR [MODEL...] [--jobs=N]\n";
    return 2;
  }
  return tessera::Main(directory, patterns, jobs);
}
