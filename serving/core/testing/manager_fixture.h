// What tests of the manager share: a loader that does as it is told, and a manager that is watched.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "serving/core/manager.h"
#include "serving/core/servable_state_monitor.h"

namespace tessera::serving {

// A servable that knows whether it is alive.
struct Model {
  explicit Model(int64_t v) : version(v) {}
  ~Model() { version = -1; }
  std::atomic<int64_t> version;
};

// What loaders do when they are told, and what they were told. Thread-safe by its lock.
struct Faults {
  absl::Mutex mu;
  std::map<ServableId, absl::Status> load ABSL_GUARDED_BY(mu);
  std::map<ServableId, absl::Notification*> hold ABSL_GUARDED_BY(mu);
  std::map<ServableId, absl::Status> damage ABSL_GUARDED_BY(mu);
  absl::Status estimate ABSL_GUARDED_BY(mu);
  // Of each version's loader, after estimates: "Load" and so on.
  std::map<ServableId, std::vector<std::string>> calls ABSL_GUARDED_BY(mu);
  // Called by BeginDraining() of any version, if set.
  std::function<void()> on_draining;
  // Bytes of any version.
  int64_t memory ABSL_GUARDED_BY(mu) = 1;
};

// Makes a Model, as its faults allow.
class FakeLoader : public Loader {
 public:
  FakeLoader(ServableId id, Faults* faults) : id_(std::move(id)), faults_(faults) {}
  absl::StatusOr<MemoryEstimate> EstimateMemory() override {
    absl::MutexLock lock(&faults_->mu);
    if (!faults_->estimate.ok()) return faults_->estimate;
    return MemoryEstimate{.mapped = faults_->memory};
  }
  absl::Status Load() override {
    const absl::Time start = absl::Now();
    absl::Notification* hold = nullptr;
    absl::Status status;
    {
      absl::MutexLock lock(&faults_->mu);
      faults_->calls[id_].push_back("Load");
      if (auto it = faults_->load.find(id_); it != faults_->load.end()) status = it->second;
      if (auto it = faults_->hold.find(id_); it != faults_->hold.end()) hold = it->second;
    }
    if (hold != nullptr) hold->WaitForNotification();
    if (status.ok()) model_ = std::make_unique<Model>(id_.version);
    stages_ = {{"make", absl::Now() - start}};
    return status;
  }
  LoadStages Stages() const override { return stages_; }
  void BeginDraining() override {
    Note("BeginDraining");
    if (faults_->on_draining != nullptr) faults_->on_draining();
  }
  void Unload() override {
    Note("Unload");
    model_.reset();
  }
  AnyServable servable() override { return AnyServable(model_.get()); }
  absl::Status Health() const override {
    absl::MutexLock lock(&faults_->mu);
    auto it = faults_->damage.find(id_);
    return it == faults_->damage.end() ? absl::OkStatus() : it->second;
  }

 private:
  void Note(const char* call) {
    absl::MutexLock lock(&faults_->mu);
    faults_->calls[id_].push_back(call);
  }

  const ServableId id_;
  Faults* const faults_;
  std::unique_ptr<Model> model_;
  LoadStages stages_;
};

// A manager without pauses, and what its bus tells.
class Fixture {
 public:
  explicit Fixture(AspiredVersionsManager::Options options = {})
      : recording_(bus_.Subscribe([this](const ServableState& event) {
          absl::MutexLock lock(&events_mu_);
          events_.push_back(event);
        })),
        monitor_(&bus_) {
    options.bus = &bus_;
    if (options.load_retry_interval == absl::Minutes(1)) {
      options.load_retry_interval = absl::Milliseconds(1);
    }
    manager_ = std::make_unique<AspiredVersionsManager>(options);
  }

  void Aspire(const std::string& name, std::vector<int64_t> versions, uint64_t revision = 0) {
    AspiredVersions<std::unique_ptr<Loader>> data;
    for (int64_t version : versions) {
      ServableId id{name, version};
      data.push_back({id, std::make_unique<FakeLoader>(id, &faults), revision});
    }
    manager_->SetAspiredVersions(name, std::move(data));
  }
  bool WaitUntil(const std::string& name, int64_t version, State state) {
    return monitor_.WaitUntil(
        [&](const ServableStateMonitor::AllStates& states) {
          auto it = states.find(name);
          if (it == states.end()) return false;
          auto found = it->second.find(version);
          return found != it->second.end() && found->second.state == state;
        },
        absl::Now() + absl::Minutes(1));
  }
  // Returns true once the manager has looked at all that it was told before: another servable,
  // which it is told now, has been loaded and unloaded.
  bool AwaitItsTurn() {
    Aspire("last in line", {1});
    const bool loaded = WaitUntil("last in line", 1, State::kAvailable);
    Aspire("last in line", {});
    return loaded && WaitUntil("last in line", 1, State::kEnd);
  }
  absl::StatusOr<ServableHandle<Model>> Acquire(const std::string& name,
                                                std::optional<int64_t> version = {}) {
    return manager_->Acquire<Model>({name, version});
  }
  State StateOf(const std::string& name, int64_t version) {
    return monitor_.StatesOf(name).at(version).state;
  }
  absl::Status StatusOf(const std::string& name, int64_t version) {
    return monitor_.StatesOf(name).at(version).health;
  }
  void FailLoadsOf(const std::string& name, int64_t version, absl::Status status) {
    absl::MutexLock lock(&faults.mu);
    if (status.ok()) {
      faults.load.erase({name, version});
    } else {
      faults.load[{name, version}] = status;
    }
  }
  void HoldLoadsOf(const std::string& name, int64_t version, absl::Notification* until) {
    absl::MutexLock lock(&faults.mu);
    faults.hold[{name, version}] = until;
  }
  int TriesOf(const std::string& name, int64_t version) {
    absl::MutexLock lock(&faults.mu);
    const std::vector<std::string>& calls = faults.calls[{name, version}];
    return static_cast<int>(std::count(calls.begin(), calls.end(), "Load"));
  }
  std::vector<std::string> CallsOf(const std::string& name, int64_t version) {
    absl::MutexLock lock(&faults.mu);
    return faults.calls[{name, version}];
  }
  void SetMemoryOfVersions(int64_t bytes) {
    absl::MutexLock lock(&faults.mu);
    faults.memory = bytes;
  }
  // "6 LOADING" and so on, for one name. A state that is told again, with another health, counts
  // once.
  std::vector<std::string> History(const std::string& name) {
    std::vector<std::string> events;
    absl::MutexLock lock(&events_mu_);
    for (const ServableState& event : events_) {
      if (event.id.name != name) continue;
      const std::string text = absl::StrCat(event.id.version, " ", StateName(event.state));
      if (events.empty() || events.back() != text) events.push_back(text);
    }
    return events;
  }
  AspiredVersionsManager& manager() { return *manager_; }
  void DestroyManager() { manager_.reset(); }

  Faults faults;

 private:
  ServableEventBus bus_;
  absl::Mutex events_mu_;
  std::vector<ServableState> events_ ABSL_GUARDED_BY(events_mu_);  // oldest first
  // Subscribes before the monitor, so that an event that WaitUntil() has seen is in History().
  const std::unique_ptr<ServableEventBus::Subscription> recording_;
  ServableStateMonitor monitor_;
  std::unique_ptr<AspiredVersionsManager> manager_;
};

}  // namespace tessera::serving
