#include "serving/sources/file_system_source.h"

#include <pthread.h>

#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

// A problem that stays is logged again this often, not at every poll.
constexpr absl::Duration kProblemLogInterval = absl::Minutes(1);

using VersionPaths = std::map<int64_t, std::string>;

absl::StatusOr<VersionPaths> ListVersions(const MonitoredServable& servable) {
  ASSIGN_OR_RETURN(const std::vector<std::string> children, ListDirectory(servable.base_path));
  VersionPaths versions;
  for (const std::string& child : children) {
    int64_t number;
    if (!absl::SimpleAtoi(child, &number)) continue;
    std::string path = JoinPath(servable.base_path, child);
    auto [it, inserted] = versions.try_emplace(number, path);
    if (!inserted) {
      LOG(WARNING) << "servable '" << servable.name << "': " << it->second << " and " << path
                   << " are both version " << number << "; taking the latter";
      it->second = std::move(path);
    }
  }
  return versions;
}

VersionPaths Latest(VersionPaths versions, int64_t count) {
  while (static_cast<int64_t>(versions.size()) > count) versions.erase(versions.begin());
  return versions;
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
  // Perhaps under another spelling, "007".
  ASSIGN_OR_RETURN(VersionPaths all, ListVersions(servable));
  for (const int64_t number : missing) {
    if (auto it = all.find(number); it != all.end()) found[number] = it->second;
  }
  return found;
}

}  // namespace

absl::StatusOr<VersionPaths> FindVersions(const MonitoredServable& servable) {
  switch (servable.versions.kind) {
    case VersionChoice::Kind::kSpecific:
      return Specific(servable);
    case VersionChoice::Kind::kAll:
      return ListVersions(servable);
    case VersionChoice::Kind::kLatest:
      break;
  }
  ASSIGN_OR_RETURN(VersionPaths all, ListVersions(servable));
  return Latest(std::move(all), servable.versions.num_latest);
}

FileSystemSource::FileSystemSource(const Options& options) : options_(options) {}

FileSystemSource::~FileSystemSource() { Stop(); }

void FileSystemSource::ConnectTo(Target<std::string>* target) {
  absl::MutexLock lock(&mu_);
  target_ = target;
}

void FileSystemSource::SetServables(std::vector<MonitoredServable> servables) {
  absl::MutexLock lock(&mu_);
  std::set<std::string> names;
  for (MonitoredServable& servable : servables) {
    names.insert(servable.name);
    Watched& watched = watched_[servable.name];
    watched.servable = std::move(servable);
  }
  for (auto it = watched_.begin(); it != watched_.end();) {
    if (names.contains(it->first)) {
      ++it;
      continue;
    }
    if (it->second.emitted) target_->SetAspiredVersions(it->first, {});
    it = watched_.erase(it);
  }
  Poll();
  if (!loop_.joinable() && !stopping_ && options_.poll_interval > absl::ZeroDuration()) {
    loop_ = std::thread([this] { RunLoop(); });
  }
}

void FileSystemSource::Stop() {
  std::thread loop;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    stop_changed_.SignalAll();
    loop.swap(loop_);
  }
  if (loop.joinable()) loop.join();
}

void FileSystemSource::RunLoop() {
  pthread_setname_np(pthread_self(), "fs_source");
  absl::MutexLock lock(&mu_);
  while (true) {
    const absl::Time next = absl::Now() + options_.poll_interval;
    while (!stopping_ && !stop_changed_.WaitWithDeadline(&mu_, next)) {
    }
    if (stopping_) return;
    Poll();
  }
}

void FileSystemSource::Poll() {
  for (auto& [name, watched] : watched_) PollOne(watched);
}

void FileSystemSource::PollOne(Watched& watched) {
  const MonitoredServable& servable = watched.servable;
  absl::StatusOr<VersionPaths> versions = FindVersions(servable);
  if (!versions.ok()) {
    LogProblem(watched, absl::StrCat("base path cannot be read, its versions stay as they are: ",
                                     versions.status().ToString()));
    return;
  }
  if (versions->empty()) {
    LogProblem(watched, absl::StrCat("no version to serve below ", servable.base_path));
  } else {
    watched.problem.clear();
  }
  if (watched.emitted && watched.versions == *versions) return;
  AspiredVersions<std::string> aspired;
  // Highest first: the order in which versions should get their turn.
  for (auto it = versions->rbegin(); it != versions->rend(); ++it) {
    aspired.push_back({{servable.name, it->first}, it->second});
  }
  target_->SetAspiredVersions(servable.name, std::move(aspired));
  watched.emitted = true;
  watched.versions = *std::move(versions);
}

void FileSystemSource::LogProblem(Watched& watched, std::string problem) {
  const absl::Time now = absl::Now();
  if (problem == watched.problem && now < watched.problem_logged + kProblemLogInterval) return;
  LOG(WARNING) << "servable '" << watched.servable.name << "': " << problem;
  watched.problem = std::move(problem);
  watched.problem_logged = now;
}

}  // namespace tessera::serving
