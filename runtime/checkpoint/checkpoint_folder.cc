#include "runtime/checkpoint/checkpoint_folder.h"

#include "absl/strings/str_cat.h"
#include "re2/re2.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace tessera {

std::vector<std::string> CheckpointFileNames::All(const std::string& checkpoint) const {
  std::vector<std::string> names;
  if (has_index) names.push_back(absl::StrCat(checkpoint, ".index"));
  for (const auto& [count, files] : data) names.insert(names.end(), files.begin(), files.end());
  names.insert(names.end(), unfinished.begin(), unfinished.end());
  return names;
}

absl::StatusOr<std::map<std::string, CheckpointFileNames>> ListCheckpoints(
    const std::string& folder) {
  static const RE2* const pattern =
      new RE2(R"((.+)\.(?:index|data-\d{5}-of-(\d{5}))(\.tmp\.\d+\.\d+|\.tempstate\d+)?)");
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   ListDirectory(folder.empty() ? "." : folder));
  std::map<std::string, CheckpointFileNames> checkpoints;
  for (const std::string& name : names) {
    std::string checkpoint, count, temporary;
    if (!RE2::FullMatch(name, *pattern, &checkpoint, &count, &temporary)) continue;
    CheckpointFileNames& files = checkpoints[checkpoint];
    if (!temporary.empty()) {
      files.unfinished.push_back(name);
    } else if (count.empty()) {
      files.has_index = true;
    } else {
      files.data[std::stoi(count)].push_back(name);
    }
  }
  return checkpoints;
}

}  // namespace tessera
