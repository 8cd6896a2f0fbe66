#include "runtime/checkpoint/checkpoint_saver.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_files.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/checkpoint_index.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/checkpoint/object_graph.h"
#include "runtime/checkpoint/tensor_slice.h"

namespace tessera {
namespace {

// In seconds since the epoch; 0 for a file that is not there.
double ModificationTime(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return 0;
  return absl::ToDoubleSeconds(absl::TimeFromTimespec(info.st_mtim) - absl::UnixEpoch());
}

// Whether a saver of this name writes checkpoints of that name.
bool IsOf(const std::string& saver, const std::string& checkpoint) {
  return checkpoint.rfind('-') == saver.size() && absl::StartsWith(checkpoint, saver) &&
         StepOfCheckpoint(checkpoint).has_value();
}

// Removes files that belong to no whole checkpoint: temporary ones, data files without an index,
// and data files that a replaced or unfinished version has left beside the others.
void RemoveLeftovers(const std::string& folder, const std::string& checkpoint,
                     const CheckpointFileNames& files) {
  std::vector<std::string> leftovers = files.unfinished;
  int used = 0;  // the number of data files that the index belongs to
  if (files.has_index && files.data.size() > 1) {
    const auto header = ReadCheckpointIndex(
        JoinPath(folder, checkpoint),
        [](absl::string_view, CheckpointIndexEntry) { return absl::OkStatus(); });
    if (!header.ok()) return;  // a damaged index: nothing is known of its data
    used = header->num_shards;
  } else if (files.has_index && !files.data.empty()) {
    used = files.data.begin()->first;
  }
  for (const auto& [count, names] : files.data) {
    if (count != used) leftovers.insert(leftovers.end(), names.begin(), names.end());
  }
  for (const std::string& name : leftovers) {
    const absl::Status status = RemoveFile(JoinPath(folder, name));
    if (status.ok()) {
      LOG(INFO) << "removed " << JoinPath(folder, name) << ", which an interrupted save has left";
    } else {
      LOG(WARNING) << status;
    }
  }
}

// Checks that a checkpoint is all there. A hole may be what a crash left of data that were not
// written, or zeros, as copies and compressed file systems store them: reading tells.
absl::Status CheckWhole(const std::string& prefix) {
  bool has_holes = false;
  RETURN_IF_ERROR(CheckCheckpointFiles(prefix, &has_holes));
  if (!has_holes) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(prefix));
  for (const std::string& name : reader->TensorNames()) {
    RETURN_IF_ERROR(reader->Read(name).status());
  }
  return absl::OkStatus();
}

}  // namespace

CheckpointSaver::CheckpointSaver(std::string folder, const Options& options)
    : folder_(std::move(folder)), options_(options) {}

double CheckpointSaver::Now() const {
  return absl::ToDoubleSeconds(options_.now() - absl::UnixEpoch());
}

absl::StatusOr<CheckpointSaver> CheckpointSaver::Open(const std::string& folder,
                                                      const Options& options) {
  if (options.name.empty() || absl::StrContains(options.name, '/')) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", options.name, "' cannot name checkpoints: it must be a part of a file's name"));
  }
  RETURN_IF_ERROR(CreateDirectories(folder));
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return ErrnoStatus(errno, "write to", folder);
  CheckpointSaver saver(folder, options);
  RETURN_IF_ERROR(saver.Recover());
  return saver;
}

absl::Status CheckpointSaver::Recover() {
  ASSIGN_OR_RETURN(const auto checkpoints, ListCheckpoints(folder_));
  const absl::StatusOr<CheckpointState> state = ReadCheckpointState(folder_);
  last_preserved_ = Now();
  double written = 0;
  if (state.ok()) {
    std::vector<std::string> names = state->all;
    if (std::find(names.begin(), names.end(), state->latest) == names.end()) {
      names.push_back(state->latest);
    }
    for (size_t i = 0; i < names.size(); ++i) {
      const auto files = checkpoints.find(names[i]);
      if (files == checkpoints.end() || !files->second.has_index) continue;
      kept_.push_back({names[i], i < state->timestamps.size() ? state->timestamps[i] : Now()});
    }
    // TensorFlow takes the one that is named as the latest, wherever the list has it.
    std::stable_partition(kept_.begin(), kept_.end(),
                          [&](const Kept& kept) { return kept.name != state->latest; });
    if (state->last_preserved != 0) last_preserved_ = state->last_preserved;
    if (kept_.empty()) {
      LOG(WARNING) << JoinPath(folder_, "checkpoint") << " names '" << state->latest
                   << "', of which there is no index; checkpoints are found by their names";
    } else {
      written = ModificationTime(JoinPath(folder_, "checkpoint"));
    }
  } else if (!absl::IsNotFound(state.status())) {
    LOG(WARNING) << state.status() << "; the checkpoints are found by their names";
  }

  // Those that are complete and not named, because their writer died before it could name them.
  // What was left out of an older file on purpose, such as what is kept for good, stays out, also
  // in a copy of the folder, all files of which are new.
  const int64_t last_named = kept_.empty() ? -1 : StepOfCheckpoint(kept_.back().name).value_or(-1);
  std::vector<Kept> found;
  for (const auto& [name, files] : checkpoints) {
    if (!IsOf(options_.name, name)) continue;
    RemoveLeftovers(folder_, name, files);
    const double timestamp = ModificationTime(JoinPath(folder_, absl::StrCat(name, ".index")));
    const bool is_named = std::any_of(kept_.begin(), kept_.end(),
                                      [&](const Kept& kept) { return kept.name == name; });
    const bool is_later = StepOfCheckpoint(name).value_or(-1) > last_named;
    if (files.has_index && !is_named && is_later && timestamp >= written) {
      found.push_back({name, timestamp});
    }
  }
  std::sort(found.begin(), found.end(), [](const Kept& a, const Kept& b) {
    return *StepOfCheckpoint(a.name) < *StepOfCheckpoint(b.name);
  });
  kept_.insert(kept_.end(), found.begin(), found.end());
  return absl::OkStatus();
}

absl::StatusOr<std::string> CheckpointSaver::Save(int64_t step,
                                                  absl::Span<const SavedTensor> tensors,
                                                  absl::string_view object_graph) {
  const std::string name = absl::StrCat(options_.name, "-", step);
  const std::string prefix = JoinPath(folder_, name);
  ASSIGN_OR_RETURN(CheckpointWriter writer, CheckpointWriter::Create(prefix));
  for (const SavedTensor& named : tensors) {
    if (named.slice.empty()) {
      RETURN_IF_ERROR(writer.Add(named.key, named.tensor));
    } else {
      ASSIGN_OR_RETURN(const ShapeAndSlice part, ShapeAndSlice::Parse(named.slice));
      RETURN_IF_ERROR(writer.AddSlice(named.key, part.shape, part.slice, named.tensor));
    }
  }
  if (!object_graph.empty()) {
    RETURN_IF_ERROR(writer.Add(kObjectGraphKey, Tensor::Scalar(std::string(object_graph))));
  }
  RETURN_IF_ERROR(writer.Finish());
  kept_.erase(std::remove_if(kept_.begin(), kept_.end(),
                             [&](const Kept& kept) { return kept.name == name; }),
              kept_.end());
  kept_.push_back({name, Now()});
  // Old checkpoints are named until they are gone: nothing is forgotten if the process dies here.
  RETURN_IF_ERROR(WriteState());
  if (Sweep()) RETURN_IF_ERROR(WriteState());
  return prefix;
}

absl::Status CheckpointSaver::WriteState() const {
  CheckpointState state;
  state.latest = kept_.back().name;
  for (const Kept& kept : kept_) {
    state.all.push_back(kept.name);
    state.timestamps.push_back(kept.timestamp);
  }
  state.last_preserved = last_preserved_;
  return WriteCheckpointState(folder_, state);
}

bool CheckpointSaver::Sweep() {
  if (options_.max_to_keep <= 0 || kept_.size() <= static_cast<size_t>(options_.max_to_keep)) {
    return false;
  }
  const auto end = kept_.end() - options_.max_to_keep;
  const auto checkpoints = ListCheckpoints(folder_);
  if (!checkpoints.ok()) {
    LOG(WARNING) << "old checkpoints stay: " << checkpoints.status();
    return false;
  }
  for (auto it = kept_.begin(); it != end; ++it) {
    if (options_.keep_every_hours > 0 &&
        it->timestamp - last_preserved_ >= options_.keep_every_hours * 3600) {
      last_preserved_ = it->timestamp;
      continue;
    }
    const auto files = checkpoints->find(it->name);
    if (files == checkpoints->end()) continue;
    for (const std::string& name : files->second.All(it->name)) {
      const absl::Status status = RemoveFile(JoinPath(folder_, name));
      if (!status.ok()) LOG(WARNING) << status;
    }
  }
  kept_.erase(kept_.begin(), end);
  return true;
}

std::optional<CheckpointSaver::Checkpoint> CheckpointSaver::Latest() const {
  for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
    std::string prefix = JoinPath(folder_, kept->name);
    const absl::Status status = CheckWhole(prefix);
    if (status.ok()) {
      return Checkpoint{std::move(prefix), StepOfCheckpoint(kept->name).value_or(0)};
    }
    LOG(WARNING) << "checkpoint '" << prefix << "' is passed over: " << status;
  }
  return std::nullopt;
}

absl::Status CheckpointSaver::CheckLatest() const {
  if (kept_.empty()) return absl::OkStatus();
  return CheckWhole(JoinPath(folder_, kept_.back().name));
}

}  // namespace tessera
