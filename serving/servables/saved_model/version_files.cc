#include "serving/servables/saved_model/version_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_state.h"
#include "runtime/session/saved_model.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kIndex = ".index";

// TensorFlow writes this file beside a SavedModel's graph, and never beside a checkpoint alone.
constexpr absl::string_view kFingerprint = "fingerprint.pb";

// The memory that a model takes beyond its files, for each byte of them. Packed weights replace
// mapped ones, but may take one and a half times their size; the rest is for buffers.
constexpr double kMemoryBeyondFiles = 0.6;

// Returns the prefix of the checkpoint in a folder; empty if there is none.
absl::StatusOr<std::string> FindCheckpoint(const std::string& folder) {
  std::vector<std::string> names;
  for (const std::string& file : ListDirectory(folder).value_or(std::vector<std::string>())) {
    if (absl::EndsWith(file, kIndex)) names.push_back(file.substr(0, file.size() - kIndex.size()));
  }
  if (names.empty()) return std::string();
  if (names.size() == 1) return JoinPath(folder, names.front());
  const absl::StatusOr<CheckpointState> state = ReadCheckpointState(folder);
  if (state.ok() && std::find(names.begin(), names.end(), state->latest) != names.end()) {
    return JoinPath(folder, state->latest);
  }
  return absl::FailedPreconditionError(
      absl::StrCat(folder, " holds several checkpoints ('", absl::StrJoin(names, "', '"),
                   "'), and no file `checkpoint` that names one of them as the latest; leave one"));
}

void Count(const fs::directory_entry& file, MemoryEstimate* estimate) {
  std::error_code error;
  if (!file.is_regular_file(error)) return;
  const auto size = file.file_size(error);
  if (error) return;
  const bool is_mapped = absl::StrContains(file.path().filename().string(), ".data-");
  (is_mapped ? estimate->mapped : estimate->heap) += static_cast<int64_t>(size);
}

// Visits the files of a checkpoint, or all below a directory.
absl::StatusOr<MemoryEstimate> SizesOf(const std::string& path, const std::string& weights) {
  MemoryEstimate estimate;
  std::error_code error;
  if (!weights.empty()) {
    const fs::path prefix(weights);
    for (fs::directory_iterator it(prefix.parent_path(), error), end; it != end && !error;
         it.increment(error)) {
      if (absl::StartsWith(it->path().string(), weights + ".")) Count(*it, &estimate);
    }
  } else {
    // A link may lead to a directory around it.
    std::set<std::pair<dev_t, ino_t>> entered;
    const auto is_entered_again = [&](const fs::path& directory) {
      struct stat info;
      return ::stat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
             !entered.emplace(info.st_dev, info.st_ino).second;
    };
    is_entered_again(path);
    for (fs::recursive_directory_iterator
             it(path, fs::directory_options::follow_directory_symlink, error),
         end;
         it != end && !error; it.increment(error)) {
      if (is_entered_again(it->path())) it.disable_recursion_pending();
      Count(*it, &estimate);
    }
  }
  if (error && estimate.total() == 0) {
    return absl::Status(absl::ErrnoToStatusCode(error.value()),
                        absl::StrCat(path, "; ", error.message()));
  }
  return estimate;
}

}  // namespace

absl::StatusOr<VersionFiles> FindVersionFiles(const std::string& path) {
  if (HoldsSavedModel(path)) return VersionFiles();
  if (FileExists(absl::StrCat(path, kIndex))) return VersionFiles{.weights = path};
  if (FileExists(JoinPath(path, "export.meta"))) {
    return absl::UnimplementedError(
        absl::StrCat(path,
                     " holds a SessionBundle, the format before SavedModel, which is "
                     "not supported; export the model as a SavedModel"));
  }
  std::string missing = absl::StrCat(
      "Specified file path does not appear to contain a SavedModel bundle (should have a file "
      "called `saved_model.pb`)\nSpecified file path: ",
      path);
  if (FileExists(JoinPath(path, kFingerprint))) {
    absl::StrAppend(
        &missing, "\nIts ", kFingerprint,
        " says that a SavedModel was copied here in part; copy it whole, or remove that "
        "file if its weights alone are meant");
    return absl::NotFoundError(missing);
  }
  for (const std::string& folder : {JoinPath(path, "variables"), path}) {
    ASSIGN_OR_RETURN(std::string prefix, FindCheckpoint(folder));
    if (!prefix.empty()) return VersionFiles{.weights = std::move(prefix)};
  }
  return absl::NotFoundError(missing);
}

absl::StatusOr<MemoryEstimate> EstimateVersionMemory(const std::string& path) {
  const absl::StatusOr<VersionFiles> files = FindVersionFiles(path);
  const std::string weights = files.ok() ? files->weights : "";
  if (weights != path) {
    if (!FileExists(path)) {
      return absl::NotFoundError(absl::StrCat(path, "; No such file or directory"));
    }
    if (!IsDirectory(path)) {
      return absl::FailedPreconditionError(absl::StrCat(path, "; Not a directory"));
    }
  }
  ASSIGN_OR_RETURN(MemoryEstimate estimate, SizesOf(path, weights));
  estimate.heap += static_cast<int64_t>(kMemoryBeyondFiles * static_cast<double>(estimate.total()));
  return estimate;
}

}  // namespace tessera::serving
