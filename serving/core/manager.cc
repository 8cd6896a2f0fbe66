#include "serving/core/manager.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

// How often a version that is to be unloaded is looked at for its last handle's end.
constexpr absl::Duration kDrainInterval = absl::Milliseconds(5);

int Cores() { return std::max(1u, std::thread::hardware_concurrency()); }

}  // namespace

struct AspiredVersionsManager::Version {
  enum class Phase {
    kNew,
    kLoading,   // on a load thread, or queued for one
    kRetrying,  // waits for retry_at
    kReady,
    kDraining,   // hidden from requests; waits for handles
    kUnloading,  // on an unload thread, or queued for one
    kEnded,
  };

  Served served;
  std::unique_ptr<Loader> loader;
  Phase phase = Phase::kNew;
  bool aspired = true;
  bool announced_loading = false;
  int failures = 0;
  absl::Time retry_at;
  absl::Status last_failure;

  const ServableId& id() const { return served.id; }
  bool InLoad() const { return phase == Phase::kLoading || phase == Phase::kRetrying; }
  VersionSnapshot Snapshot() const {
    using State = VersionSnapshot::State;
    switch (phase) {
      case Phase::kNew:
        return {id().version, State::kNew, aspired};
      case Phase::kLoading:
      case Phase::kRetrying:
        return {id().version, State::kLoading, aspired};
      case Phase::kReady:
        return {id().version, State::kReady, aspired};
      case Phase::kDraining:
      case Phase::kUnloading:
        return {id().version, State::kUnloading, aspired};
      case Phase::kEnded:
        break;
    }
    return {id().version, State::kEnded, aspired};
  }
};

struct AspiredVersionsManager::Name {
  std::string name;
  std::map<int64_t, std::unique_ptr<Version>> versions;
  // Aspired again while being unloaded: to be added once that is done.
  std::map<int64_t, absl::StatusOr<std::unique_ptr<Loader>>> waiting;
};

AspiredVersionsManager::AspiredVersionsManager(const Options& options)
    : options_(options),
      load_pool_({.name = "load",
                  .max_threads = options.num_load_threads > 0 ? options.num_load_threads : Cores(),
                  .nice = options.nice}),
      unload_pool_({.name = "unload",
                    .max_threads = std::max(1, options.num_unload_threads),
                    .nice = options.nice}),
      loop_([this] { RunLoop(); }) {}

AspiredVersionsManager::~AspiredVersionsManager() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    for (auto& [name, state] : names_) {
      state->waiting.clear();
      for (auto& [number, version] : state->versions) version->aspired = false;
      dirty_.insert(name);
    }
    work_.Signal();
  }
  loop_.join();
}

void AspiredVersionsManager::SetAspiredVersions(absl::string_view name,
                                                AspiredVersions<std::unique_ptr<Loader>> versions) {
  using Phase = Version::Phase;
  absl::MutexLock lock(&mu_);
  if (stopping_) return;
  std::unique_ptr<Name>& state = names_[name];
  if (state == nullptr) {
    state = std::make_unique<Name>();
    state->name = std::string(name);
  }
  absl::flat_hash_set<int64_t> aspired_before;
  for (auto& [number, version] : state->versions) {
    if (version->aspired) aspired_before.insert(number);
    version->aspired = false;
  }
  // Loaders that are not needed die with `versions`, after the lock.
  std::map<int64_t, absl::StatusOr<std::unique_ptr<Loader>>> waiting;
  for (ServableData<std::unique_ptr<Loader>>& data : versions) {
    auto it = state->versions.find(data.id.version);
    if (it == state->versions.end()) {
      AddVersion(*state, data.id.version, std::move(data.data));
      continue;
    }
    Version& version = *it->second;
    const bool leaving = version.phase == Phase::kDraining || version.phase == Phase::kUnloading;
    // One that ended and was not aspired is forgotten; the loop has not come to it yet.
    const bool forgotten =
        version.phase == Phase::kEnded && !aspired_before.contains(data.id.version);
    if (leaving || forgotten) {
      waiting.emplace(data.id.version, std::move(data.data));
    } else {
      version.aspired = true;
    }
  }
  state->waiting.swap(waiting);
  dirty_.emplace(name);
  work_.Signal();
}

void AspiredVersionsManager::AddVersion(Name& name, int64_t number,
                                        absl::StatusOr<std::unique_ptr<Loader>> loader) {
  auto version = std::make_unique<Version>();
  version->served.id = {name.name, number};
  PublishState(*version, State::kStart);
  if (loader.ok()) {
    version->loader = *std::move(loader);
  } else {
    End(*version, loader.status());
  }
  name.versions[number] = std::move(version);
}

void AspiredVersionsManager::RunLoop() {
  pthread_setname_np(pthread_self(), "manager");
  absl::MutexLock lock(&mu_);
  while (!stopping_ || !names_.empty()) {
    absl::Time next = absl::InfiniteFuture();
    for (const auto& [name, time] : alarms_) next = std::min(next, time);
    if (dirty_.empty()) work_.WaitWithDeadline(&mu_, next);

    absl::flat_hash_set<std::string> todo;
    todo.swap(dirty_);
    const absl::Time now = absl::Now();
    for (const auto& [name, time] : alarms_) {
      if (time <= now) todo.insert(name);
    }
    for (const std::string& name : todo) {
      const absl::Time again = Advance(name);
      if (again == absl::InfiniteFuture()) {
        alarms_.erase(name);
      } else {
        alarms_[name] = again;
      }
    }
  }
}

absl::Time AspiredVersionsManager::Advance(const std::string& name) {
  auto it = names_.find(name);
  if (it == names_.end()) return absl::InfiniteFuture();
  absl::Time again;
  do {
    again = AdvanceVersions(*it->second);
  } while (FollowPolicy(*it->second));
  if (it->second->versions.empty()) names_.erase(it);
  return again;
}

absl::Time AspiredVersionsManager::AdvanceVersions(Name& name) {
  using Phase = Version::Phase;
  const absl::Time now = absl::Now();
  absl::Time again = absl::InfiniteFuture();
  for (auto it = name.versions.begin(); it != name.versions.end();) {
    Version& version = *it->second;
    if (version.phase == Phase::kNew && !version.aspired) {
      End(version, absl::OkStatus());
    } else if (version.phase == Phase::kRetrying) {
      if (!version.aspired) {
        End(version, version.last_failure);
      } else if (version.retry_at <= now) {
        StartLoad(version);
      } else {
        again = std::min(again, version.retry_at);
      }
    } else if (version.phase == Phase::kDraining) {
      if (version.served.holders.IsZero()) {
        version.phase = Phase::kUnloading;
        unload_pool_.Schedule([this, &version] { Unload(version); });
      } else {
        again = std::min(again, now + kDrainInterval);
      }
    }
    const bool forget = version.phase == Phase::kEnded && !version.aspired;
    it = forget ? name.versions.erase(it) : std::next(it);
  }
  for (auto it = name.waiting.begin(); it != name.waiting.end();) {
    if (name.versions.contains(it->first)) {
      ++it;
    } else {
      AddVersion(name, it->first, std::move(it->second));
      it = name.waiting.erase(it);
    }
  }
  return again;
}

bool AspiredVersionsManager::FollowPolicy(Name& name) {
  std::vector<VersionSnapshot> snapshots;
  bool load_running = false;
  for (const auto& [number, version] : name.versions) {
    snapshots.push_back(version->Snapshot());
    load_running |= version->InLoad();
  }
  const std::optional<VersionAction> action = options_.policy->NextAction(snapshots);
  if (!action) return false;
  Version& version = *name.versions.at(action->version);
  if (action->kind == VersionAction::Kind::kUnload) {
    StartDraining(version);
    return true;
  }
  if (load_running && options_.num_load_threads <= 0) return false;
  StartLoad(version);
  return true;
}

void AspiredVersionsManager::StartLoad(Version& version) {
  version.phase = Version::Phase::kLoading;
  load_pool_.Schedule([this, &version] { Load(version); });
}

void AspiredVersionsManager::Load(Version& version) {
  const std::string id = version.id().ToString();
  const absl::Time start = absl::Now();
  absl::StatusOr<int64_t> memory = version.loader->EstimateMemory();
  absl::Status status;
  if (memory.ok()) {
    {
      absl::MutexLock lock(&mu_);
      // A load that is tried again has been in this state all along.
      if (!std::exchange(version.announced_loading, true)) PublishState(version, State::kLoading);
    }
    status = version.loader->Load();
  } else {
    status = Annotate(
        memory.status(),
        absl::StrCat("Error while attempting to reserve resources to load servable ", id, ": "));
  }

  absl::MutexLock lock(&mu_);
  dirty_.insert(version.id().name);
  work_.Signal();
  if (status.ok()) {
    LOG(INFO) << "loaded servable " << id << " in "
              << absl::FormatDuration(absl::Trunc(absl::Now() - start, absl::Milliseconds(1)));
    version.served.servable = version.loader->servable();
    version.phase = Version::Phase::kReady;
    PublishServingMap();
    PublishState(version, State::kAvailable);
    return;
  }
  version.last_failure = status;
  const bool last_try = version.failures++ >= options_.max_load_retries;
  LOG(ERROR) << "loading servable " << id << " failed (try " << version.failures << " of "
             << 1 + std::max(0, options_.max_load_retries) << "): " << status.ToString();
  if (last_try || !version.aspired) {
    End(version, status);
  } else {
    version.phase = Version::Phase::kRetrying;
    version.retry_at = absl::Now() + options_.load_retry_interval;
  }
}

void AspiredVersionsManager::StartDraining(Version& version) {
  version.phase = Version::Phase::kDraining;
  // Whoever learns of the event must not be given the version any more.
  PublishServingMap();
  version.loader->BeginDraining();
  PublishState(version, State::kUnloading);
}

void AspiredVersionsManager::Unload(Version& version) {
  version.loader->Unload();
  version.loader.reset();
  LOG(INFO) << "unloaded servable " << version.id().ToString();

  absl::MutexLock lock(&mu_);
  End(version, absl::OkStatus());
  dirty_.insert(version.id().name);
  work_.Signal();
}

void AspiredVersionsManager::End(Version& version, absl::Status health) {
  version.phase = Version::Phase::kEnded;
  if (version.loader != nullptr) {
    // What a loader of a failed load still holds may be large; let go of it outside the lock.
    unload_pool_.Schedule([loader = std::shared_ptr<Loader>(std::move(version.loader))] {});
  }
  PublishState(version, State::kEnd, std::move(health));
}

void AspiredVersionsManager::PublishState(const Version& version, State state,
                                          absl::Status health) {
  if (options_.bus == nullptr) return;
  options_.bus->Publish({version.id(), state, std::move(health), absl::Now()});
}

void AspiredVersionsManager::PublishServingMap() {
  auto map = std::make_unique<ServingMap>();
  for (const auto& [name, state] : names_) {
    for (const auto& [number, version] : state->versions) {
      if (version->phase == Version::Phase::kReady) (*map)[name].push_back(&version->served);
    }
  }
  serving_.Publish(std::move(map));
}

const AspiredVersionsManager::Served* AspiredVersionsManager::Pin(
    const ServableRequest& request, HolderCount::Stripe** stripe) const {
  return serving_.Read([&](const ServingMap* map) -> const Served* {
    if (map == nullptr) return nullptr;
    auto it = map->find(request.name);
    if (it == map->end()) return nullptr;
    const std::vector<Served*>& versions = it->second;
    Served* found = nullptr;
    if (!request.version) {
      found = versions.back();
    } else {
      auto version = std::lower_bound(
          versions.begin(), versions.end(), *request.version,
          [](const Served* served, int64_t number) { return served->id.version < number; });
      if (version == versions.end() || (*version)->id.version != *request.version) return nullptr;
      found = *version;
    }
    *stripe = &found->holders.ThreadStripe();
    // Counted before the section ends: whoever hides the version waits for that, then sees it.
    (*stripe)->holders.fetch_add(1, std::memory_order_relaxed);
    return found;
  });
}

absl::Status AspiredVersionsManager::NotFound(const ServableRequest& request) {
  return absl::NotFoundError(absl::StrCat("Servable not found for request: ", request.ToString()));
}

absl::Status AspiredVersionsManager::WrongType(const ServableRequest& request) {
  return absl::InvalidArgumentError(
      absl::StrCat("servable of another kind than asked for: ", request.ToString()));
}

std::vector<int64_t> AspiredVersionsManager::AvailableVersions(absl::string_view name) const {
  return serving_.Read([&](const ServingMap* map) {
    std::vector<int64_t> versions;
    if (map == nullptr) return versions;
    auto it = map->find(name);
    if (it == map->end()) return versions;
    for (const Served* served : it->second) versions.push_back(served->id.version);
    return versions;
  });
}

}  // namespace tessera::serving
