// AspiredVersionsManager: keeps in memory the versions that the sources aspire to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/host/background.h"
#include "runtime/host/core_set.h"
#include "runtime/host/pace.h"
#include "serving/core/elastic_pool.h"
#include "serving/core/load_report.h"
#include "serving/core/loader.h"
#include "serving/core/memory_budget.h"
#include "serving/core/name_hash.h"
#include "serving/core/rcu.h"
#include "serving/core/servable_event_bus.h"
#include "serving/core/servable_handle.h"
#include "serving/core/source.h"
#include "serving/core/version_policy.h"

namespace tessera::serving {

// Loads, unloads and hands out versions of servables, as the sources aspire to them.
//
//   AspiredVersionsManager manager({.bus = &bus});
//   source.ConnectTo(&manager);                       // versions now arrive by themselves
//   ASSIGN_OR_RETURN(auto model, manager.Acquire<Model>({"resnet"}));
//   model->Predict(...);                              // the version lives until the handle dies
//
// A version moves through the states of servable_state.h.
//
// The latest call of SetAspiredVersions() for a name replaces all earlier ones. A version that it
// leaves out is unloaded when the version policy allows it. A version is unloaded for one other
// reason alone, which is that its loader finds it damaged. Names never wait for each other's loads.
//
// A version that failed stays in state kEnd, with the reason, while it stays aspired. It is tried
// again when its source tells another revision of it, or leaves it out and then aspires to it
// again. A version that is aspired while it is being unloaded is loaded anew after that. A version
// that does not fit into the memory limit fails, and is tried again once it fits.
//
// A version can be acquired before its kAvailable is published, and until its kUnloading has been
// published. So a client that waits for an event never asks too early, and no request without a
// version fails during a switch.
//
// Thread-safe. Acquire() takes no lock, waits for no load or unload, and writes nothing that
// Acquire() on another core reads.
class AspiredVersionsManager : public Target<std::unique_ptr<Loader>> {
 public:
  struct Options {
    // Every state change is published here. May be null. Must outlive the manager.
    ServableEventBus* bus = nullptr;
    // Threads that load versions. With 0, the names share as many threads as there are cores, and
    // the versions of a name are loaded one after the other, highest first, each with its retries.
    // With more, as many versions are loaded at once as there are threads, whatever their names.
    int num_load_threads = 0;
    // Threads that unload versions. 0 counts as 1.
    int num_unload_threads = 0;
    // Further tries after a failed load, and the longest pause before one. The first pause is a
    // sixteenth of the interval; the next ones double until they reach it. No thread is held during
    // a pause. There are no further tries after INVALID_ARGUMENT and UNIMPLEMENTED, which the same
    // files would give again.
    int max_load_retries = 5;
    absl::Duration load_retry_interval = absl::Minutes(1);
    // The most bytes that the estimates of all loaded versions may add up to. 0: no limit.
    int64_t memory_limit = 0;
    // Priority of the load and unload threads after StartYielding().
    ThreadPriority priority = ThreadPriority::kLow;
    // The pool that loads compute in after StartYielding(), so that they do not hold up requests.
    // Null: loads compute in the pools of requests. Must outlive the manager.
    ThreadPool* background_pool = nullptr;
    // The cores that load threads, and all threads that they start, stay on after StartYielding().
    // The threads of background_pool ought to stay on them too. Empty: any core.
    CoreSet load_cores;
    // Paces the load and unload threads after StartYielding(). Null: they work at full speed. Must
    // outlive the manager.
    Pacer* pacer = nullptr;
    // A load that takes longer than this is logged, and no longer counts as one of the loads at a
    // time: other versions of its name are loaded, and a thread is started in place of its own.
    absl::Duration slow_load = absl::Minutes(1);
    // Time between two checks of the health of loaded versions.
    absl::Duration health_interval = absl::Seconds(1);
    // Told of each try to load a version when it has ended, before the state that follows from it
    // is published. Must be quick, and must not call the manager. May be empty.
    ReportLoad report_load;
    // Gives freed memory back to the system. Called after unloads, once for several of them, on a
    // thread of its own.
    std::function<void()> trim_memory;
  };

  explicit AspiredVersionsManager(const Options& options);
  // Ends retries, waits for running loads and for all handles, and unloads everything.
  ~AspiredVersionsManager() override;

  void SetAspiredVersions(absl::string_view name,
                          AspiredVersions<std::unique_ptr<Loader>> versions) override;

  // Tells that requests come from now on: later loads run at Options::priority. Before that there
  // is nobody to yield to, and loads run at normal priority so that the first versions are up
  // sooner.
  void StartYielding();

  // Returns a handle to the requested version, or to the highest available one if the request names
  // none. Errors: NOT_FOUND if there is none; INVALID_ARGUMENT if the servable is not a T;
  // UNAVAILABLE, with the cause, if the only such versions were on a device that is lost.
  template <typename T>
  absl::StatusOr<ServableHandle<T>> Acquire(const ServableRequest& request) const {
    HolderCount::Stripe* stripe = nullptr;
    const Served* served = Pin(request, &stripe);
    if (served == nullptr) [[unlikely]]
      return NotFound(request);
    T* servable = served->servable.get<T>();
    if (servable == nullptr) [[unlikely]] {
      stripe->holders.fetch_sub(1, std::memory_order_release);
      return WrongType(request);
    }
    return ServableHandle<T>(servable, &served->id, stripe);
  }

  // Returns the versions of `name` that can be acquired now, in ascending order. Takes no lock.
  std::vector<int64_t> AvailableVersions(absl::string_view name) const;

  // Returns all versions that can be acquired now, by name and number. Takes no lock.
  std::vector<ServableId> AvailableVersions() const;

  // Returns the estimates of the versions that count against the memory limit: from before they are
  // loaded until they have been unloaded.
  std::map<ServableId, MemoryEstimate> MemoryInUse() const { return memory_.reserved(); }

 private:
  // The part of a version that requests see.
  struct Served {
    ServableId id;
    AnyServable servable;
    HolderCount holders;
  };
  struct Version;
  struct Name;
  // Available versions by name, ascending.
  using ServingMap =
      absl::flat_hash_map<std::string, std::vector<Served*>, NameHash, std::equal_to<>>;

  const Served* Pin(const ServableRequest& request, HolderCount::Stripe** stripe) const;
  absl::Status NotFound(const ServableRequest& request) const;
  static absl::Status WrongType(const ServableRequest& request);

  void RunLoop();
  void AddVersion(Name& name, ServableData<std::unique_ptr<Loader>> data)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Applies a new call of SetAspiredVersions() to a version that exists. Returns true if the
  // version must be added anew once it is gone.
  bool AspireAgain(Version& version, bool was_aspired, ServableData<std::unique_ptr<Loader>>& data)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Does all that can be done for a name now. Returns the earliest time at which there is more to
  // do.
  absl::Time Advance(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Time AdvanceVersions(Name& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Takes one action of the version policy. Returns false if there is none to take now.
  bool FollowPolicy(Name& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Ends the versions whose loaders find them damaged.
  void CheckHealth() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartLoad(Version& version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountSlowLoads(int change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartDraining(Version& version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void End(Version& version, absl::Status health) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // These run on load and unload threads.
  void Load(Version& version) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status TryLoad(Version& version, LoadStages* stages) ABSL_LOCKS_EXCLUDED(mu_);
  void Unload(Version& version) ABSL_LOCKS_EXCLUDED(mu_);
  // Tries versions again that did not fit into the memory limit. Called when memory was given back.
  void RetryRefused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ScheduleTrim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PublishState(const Version& version, State state, absl::Status health = absl::OkStatus())
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PublishServingMap() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  RcuPointer<ServingMap> serving_;  // written under mu_
  absl::Mutex mu_;
  mutable absl::Mutex lost_mu_ ABSL_ACQUIRED_AFTER(mu_);
  // Versions that were taken out because their device is lost, and why.
  std::vector<std::pair<ServableId, absl::Status>> lost_ ABSL_GUARDED_BY(lost_mu_);
  absl::CondVar work_;
  absl::flat_hash_map<std::string, std::unique_ptr<Name>> names_ ABSL_GUARDED_BY(mu_);
  // Names to advance now, and the times at which to advance names that wait for something.
  absl::flat_hash_set<std::string> dirty_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, absl::Time> alarms_ ABSL_GUARDED_BY(mu_);
  absl::Time next_health_check_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  int slow_loads_ ABSL_GUARDED_BY(mu_) = 0;
  bool yielding_ ABSL_GUARDED_BY(mu_) = false;
  bool trim_pending_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  MemoryBudget memory_;
  // Runs at normal priority, because it holds locks of malloc that requests may wait for.
  ElasticPool trim_pool_;
  ElasticPool first_load_pool_;
  ElasticPool load_pool_;
  ElasticPool unload_pool_;
  std::thread loop_;
};

}  // namespace tessera::serving
