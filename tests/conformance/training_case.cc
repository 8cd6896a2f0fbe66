#include "tests/conformance/training_case.h"

#include <fnmatch.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rapidjson/document.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "tests/conformance/training_replay.h"

namespace tessera {
namespace {

// A graph whose nodes stand on several tasks of a cluster.
bool NeedsCluster(const rapidjson::Document& info) {
  if (!info.HasMember("devices")) return false;
  const auto devices = info["devices"].GetArray();
  return std::any_of(devices.begin(), devices.end(), [](const rapidjson::Value& device) {
    return absl::StrContains(device.GetString(), "/job:");
  });
}

}  // namespace

absl::StatusOr<std::vector<TrainingCase>> FindTrainingCases(
    const std::string& directory, const std::vector<std::string>& patterns) {
  using Kind = TrainingCase::Kind;
  ASSIGN_OR_RETURN(const std::vector<std::string> folders, ListDirectory(directory));
  std::vector<TrainingCase> cases;
  for (const std::string& folder : folders) {
    const bool wanted =
        patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) {
          return fnmatch(pattern.c_str(), folder.c_str(), 0) == 0;
        });
    const std::string root = JoinPath(directory, folder);
    if (!wanted || !FileExists(JoinPath(root, "info.json"))) continue;
    ASSIGN_OR_RETURN(const rapidjson::Document info, ReadJson(JoinPath(root, "info.json")));
    if (FileExists(JoinPath(root, "1/saved_model.pb"))) {
      cases.push_back({Kind::kSavedModel, folder, root, ""});
      cases.push_back({Kind::kSavedModelProgram, absl::StrCat(folder, "/program"), root, ""});
      continue;
    }
    // The folder `data` has records for training, and no graph.
    if (!info.IsObject() || !info.HasMember("optimizers")) continue;
    if (FileExists(JoinPath(root, "forward.meta"))) {
      cases.push_back({Kind::kForward, absl::StrCat(folder, "/forward"), root, ""});
      cases.push_back({Kind::kGradients, absl::StrCat(folder, "/gradients"), root, ""});
    }
    for (const auto& optimizer : info["optimizers"].GetObject()) {
      const std::string name = optimizer.name.GetString();
      cases.push_back({Kind::kCurve, absl::StrCat(folder, "/", name), root, name});
      cases.push_back(
          {Kind::kMetaGraphProgram, absl::StrCat(folder, "/", name, "/program"), root, name});
      if (FileExists(JoinPath(root, "forward.meta")) && IsOptimizerType(name)) {
        cases.push_back(
            {Kind::kForwardProgram, absl::StrCat(folder, "/", name, "/added"), root, name});
      }
    }
  }
  return cases;
}

absl::Status ReplayTraining(const TrainingCase& training) {
  ASSIGN_OR_RETURN(const rapidjson::Document info,
                   ReadJson(JoinPath(training.directory, "info.json")));
  if (NeedsCluster(info)) return absl::UnimplementedError(kNeedsCluster);
  switch (training.kind) {
    case TrainingCase::Kind::kCurve:
      return ReplayMetaGraph(training.directory, info, training.optimizer);
    case TrainingCase::Kind::kForward:
      return ReplayForward(training.directory, info);
    case TrainingCase::Kind::kGradients:
      return ReplayGradients(training.directory, info);
    case TrainingCase::Kind::kSavedModel:
      return ReplayTrainedModel(training.directory, info);
    case TrainingCase::Kind::kMetaGraphProgram:
      return ReplayMetaGraphProgram(training.directory, info, training.optimizer);
    case TrainingCase::Kind::kForwardProgram:
      return ReplayForwardProgram(training.directory, info, training.optimizer);
    case TrainingCase::Kind::kSavedModelProgram:
      return ReplaySavedModelProgram(training.directory, info);
  }
  return absl::InternalError("no such kind of case");
}

}  // namespace tessera
