#include "serving/sources/file_system_source.h"

#include <pthread.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_state.h"
#include "serving/core/stable_hash.h"
#include "serving/sources/version_folder.h"

namespace tessera::serving {
namespace {

// The interval at which a lasting problem is logged again, instead of at every poll.
constexpr absl::Duration kProblemLogInterval = absl::Minutes(1);

// How much longer than the clock of a file system ticks: what was written before that many
// milliseconds has another time than what is written now.
constexpr absl::Duration kClockTick = absl::Milliseconds(20);

// The share of the settle time for which a folder must be unchanged whose files are whole: files
// that nothing tells of, such as warm-up requests, may follow.
constexpr int kWholeShare = 20;

using VersionPaths = std::map<int64_t, std::string>;

// Returns whether a training job keeps checkpoints beside these names, for the graph beside them.
bool HoldsCheckpoints(const std::vector<std::string>& names) {
  return absl::c_binary_search(names, "checkpoint") && absl::c_binary_search(names, "graph");
}

// Adds the checkpoints that a training job keeps in the base path, up to its latest one.
absl::Status AddCheckpoints(const std::string& base_path, VersionPaths* versions) {
  ASSIGN_OR_RETURN(const CheckpointState state, ReadCheckpointState(base_path));
  const std::optional<int64_t> latest = StepOfCheckpoint(state.latest);
  if (!latest) {
    return absl::FailedPreconditionError(
        absl::StrCat("the latest checkpoint of ", base_path, ", '", state.latest,
                     "', has no step number to be its version: save it as NAME-NUMBER"));
  }
  std::vector<std::string> names = state.all;
  names.push_back(state.latest);
  for (const std::string& name : names) {
    const std::optional<int64_t> step = StepOfCheckpoint(name);
    const std::string prefix = JoinPath(base_path, name);
    // A job that was set back to an earlier step still lists later ones.
    if (!step || *step > *latest || !FileExists(absl::StrCat(prefix, ".index"))) continue;
    (*versions)[*step] = prefix;
  }
  return absl::OkStatus();
}

// Returns the versions below the base path. Adds to `twice`, if given, a line for each path that is
// hidden by another one with the same number.
absl::StatusOr<VersionPaths> ListVersions(const MonitoredServable& servable,
                                          std::vector<std::string>* twice = nullptr) {
  ASSIGN_OR_RETURN(const std::vector<std::string> children, ListDirectory(servable.base_path));
  VersionPaths versions;
  if (HoldsCheckpoints(children)) {
    RETURN_IF_ERROR(AddCheckpoints(servable.base_path, &versions));
  }
  for (const std::string& child : children) {
    int64_t number;
    if (!absl::SimpleAtoi(child, &number)) continue;
    std::string path = JoinPath(servable.base_path, child);
    auto [it, inserted] = versions.try_emplace(number, path);
    if (inserted) continue;
    if (twice != nullptr) {
      twice->push_back(absl::StrCat(it->second, " and ", path, " are both version ", number,
                                    "; taking the latter"));
    }
    it->second = std::move(path);
  }
  return versions;
}

// Returns the `count` highest versions for which `is_complete` is true.
VersionPaths Highest(const VersionPaths& versions, int64_t count,
                     absl::FunctionRef<bool(int64_t, const std::string&)> is_complete) {
  VersionPaths chosen;
  for (auto it = versions.rbegin();
       it != versions.rend() && static_cast<int64_t>(chosen.size()) < count; ++it) {
    if (is_complete(it->first, it->second)) chosen.insert(*it);
  }
  return chosen;
}

absl::StatusOr<VersionPaths> Specific(const MonitoredServable& servable) {
  VersionPaths found;
  std::vector<int64_t> missing;
  for (const int64_t number : servable.versions.specific) {
    std::string path = JoinPath(servable.base_path, absl::StrCat(number));
    if (FileExists(path)) {
      found[number] = std::move(path);
    } else {
      missing.push_back(number);
    }
  }
  if (missing.empty() && !found.empty()) return found;
  // The number may be spelled differently, such as "007".
  ASSIGN_OR_RETURN(VersionPaths all, ListVersions(servable));
  for (const int64_t number : missing) {
    if (auto it = all.find(number); it != all.end()) found[number] = it->second;
  }
  return found;
}

// Returns what to do about a base path without versions, if that can be told.
std::string NoVersionHint(absl::string_view base_path) {
  const absl::string_view path = absl::StripSuffix(base_path, "/");
  if (!FileExists(JoinPath(path, "saved_model.pb"))) {
    return "; a version is a folder in it whose name is a number";
  }
  const size_t slash = path.rfind('/');
  int64_t number;
  if (slash != path.npos && absl::SimpleAtoi(path.substr(slash + 1), &number)) {
    return absl::StrCat("; it is a version itself: name the folder that it is in, ",
                        path.substr(0, slash), ", as the base path");
  }
  return absl::StrCat(
      "; it is a SavedModel itself: move its files to a folder in it whose name is "
      "the version's number, such as ",
      JoinPath(path, "1"));
}

std::string Lack(const std::string& marker_file) {
  return absl::StrCat(" has no file '", marker_file, "' yet");
}

}  // namespace

absl::StatusOr<VersionPaths> FindVersions(
    const MonitoredServable& servable,
    absl::FunctionRef<bool(int64_t, const std::string&)> is_complete) {
  const bool is_specific = servable.versions.kind == VersionChoice::Kind::kSpecific;
  ASSIGN_OR_RETURN(const VersionPaths found,
                   is_specific ? Specific(servable) : ListVersions(servable));
  const bool is_latest = servable.versions.kind == VersionChoice::Kind::kLatest;
  return Highest(found,
                 is_latest ? servable.versions.num_latest : std::numeric_limits<int64_t>::max(),
                 is_complete);
}

FileSystemSource::FileSystemSource(const Options& options) : options_(options) {}

FileSystemSource::~FileSystemSource() {
  StopLooking();
  std::thread loop;
  {
    absl::MutexLock lock(&mu_);
    end_or_change_.SignalAll();
    loop.swap(loop_);
  }
  if (loop.joinable()) loop.join();
}

void FileSystemSource::ConnectTo(Target<std::string>* target) {
  absl::MutexLock lock(&mu_);
  target_ = target;
}

void FileSystemSource::SetServables(std::vector<MonitoredServable> servables) {
  absl::MutexLock lock(&mu_);
  if (stopping_) return;
  std::set<std::string> names;
  for (MonitoredServable& servable : servables) {
    names.insert(servable.name);
    Watched& watched = watched_[servable.name];
    if (watched.servable.base_path != servable.base_path) {
      rename_watch_.Forget(watched.servable.base_path);
    }
    watched.is_changed |= watched.servable != servable;
    watched.servable = std::move(servable);
  }
  for (auto it = watched_.begin(); it != watched_.end();) {
    if (names.contains(it->first)) {
      ++it;
      continue;
    }
    if (it->second.emitted) target_->SetAspiredVersions(it->first, {});
    rename_watch_.Forget(it->second.servable.base_path);
    {
      absl::MutexLock outlooks_lock(&outlooks_mu_);
      outlooks_.erase(it->first);
    }
    it = watched_.erase(it);
  }
  Poll();
  end_or_change_.SignalAll();
  if (!loop_.joinable() && options_.poll_interval > absl::ZeroDuration()) {
    loop_ = std::thread([this] { RunLoop(); });
  }
}

void FileSystemSource::RunLoop() {
  pthread_setname_np(pthread_self(), "fs_source");
  absl::MutexLock lock(&mu_);
  while (true) {
    const absl::Time next = absl::Now() + options_.poll_interval;
    while (!stopping_ && !end_or_change_.WaitWithDeadline(&mu_, std::min(next, look_again_))) {
    }
    if (stopping_) return;
    Poll();
  }
}

void FileSystemSource::Poll() {
  look_again_ = absl::InfiniteFuture();
  const std::set<std::string> renamed = rename_watch_.TakeRenamed();
  for (auto& [name, watched] : watched_) {
    if (stopping_) return;
    watched.renamed.insert(renamed.begin(), renamed.end());
    PollOne(watched);
  }
}

bool FileSystemSource::IsFinished(const Watched& watched, const std::string& path,
                                  const VersionFolder& folder) {
  if (folder.finished) return true;
  if (!folder.may_be_finished || !watched.renamed.contains(path)) return false;
  // From then on nothing can be written that has the time of the rename.
  const absl::Time certain = folder.last_change + kClockTick;
  if (absl::Now() >= certain) return true;
  look_again_ = std::min(look_again_, certain);
  return false;
}

bool FileSystemSource::IsWhole(const std::string& path, const VersionFolder& folder,
                               Unsettled* unsettled) {
  if (options_.is_whole == nullptr || folder.is_checkpoint || unsettled->is_partial) return false;
  const absl::Time quiet = folder.last_change + options_.settle_time / kWholeShare;
  if (absl::Now() < quiet) {
    look_again_ = std::min(look_again_, quiet);
    return false;
  }
  unsettled->is_partial = !options_.is_whole(path);
  return !unsettled->is_partial;
}

std::optional<uint64_t> FileSystemSource::CompleteRevision(Watched& watched,
                                                           const std::string& path) {
  const VersionFolder folder = LookAtVersionFolder(path);
  const uint64_t revision = StableHash(folder.fingerprint, absl::string_view(path));
  const absl::Time now = absl::Now();
  const absl::Duration settle = options_.settle_time;
  if (options_.poll_interval <= absl::ZeroDuration()) return revision;
  const bool needs_marker = !options_.marker_file.empty() && !folder.is_checkpoint;
  if (needs_marker) {
    if (FileExists(JoinPath(path, options_.marker_file))) return revision;
  } else if (IsFinished(watched, path, folder) || now >= folder.last_change + settle) {
    return revision;
  }
  auto [it, is_new] = watched.unsettled.try_emplace(path, Unsettled{folder.fingerprint, now});
  if (it->second.fingerprint != folder.fingerprint) it->second = {folder.fingerprint, now};
  if (!needs_marker) {
    // The clock of the file system may be ahead of that of this machine.
    if (now >= it->second.since + settle || IsWhole(path, folder, &it->second)) return revision;
    look_again_ = std::min({look_again_, it->second.since + settle, folder.last_change + settle});
  }
  if (is_new) {
    LOG(INFO) << "servable '" << watched.servable.name << "': " << path
              << (needs_marker ? Lack(options_.marker_file) : " is not complete yet")
              << "; waiting";
  }
  return std::nullopt;
}

void FileSystemSource::HoldBack(Watched& watched, const std::set<int64_t>& settling,
                                std::map<int64_t, Taken>* versions) {
  if (versions->empty() && settling.empty()) {
    watched.first_seen = absl::InfiniteFuture();
    return;
  }
  const absl::Time now = absl::Now();
  watched.first_seen = std::min(watched.first_seen, now);
  const bool has_gate = watched.servable.has_gate;
  const bool is_latest = watched.servable.versions.kind == VersionChoice::Kind::kLatest;
  if ((!is_latest && !has_gate) || !watched.versions.empty() || settling.empty()) return;
  const absl::Time end = watched.first_seen + options_.hold_back;
  if (now >= end) return;
  look_again_ = std::min(look_again_, end);
  versions->erase(versions->begin(),
                  has_gate ? versions->end() : versions->lower_bound(*settling.rbegin()));
}

void FileSystemSource::PollOne(Watched& watched) {
  const MonitoredServable& servable = watched.servable;
  rename_watch_.Watch(servable.base_path);
  std::map<int64_t, Taken> versions;
  std::map<std::string, Unsettled> unsettled;
  std::set<std::string> renamed;
  std::set<int64_t> settling;
  auto is_complete = [&](int64_t number,
                         const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::optional<uint64_t> revision = CompleteRevision(watched, path);
    if (!revision) {
      if (auto it = watched.unsettled.find(path); it != watched.unsettled.end()) {
        unsettled.insert(*it);
      }
      if (watched.renamed.contains(path)) renamed.insert(path);
      if (options_.marker_file.empty()) settling.insert(number);
    }
    auto taken = watched.versions.find(number);
    if (!revision && taken != watched.versions.end() && taken->second.path == path) {
      revision = taken->second.revision;  // complete once, it stays
    }
    if (revision) versions[number] = {path, *revision};
    return revision.has_value();
  };
  absl::StatusOr<VersionPaths> found = FindVersions(servable, is_complete);
  if (!found.ok()) {
    LogProblem(watched, absl::StrCat("base path cannot be read, its versions stay as they are: ",
                                     found.status().ToString()));
    SetOutlook(watched, {});
    return;
  }
  watched.unsettled = std::move(unsettled);
  watched.renamed = std::move(renamed);
  if (!found->empty()) {
    watched.problem.clear();
  } else if (!watched.unsettled.empty()) {
    const std::string& path = watched.unsettled.rbegin()->first;
    watched.problem = options_.marker_file.empty() ? "" : path + Lack(options_.marker_file);
  } else {
    LogProblem(watched, absl::StrCat("no version to serve below ", servable.base_path,
                                     NoVersionHint(servable.base_path)));
  }
  HoldBack(watched, settling, &versions);
  // New versions are being copied, so the old ones stay until they are complete.
  const bool stays = versions.empty() && !watched.unsettled.empty();
  const bool is_known = watched.emitted && !watched.is_changed && watched.versions == versions;
  if (!stays && !is_known) Emit(watched, versions);
  // After the target knows of the versions that are complete now: until then they are on their way.
  SetOutlook(watched, std::move(settling));
}

void FileSystemSource::Emit(Watched& watched, std::map<int64_t, Taken> versions) {
  const MonitoredServable& servable = watched.servable;
  // Logged when the versions change, not at every poll.
  std::vector<std::string> twice;
  if (ListVersions(servable, &twice).ok()) {
    for (const std::string& line : twice) {
      LOG(WARNING) << "servable '" << servable.name << "': " << line;
    }
  }
  AspiredVersions<std::string> aspired;
  // The highest version comes first, because it should be loaded first.
  for (auto it = versions.rbegin(); it != versions.rend(); ++it) {
    aspired.push_back({{servable.name, it->first}, it->second.path, it->second.revision});
  }
  target_->SetAspiredVersions(servable.name, std::move(aspired));
  watched.emitted = true;
  watched.is_changed = false;
  watched.versions = std::move(versions);
}

void FileSystemSource::SetOutlook(const Watched& watched, std::set<int64_t> settling) {
  absl::MutexLock lock(&outlooks_mu_);
  outlooks_[watched.servable.name] = {std::move(settling), watched.problem};
}

FileSystemSource::Outlook FileSystemSource::OutlookOf(const std::string& name) const {
  absl::MutexLock lock(&outlooks_mu_);
  const auto it = outlooks_.find(name);
  return it == outlooks_.end() ? Outlook() : it->second;
}

void FileSystemSource::LogProblem(Watched& watched, std::string problem) {
  const absl::Time now = absl::Now();
  if (problem == watched.problem && now < watched.problem_logged + kProblemLogInterval) return;
  LOG(WARNING) << "servable '" << watched.servable.name << "': " << problem;
  watched.problem = std::move(problem);
  watched.problem_logged = now;
}

}  // namespace tessera::serving
