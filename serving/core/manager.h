// AspiredVersionsManager: keeps in memory what the sources aspire to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/host/background.h"
#include "runtime/host/core_set.h"
#include "serving/core/elastic_pool.h"
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
// A version moves through the states of servable_state.h. The latest call of SetAspiredVersions()
// for a name replaces all earlier ones: a version left out is to be unloaded, when the policy sees
// fit; but for one whose loader finds it damaged, nothing is unloaded for any other reason. Names
// never wait for each other's loads. A version that failed stays at its end, with the reason, while
// it stays aspired; it is tried again once its source tells another revision of it, or leaves it
// out and aspires to it again. A version aspired while it is being unloaded is loaded anew after
// that. A version that the memory limit has no room for fails, and is tried again once there is.
//
// What Acquire() sees and what the bus tells agree in this order: a version is acquirable before
// its kAvailable is published, and until its kUnloading has been published. So whoever waits for an
// event never asks too early, and no request without a version fails during a switch.
//
// Thread-safe. Acquire() takes no lock, waits for no load or unload, and writes nothing that
// another core's Acquire() reads.
class AspiredVersionsManager : public Target<std::unique_ptr<Loader>> {
 public:
  struct Options {
    // Told of every state change; may be null. Must outlive the manager.
    ServableEventBus* bus = nullptr;
    // Versions of one name loaded at a time. With 0, one, highest first, its retries included, and
    // names share as many threads as there are cores. With more, as many loads as threads, of
    // whatever name.
    int num_load_threads = 0;
    // 0: one thread.
    int num_unload_threads = 0;
    // Further tries after a failed load. A pause before a try holds no thread; the first is a
    // sixteenth of the interval, then they double up to it.
    int max_load_retries = 5;
    absl::Duration load_retry_interval = absl::Minutes(1);
    // Bytes that loaders may estimate together; 0: any number.
    int64_t memory_limit = 0;
    // Of load and unload threads once StartYielding() was called.
    ThreadPriority priority = ThreadPriority::kIdle;
    // Where loads then compute, in place of the pools of requests, which may not be held up. Null:
    // there. Must outlive the manager.
    ThreadPool* background_pool = nullptr;
    // That load threads then stay on, however many they are, with all threads that they start; the
    // pool's ought to do so too. Empty: any.
    CoreSet load_cores;
    // A load that takes longer is logged and no longer counts: others of its name, and as many
    // threads as if it were not there, go on.
    absl::Duration slow_load = absl::Minutes(1);
    // Between two looks at the health of what is loaded.
    absl::Duration health_interval = absl::Seconds(1);
    // Called on a thread of its own after unloads, once for several: gives freed memory back.
    std::function<void()> trim_memory;
  };

  explicit AspiredVersionsManager(const Options& options);
  // Ends retries, waits for loads under way and for all handles, and unloads everything.
  ~AspiredVersionsManager() override;

  void SetAspiredVersions(absl::string_view name,
                          AspiredVersions<std::unique_ptr<Loader>> versions) override;

  // Says that requests come from now on, for which loads make way. Before that there is nobody to
  // yield to, and the sooner the first versions are up the better.
  void StartYielding();

  // A handle to the asked version, or to the highest available one.
  // Errors: NOT_FOUND if that is not available; INVALID_ARGUMENT if the servable is no T.
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

  // Versions of `name` that can be acquired now, ascending. Takes no lock.
  std::vector<int64_t> AvailableVersions(absl::string_view name) const;

  // What versions have been granted of the memory limit, by their estimates: from before they are
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
  static absl::Status NotFound(const ServableRequest& request);
  static absl::Status WrongType(const ServableRequest& request);

  void RunLoop();
  void AddVersion(Name& name, ServableData<std::unique_ptr<Loader>> data)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What a new call of SetAspiredVersions() means for a version there is. True if it must be added
  // anew once it is gone.
  bool AspireAgain(Version& version, bool was_aspired, ServableData<std::unique_ptr<Loader>>& data)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Does all that can be done for a name now; the earliest time at which there is more to do.
  absl::Time Advance(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Time AdvanceVersions(Name& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Takes one action of the policy; false if there is none to take now.
  bool FollowPolicy(Name& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Ends versions that their loaders find damaged.
  void CheckHealth() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartLoad(Version& version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountSlowLoads(int change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartDraining(Version& version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void End(Version& version, absl::Status health) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // On load and unload threads.
  void Load(Version& version) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status TryLoad(Version& version) ABSL_LOCKS_EXCLUDED(mu_);
  void Unload(Version& version) ABSL_LOCKS_EXCLUDED(mu_);
  // Memory was given back: versions that had no room may have it now.
  void RetryRefused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ScheduleTrim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PublishState(const Version& version, State state, absl::Status health = absl::OkStatus())
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PublishServingMap() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  RcuPointer<ServingMap> serving_;  // written under mu_
  absl::Mutex mu_;
  absl::CondVar work_;
  absl::flat_hash_map<std::string, std::unique_ptr<Name>> names_ ABSL_GUARDED_BY(mu_);
  // Names to look at, and when to look at names that wait for something.
  absl::flat_hash_set<std::string> dirty_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, absl::Time> alarms_ ABSL_GUARDED_BY(mu_);
  absl::Time next_health_check_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  int slow_loads_ ABSL_GUARDED_BY(mu_) = 0;
  bool yielding_ ABSL_GUARDED_BY(mu_) = false;
  bool trim_pending_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  MemoryBudget memory_;
  // At normal priority: malloc's locks are held meanwhile, which requests may wait for.
  ElasticPool trim_pool_;
  ElasticPool first_load_pool_;
  ElasticPool load_pool_;
  ElasticPool unload_pool_;
  std::thread loop_;
};

}  // namespace tessera::serving
