#include "serving/core/manager.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/cpu_count.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

// The interval at which a version that is to be unloaded is checked for remaining handles.
constexpr absl::Duration kDrainInterval = absl::Milliseconds(5);

// The number of first loads for each core. It is above one because a load that waits for its disk
// should not keep a core idle while there are no requests to yield to.
constexpr int kFirstLoadsPerCore = 4;
// The number of retries until the pause between them, which doubles, has its full length.
constexpr int kFirstPauseHalvings = 4;

// Returns whether another try to load the same files would end in the same error.
bool IsPermanent(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsInvalidArgument(status);
}

int LoadThreads(const AspiredVersionsManager::Options& options) {
  return options.num_load_threads > 0 ? options.num_load_threads : AvailableCores();
}

int FirstLoadThreads(const AspiredVersionsManager::Options& options) {
  return options.num_load_threads > 0 ? options.num_load_threads
                                      : kFirstLoadsPerCore * AvailableCores();
}

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
  std::unique_ptr<Loader> next_loader;  // of a revision told while `loader` was loading
  Phase phase = Phase::kNew;
  bool aspired = true;
  bool announced_loading = false;
  uint64_t revision = 0;
  int failures = 0;
  absl::Time retry_at;
  absl::Status last_failure;
  MemoryEstimate memory;     // of the last try to load
  bool had_no_room = false;  // the last try ended for lack of `memory`
  absl::Time slow_at;        // while kLoading on a thread: when to call the load slow
  bool slow = false;         // while kLoading: it was called so
  absl::Status damage;       // of one that is unloaded for it

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
  // Versions that were aspired again while they are unloaded. They are added once that is done.
  std::map<int64_t, ServableData<std::unique_ptr<Loader>>> waiting;
};

AspiredVersionsManager::AspiredVersionsManager(const Options& options)
    : options_(options),
      memory_(options.memory_limit),
      trim_pool_({.name = "trim"}),
      first_load_pool_({.name = "first_load", .max_threads = FirstLoadThreads(options)}),
      load_pool_({.name = "load",
                  .max_threads = LoadThreads(options),
                  .priority = options.priority,
                  .cores = options.load_cores,
                  .pacer = options.pacer}),
      unload_pool_({.name = "unload",
                    .max_threads = std::max(1, options.num_unload_threads),
                    .priority = options.priority,
                    .pacer = options.pacer}),
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
  // Loaders that are not needed are destroyed with `versions`, after the lock is released.
  std::map<int64_t, ServableData<std::unique_ptr<Loader>>> waiting;
  for (ServableData<std::unique_ptr<Loader>>& data : versions) {
    const int64_t number = data.id.version;
    auto it = state->versions.find(number);
    if (it == state->versions.end()) {
      AddVersion(*state, std::move(data));
    } else if (AspireAgain(*it->second, aspired_before.contains(number), data)) {
      waiting.emplace(number, std::move(data));
    }
  }
  state->waiting.swap(waiting);
  dirty_.emplace(name);
  work_.Signal();
}

void AspiredVersionsManager::StartYielding() {
  absl::MutexLock lock(&mu_);
  yielding_ = true;
}

bool AspiredVersionsManager::AspireAgain(Version& version, bool was_aspired,
                                         ServableData<std::unique_ptr<Loader>>& data) {
  using Phase = Version::Phase;
  const bool changed = version.revision != data.revision;
  switch (version.phase) {
    case Phase::kDraining:
    case Phase::kUnloading:
      return true;
    case Phase::kEnded:
      // A version that is no longer aspired is dropped; the loop has not reached it yet.
      if (!was_aspired || changed) return true;
      break;
    case Phase::kRetrying:
      if (!changed || !data.data.ok()) break;
      version.loader.swap(*data.data);
      version.failures = 0;
      version.retry_at = absl::Now();
      break;
    case Phase::kReady:
      if (changed) {
        LOG(WARNING) << "the files of servable " << version.id().ToString()
                     << " have changed since it was loaded; what was loaded is served on. Give "
                        "changed models a new version number";
      }
      break;
    case Phase::kNew:
    case Phase::kLoading:
      if (changed && data.data.ok()) version.next_loader.swap(*data.data);
      break;
  }
  version.aspired = true;
  version.revision = data.revision;
  return false;
}

void AspiredVersionsManager::AddVersion(Name& name, ServableData<std::unique_ptr<Loader>> data) {
  auto version = std::make_unique<Version>();
  version->served.id = {name.name, data.id.version};
  version->revision = data.revision;
  PublishState(*version, State::kStart);
  if (data.data.ok()) {
    version->loader = *std::move(data.data);
  } else {
    End(*version, data.data.status());
  }
  name.versions[data.id.version] = std::move(version);
}

void AspiredVersionsManager::RunLoop() {
  pthread_setname_np(pthread_self(), "manager");
  absl::MutexLock lock(&mu_);
  while (!stopping_ || !names_.empty()) {
    absl::Time next = next_health_check_;
    for (const auto& [name, time] : alarms_) next = std::min(next, time);
    if (dirty_.empty()) work_.WaitWithDeadline(&mu_, next);

    absl::flat_hash_set<std::string> todo;
    todo.swap(dirty_);
    const absl::Time now = absl::Now();
    for (const auto& [name, time] : alarms_) {
      if (time <= now) todo.insert(name);
    }
    if (now >= next_health_check_) CheckHealth();
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
    } else if (version.phase == Phase::kLoading && !version.slow) {
      if (version.slow_at <= now) {
        version.slow = true;
        CountSlowLoads(1);
        LOG(WARNING) << "servable " << version.id().ToString() << " has been loading for "
                     << absl::FormatDuration(options_.slow_load)
                     << " and goes on; others do not wait for it";
      } else {
        again = std::min(again, version.slow_at);
      }
    } else if (version.phase == Phase::kDraining) {
      if (version.served.holders.IsZero()) {
        version.phase = Phase::kUnloading;
        // The process waits for the unloads of its end, which must not starve on a busy machine.
        ElasticPool& pool = stopping_ ? first_load_pool_ : unload_pool_;
        pool.Schedule([this, &version] { Unload(version); });
      } else {
        again = std::min(again, now + kDrainInterval);
      }
    }
    const bool forget = version.phase == Phase::kEnded && !version.aspired;
    const bool was_damaged = forget && !version.damage.ok();
    it = forget ? name.versions.erase(it) : std::next(it);
    if (was_damaged) PublishServingMap();
  }
  for (auto it = name.waiting.begin(); it != name.waiting.end();) {
    if (name.versions.contains(it->first)) {
      ++it;
    } else {
      AddVersion(name, std::move(it->second));
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
    // One that is loaded again once it is unloaded is wanted already: until then the others serve.
    snapshots.back().aspired |= name.waiting.contains(number);
    load_running |= version->InLoad() && !version->slow;
  }
  const std::optional<VersionAction> action = NextAction(snapshots);
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
  version.slow_at = absl::InfiniteFuture();
  ElasticPool& pool = yielding_ ? load_pool_ : first_load_pool_;
  pool.Schedule([this, &version, background = yielding_ ? options_.background_pool : nullptr] {
    BackgroundScope scope(background);
    Load(version);
  });
}

void AspiredVersionsManager::CountSlowLoads(int change) {
  slow_loads_ += change;
  load_pool_.set_max_threads(LoadThreads(options_) + slow_loads_);
  first_load_pool_.set_max_threads(FirstLoadThreads(options_) + slow_loads_);
}

void AspiredVersionsManager::Load(Version& version) {
  const std::string id = version.id().ToString();
  const absl::Time start = absl::Now();
  {
    absl::MutexLock lock(&mu_);
    version.slow_at = start + options_.slow_load;
    version.had_no_room = false;
    if (version.next_loader != nullptr) version.loader = std::move(version.next_loader);
    dirty_.insert(version.id().name);  // sets the alarm
    work_.Signal();
  }
  LoadReport report{.id = version.id(), .start = start};
  absl::Status status = TryLoad(version, &report.stages);

  absl::MutexLock lock(&mu_);
  const bool changed = version.next_loader != nullptr && version.aspired;
  if (changed && status.ok()) {
    // The version may mix old files with new ones. Nobody has a handle to it yet.
    version.loader->Unload();
    memory_.Release(version.id());
    status = absl::AbortedError("the version's files changed while it was loaded");
  }
  if (options_.report_load != nullptr) {
    report.time = absl::Now() - start;
    report.status = status;
    options_.report_load(report);
  }
  dirty_.insert(version.id().name);
  work_.Signal();
  if (std::exchange(version.slow, false)) CountSlowLoads(-1);
  if (status.ok()) {
    LOG(INFO) << "loaded servable " << id << " in "
              << absl::FormatDuration(absl::Ceil(absl::Now() - start, absl::Milliseconds(1)));
    version.served.servable = version.loader->servable();
    version.phase = Version::Phase::kReady;
    next_health_check_ = std::min(next_health_check_, absl::Now() + options_.health_interval);
    PublishServingMap();
    PublishState(version, State::kAvailable);
    return;
  }
  version.last_failure = status;
  if (!version.had_no_room) RetryRefused();  // the failed try has returned what it had reserved
  const bool is_permanent = IsPermanent(status);
  // Memory was released since the try, and who released it saw a load under way.
  const bool has_room = !changed && version.had_no_room && memory_.Fits(version.memory);
  const bool at_once = changed || has_room;
  const bool last_try =
      !at_once && (version.failures++ >= options_.max_load_retries || is_permanent);
  if (at_once) version.failures = 0;
  if (has_room) {
    LOG(INFO) << "loading servable " << id << " again, for there is memory now";
  } else if (changed) {
    LOG(WARNING) << "loading servable " << id
                 << " again, for its files have changed: " << status.ToString();
  } else {
    LOG(ERROR) << "loading servable " << id << " failed ("
               << (is_permanent ? "not to be tried again with these files"
                                : absl::StrCat("try ", version.failures, " of ",
                                               1 + std::max(0, options_.max_load_retries)))
               << "): " << status.ToString();
  }
  if (last_try || !version.aspired) {
    End(version, status);
  } else {
    version.phase = Version::Phase::kRetrying;
    PublishState(version, version.announced_loading ? State::kLoading : State::kStart, status);
    const int halvings = std::max(0, kFirstPauseHalvings + 1 - version.failures);
    version.retry_at = absl::Now();
    if (!at_once) version.retry_at += options_.load_retry_interval / (1 << halvings);
  }
}

absl::Status AspiredVersionsManager::TryLoad(Version& version, LoadStages* stages) {
  const ServableId& id = version.id();
  const absl::Time start = absl::Now();
  absl::StatusOr<MemoryEstimate> memory = version.loader->EstimateMemory();
  stages->emplace_back("estimate", absl::Now() - start);
  if (!memory.ok()) {
    return Annotate(memory.status(),
                    absl::StrCat("Error while attempting to reserve resources to load servable ",
                                 id.ToString(), ": "));
  }
  const absl::Status reserved = memory_.Reserve(id, *memory);
  {
    absl::MutexLock lock(&mu_);
    version.memory = *memory;
    version.had_no_room = !reserved.ok();
    if (!reserved.ok()) return reserved;
    // A load that is retried has been in this state since its first try.
    if (!std::exchange(version.announced_loading, true)) PublishState(version, State::kLoading);
  }
  const absl::Status status = version.loader->Load();
  for (auto& stage : version.loader->Stages()) stages->push_back(std::move(stage));
  if (!status.ok()) memory_.Release(id);
  return status;
}

void AspiredVersionsManager::RetryRefused() {
  using Phase = Version::Phase;
  for (auto& [name, state] : names_) {
    for (auto& [number, version] : state->versions) {
      if (!version->had_no_room || !version->aspired || !memory_.Fits(version->memory)) continue;
      if (version->phase == Phase::kEnded) {
        version->phase = Phase::kNew;
        version->announced_loading = false;
        PublishState(*version, State::kStart);
      } else if (version->phase != Phase::kRetrying) {
        continue;
      }
      version->failures = 0;
      version->retry_at = absl::Now();
      dirty_.insert(name);
    }
  }
  work_.Signal();
}

void AspiredVersionsManager::CheckHealth() {
  bool any_ready = false;
  for (auto& [name, state] : names_) {
    for (auto& [number, version] : state->versions) {
      if (version->phase != Version::Phase::kReady) continue;
      any_ready = true;
      version->damage = version->loader->Health();
      if (version->damage.ok()) continue;
      LOG(ERROR) << "servable " << version->id().ToString()
                 << " is taken out of service: " << version->damage.ToString();
      StartDraining(*version);
      dirty_.insert(name);
    }
  }
  next_health_check_ = any_ready ? absl::Now() + options_.health_interval : absl::InfiniteFuture();
}

void AspiredVersionsManager::StartDraining(Version& version) {
  version.phase = Version::Phase::kDraining;
  // A request that comes after the event must not get this version any more.
  PublishServingMap();
  version.loader->BeginDraining();
  PublishState(version, State::kUnloading);
}

void AspiredVersionsManager::Unload(Version& version) {
  version.loader->Unload();
  version.loader.reset();
  LOG(INFO) << "unloaded servable " << version.id().ToString();
  memory_.Release(version.id());

  absl::MutexLock lock(&mu_);
  End(version, version.damage);
  dirty_.insert(version.id().name);
  RetryRefused();
  ScheduleTrim();
}

void AspiredVersionsManager::ScheduleTrim() {
  if (options_.trim_memory == nullptr || std::exchange(trim_pending_, true)) return;
  trim_pool_.Schedule([this] {
    {
      absl::MutexLock lock(&mu_);
      trim_pending_ = false;
    }
    options_.trim_memory();
  });
}

void AspiredVersionsManager::End(Version& version, absl::Status health) {
  version.phase = Version::Phase::kEnded;
  // A version without room has loaded nothing, and keeps its loader for a later try.
  if (version.loader != nullptr && !version.had_no_room) {
    // The loader of a failed load may still hold much memory, so it is destroyed outside the lock.
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
  std::vector<std::pair<ServableId, absl::Status>> lost;
  for (const auto& [name, state] : names_) {
    for (const auto& [number, version] : state->versions) {
      if (version->phase == Version::Phase::kReady) (*map)[name].push_back(&version->served);
      if (absl::IsUnavailable(version->damage)) lost.emplace_back(version->id(), version->damage);
    }
  }
  {
    // Before a lost version is hidden.
    absl::MutexLock lock(&lost_mu_);
    lost_ = std::move(lost);
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
    // Counted within the section: a thread that hides the version waits for its end, and so sees
    // the count.
    (*stripe)->holders.fetch_add(1, std::memory_order_relaxed);
    return found;
  });
}

absl::Status AspiredVersionsManager::NotFound(const ServableRequest& request) const {
  absl::MutexLock lock(&lost_mu_);
  for (const auto& [id, status] : lost_) {
    if (id.name == request.name && (!request.version || *request.version == id.version)) {
      return status;
    }
  }
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

std::vector<ServableId> AspiredVersionsManager::AvailableVersions() const {
  std::vector<ServableId> ids = serving_.Read([](const ServingMap* map) {
    std::vector<ServableId> read;
    if (map == nullptr) return read;
    for (const auto& [name, versions] : *map) {
      for (const Served* served : versions) read.push_back(served->id);
    }
    return read;
  });
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace tessera::serving
