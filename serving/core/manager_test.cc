#include "serving/core/manager.h"

#include <sched.h>

#include <atomic>
#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/host/background.h"
#include "runtime/host/core_set.h"
#include "serving/core/testing/manager_fixture.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AspiredVersionsManagerTest, ServesWhatIsAspired) {
  Fixture f;
  EXPECT_EQ(f.Acquire("m").status(),
            absl::NotFoundError("Servable not found for request: Latest(m)"));
  f.Aspire("m", {1, 2});
  ASSERT_TRUE(f.WaitUntil("m", 2, State::kAvailable));
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  EXPECT_EQ((*f.Acquire("m"))->version, 2);
  EXPECT_EQ((*f.Acquire("m", 1))->version, 1);
  EXPECT_EQ(f.Acquire("m", 7).status(),
            absl::NotFoundError("Servable not found for request: Specific(m, 7)"));
  EXPECT_THAT(f.manager().AvailableVersions("m"), ElementsAre(1, 2));
}

TEST(AspiredVersionsManagerTest, AnotherTypeIsRefusedAndHoldsNothing) {
  Fixture f;
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  EXPECT_EQ(f.manager().Acquire<std::string>({"m"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  f.Aspire("m", {});
  EXPECT_TRUE(f.WaitUntil("m", 1, State::kEnd));
}

TEST(AspiredVersionsManagerTest, FailingNewVersionLeavesOldOneServing) {
  Fixture f;
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  f.FailLoadsOf("m", 2, absl::DataLossError("torn checkpoint"));

  f.Aspire("m", {2});

  ASSERT_TRUE(f.WaitUntil("m", 2, State::kEnd));
  EXPECT_EQ(f.Acquire("m")->version(), 1);
  EXPECT_EQ(f.StatusOf("m", 2), absl::DataLossError("torn checkpoint"));
  EXPECT_EQ(f.TriesOf("m", 2), 6);
}

TEST(AspiredVersionsManagerTest, RetriesUntilALoadSucceeds) {
  Fixture f({.max_load_retries = 1000000});
  f.FailLoadsOf("m", 1, absl::UnavailableError("not yet"));
  f.Aspire("m", {1});
  while (f.TriesOf("m", 1) < 3) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(f.StateOf("m", 1), State::kLoading);
  EXPECT_EQ(f.StatusOf("m", 1), absl::UnavailableError("not yet")) << "tells why it takes so long";
  f.FailLoadsOf("m", 1, absl::OkStatus());
  EXPECT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  EXPECT_THAT(f.History("m"), ElementsAre("1 START", "1 LOADING", "1 AVAILABLE"));
}

TEST(AspiredVersionsManagerTest, WhatCannotGetBetterIsNotTriedAgainUntilTheFilesChange) {
  Fixture f({.load_retry_interval = absl::Hours(1)});
  f.FailLoadsOf("m", 1, absl::UnimplementedError("op Foo has no kernel"));
  f.FailLoadsOf("n", 1, absl::InvalidArgumentError("a cycle"));
  f.Aspire("m", {1}, /*revision=*/1);
  f.Aspire("n", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kEnd));
  ASSERT_TRUE(f.WaitUntil("n", 1, State::kEnd));
  EXPECT_EQ(f.TriesOf("m", 1), 1);
  EXPECT_EQ(f.TriesOf("n", 1), 1);
  EXPECT_EQ(f.StatusOf("m", 1), absl::UnimplementedError("op Foo has no kernel"));
  f.FailLoadsOf("m", 1, absl::OkStatus());
  f.Aspire("m", {1}, /*revision=*/2);
  EXPECT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
}

TEST(AspiredVersionsManagerTest, ReportsEachTryBeforeTheStateThatFollowsFromIt) {
  absl::Mutex mu;
  std::vector<LoadReport> reports;
  Fixture f({.max_load_retries = 1, .report_load = [&](const LoadReport& report) {
               absl::MutexLock lock(&mu);
               reports.push_back(report);
             }});
  f.FailLoadsOf("m", 1, absl::DataLossError("torn"));
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kEnd));
  f.Aspire("m", {2});
  ASSERT_TRUE(f.WaitUntil("m", 2, State::kAvailable));

  absl::MutexLock lock(&mu);
  ASSERT_EQ(reports.size(), 3);
  EXPECT_EQ(reports[0].id, (ServableId{"m", 1}));
  EXPECT_EQ(reports[1].status, absl::DataLossError("torn"));
  EXPECT_EQ(reports[2].id, (ServableId{"m", 2}));
  EXPECT_TRUE(reports[2].status.ok());
  for (const LoadReport& report : reports) {
    absl::Duration sum;
    std::vector<std::string> names;
    for (const auto& [name, time] : report.stages) {
      names.push_back(name);
      sum += time;
    }
    EXPECT_THAT(names, ElementsAre("estimate", "make"));
    EXPECT_LE(sum, report.time);
  }
}

TEST(AspiredVersionsManagerTest, NegativeRetriesMeanOneTry) {
  Fixture f({.max_load_retries = -3});
  f.FailLoadsOf("m", 1, absl::InternalError("x"));
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kEnd));
  EXPECT_EQ(f.TriesOf("m", 1), 1);
}

TEST(AspiredVersionsManagerTest, VersionInRetryHoldsUpNoOtherName) {
  Fixture f({.load_retry_interval = absl::Hours(1)});
  f.FailLoadsOf("broken", 1, absl::InternalError("x"));
  f.Aspire("broken", {1});
  while (f.TriesOf("broken", 1) < 1) absl::SleepFor(absl::Milliseconds(1));
  f.Aspire("good", {1});
  EXPECT_TRUE(f.WaitUntil("good", 1, State::kAvailable));
  EXPECT_EQ(f.StateOf("broken", 1), State::kLoading);
}

TEST(AspiredVersionsManagerTest, UnaspiredRetryEndsAtOnceWithItsOwnError) {
  Fixture f({.load_retry_interval = absl::Hours(1)});
  f.FailLoadsOf("m", 1, absl::InternalError("disk on fire"));
  f.Aspire("m", {1});
  while (f.TriesOf("m", 1) < 1) absl::SleepFor(absl::Milliseconds(1));
  f.Aspire("m", {});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kEnd));
  EXPECT_EQ(f.StatusOf("m", 1), absl::InternalError("disk on fire"));
}

TEST(AspiredVersionsManagerTest, FailureBeforeLoadingGoesFromStartToEnd) {
  Fixture f({.max_load_retries = 1});
  {
    absl::MutexLock lock(&f.faults.mu);
    f.faults.estimate = absl::FailedPreconditionError("/m/1; Not a directory");
  }
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kEnd));
  EXPECT_THAT(f.History("m"), ElementsAre("1 START", "1 END"));
  EXPECT_EQ(f.StatusOf("m", 1).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(f.StatusOf("m", 1).message()),
              HasSubstr("reserve resources to load servable {name: m version: 1}: /m/1; Not a"));
}

TEST(AspiredVersionsManagerTest, SwitchOfThreeVersionsFollowsThePolicysOrder) {
  Fixture f;
  f.Aspire("m", {1, 2, 3});
  for (int64_t v : {1, 2, 3}) ASSERT_TRUE(f.WaitUntil("m", v, State::kAvailable));
  const size_t before = f.History("m").size();
  f.Aspire("m", {4, 5, 6});
  for (int64_t v : {4, 5, 6}) ASSERT_TRUE(f.WaitUntil("m", v, State::kAvailable));
  for (int64_t v : {1, 2, 3}) ASSERT_TRUE(f.WaitUntil("m", v, State::kEnd));
  std::vector<std::string> moves;
  const std::vector<std::string> history = f.History("m");
  for (size_t i = before; i < history.size(); ++i) {
    if (history[i].find("UNLOADING") != std::string::npos ||
        history[i].find(" LOADING") != std::string::npos) {
      moves.push_back(history[i]);
    }
  }
  EXPECT_THAT(moves, ElementsAre("1 UNLOADING", "2 UNLOADING", "6 LOADING", "3 UNLOADING",
                                 "5 LOADING", "4 LOADING"));
}

TEST(AspiredVersionsManagerTest, HandleKeepsItsVersionWhileNewRequestsAreRefused) {
  Fixture f;
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  auto handle = f.Acquire("m");
  ASSERT_TRUE(handle.ok());
  f.Aspire("m", {});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kUnloading));
  EXPECT_FALSE(f.Acquire("m").ok());
  ASSERT_TRUE(f.AwaitItsTurn());
  EXPECT_EQ((*handle)->version, 1);
  EXPECT_EQ(f.StateOf("m", 1), State::kUnloading);
  // Dies on another thread than it was acquired on.
  std::thread([h = *std::move(handle)] {}).join();
  EXPECT_TRUE(f.WaitUntil("m", 1, State::kEnd));
}

TEST(AspiredVersionsManagerTest, VersionDrainsWhileItsHandlesLiveAndNobodyGetsNewOnes) {
  Fixture f;
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  auto handle = f.Acquire("m");
  ASSERT_TRUE(handle.ok());
  EXPECT_THAT(f.CallsOf("m", 1), ElementsAre("Load"));
  std::atomic<bool> was_acquirable{true};
  f.faults.on_draining = [&] { was_acquirable = f.Acquire("m", 1).ok(); };

  f.Aspire("m", {});

  ASSERT_TRUE(f.WaitUntil("m", 1, State::kUnloading));
  EXPECT_THAT(f.CallsOf("m", 1), ElementsAre("Load", "BeginDraining"));
  EXPECT_FALSE(was_acquirable);
  EXPECT_EQ((*handle)->version, 1);
  handle = absl::CancelledError();
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kEnd));
  EXPECT_THAT(f.CallsOf("m", 1), ElementsAre("Load", "BeginDraining", "Unload"));
}

TEST(AspiredVersionsManagerTest, OnlyWhatWasLoadedDrains) {
  Fixture f({.max_load_retries = 0});
  f.FailLoadsOf("m", 1, absl::InternalError("x"));
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kEnd));
  f.Aspire("m", {});
  f.Aspire("m", {2});
  ASSERT_TRUE(f.WaitUntil("m", 2, State::kAvailable));
  EXPECT_THAT(f.CallsOf("m", 1), ElementsAre("Load"));
  f.DestroyManager();
  EXPECT_THAT(f.CallsOf("m", 2), ElementsAre("Load", "BeginDraining", "Unload"));
}

TEST(AspiredVersionsManagerTest, ReaspiredWhileUnloadingIsLoadedAnew) {
  Fixture f;
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  auto handle = f.Acquire("m");
  f.Aspire("m", {});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kUnloading));
  f.Aspire("m", {1});
  ASSERT_TRUE(f.AwaitItsTurn());
  EXPECT_EQ(f.StateOf("m", 1), State::kUnloading);
  handle = absl::CancelledError();
  EXPECT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  EXPECT_THAT(f.History("m"), ElementsAre("1 START", "1 LOADING", "1 AVAILABLE", "1 UNLOADING",
                                          "1 END", "1 START", "1 LOADING", "1 AVAILABLE"));
}

TEST(AspiredVersionsManagerTest, NewerVersionServesUntilOneReaspiredWhileUnloadingIsBack) {
  Fixture f;
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  auto handle = f.Acquire("m");
  f.Aspire("m", {2});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kUnloading));
  f.Aspire("m", {1});  // version 2 is taken back while version 1 still drains
  f.Aspire("other", {1});
  ASSERT_TRUE(f.WaitUntil("other", 1, State::kAvailable)) << "the manager has seen to both";
  EXPECT_EQ(f.StateOf("m", 2), State::kAvailable);
  handle = absl::CancelledError();
  ASSERT_TRUE(f.WaitUntil("m", 2, State::kEnd));
  EXPECT_THAT(f.History("m"),
              ElementsAre("1 START", "1 LOADING", "1 AVAILABLE", "2 START", "2 LOADING",
                          "2 AVAILABLE", "1 UNLOADING", "1 END", "1 START", "1 LOADING",
                          "1 AVAILABLE", "2 UNLOADING", "2 END"));
}

TEST(AspiredVersionsManagerTest, ReadyVersionAspiredAgainStaysWithoutAReload) {
  Fixture f;
  f.Aspire("m", {9});
  ASSERT_TRUE(f.WaitUntil("m", 9, State::kAvailable));
  f.FailLoadsOf("m", 10, absl::InternalError("broken"));
  f.Aspire("m", {10});
  ASSERT_TRUE(f.WaitUntil("m", 10, State::kEnd));
  f.Aspire("m", {9});  // version 10 was taken away
  f.FailLoadsOf("m", 10, absl::OkStatus());
  f.Aspire("m", {10});  // and put back whole
  ASSERT_TRUE(f.WaitUntil("m", 10, State::kAvailable));
  ASSERT_TRUE(f.WaitUntil("m", 9, State::kEnd));
  EXPECT_EQ(f.TriesOf("m", 9), 1);
}

TEST(AspiredVersionsManagerTest, FailedVersionIsNotRetriedWhileItStaysAspired) {
  Fixture f({.max_load_retries = 0});
  f.FailLoadsOf("m", 1, absl::InternalError("x"));
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kEnd));
  f.FailLoadsOf("m", 1, absl::OkStatus());
  f.Aspire("m", {1});
  ASSERT_TRUE(f.AwaitItsTurn());
  EXPECT_EQ(f.TriesOf("m", 1), 1);
  f.Aspire("m", {});
  f.Aspire("m", {1});
  EXPECT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
}

TEST(AspiredVersionsManagerTest, HangingLoadHoldsUpNeitherItsNameNorOthers) {
  Fixture f({.num_load_threads = 1, .slow_load = absl::Milliseconds(20)});
  absl::Notification release;
  f.HoldLoadsOf("m", 1, &release);
  f.Aspire("m", {1});
  f.Aspire("other", {1});
  EXPECT_TRUE(f.WaitUntil("other", 1, State::kAvailable)) << "though there is one load thread";
  f.Aspire("m", {2});
  EXPECT_TRUE(f.WaitUntil("m", 2, State::kAvailable));
  EXPECT_EQ(f.StateOf("m", 1), State::kLoading);
  release.Notify();
  EXPECT_TRUE(f.WaitUntil("m", 1, State::kEnd)) << "it is not wanted any more";
}

TEST(AspiredVersionsManagerTest, VersionTakenAwayWhileLoadingEndsWhateverItsLoadMakesOfIt) {
  for (const bool fails : {false, true}) {
    Fixture f;
    absl::Notification release;
    f.Aspire("m", {1});
    ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
    f.HoldLoadsOf("m", 2, &release);
    if (fails) f.FailLoadsOf("m", 2, absl::NotFoundError("gone"));
    f.Aspire("m", {2});
    while (f.TriesOf("m", 2) < 1) absl::SleepFor(absl::Milliseconds(1));
    f.Aspire("m", {1});
    release.Notify();
    ASSERT_TRUE(f.WaitUntil("m", 2, State::kEnd));
    EXPECT_EQ(f.TriesOf("m", 2), 1);
    EXPECT_EQ(f.Acquire("m")->version(), 1);
  }
}

TEST(AspiredVersionsManagerTest, TwoHundredNamesAtOnce) {
  Fixture f;
  for (int i = 0; i < 200; ++i) f.Aspire(absl::StrCat("m", i), {1});
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(f.WaitUntil(absl::StrCat("m", i), 1, State::kAvailable)) << i;
  }
}

TEST(AspiredVersionsManagerTest, LoadsYieldOnceThereAreRequests) {
  class PriorityLoader : public Loader {
   public:
    PriorityLoader(std::atomic<int>* policy, std::atomic<ThreadPool*>* pool)
        : policy_(policy), pool_(pool) {}
    absl::Status Load() override {
      *pool_ = BackgroundPool();
      *policy_ = sched_getscheduler(0);
      return absl::OkStatus();
    }
    void Unload() override {}
    AnyServable servable() override { return AnyServable(&model_); }

   private:
    Model model_{1};
    std::atomic<int>* const policy_;
    std::atomic<ThreadPool*>* const pool_;
  };
  ThreadPool background({.num_threads = 1});
  std::atomic<int> policy{-1};
  std::atomic<ThreadPool*> pool{nullptr};
  Fixture f({.priority = ThreadPriority::kIdle, .background_pool = &background});
  auto aspire = [&](int64_t number) {
    policy = -1;
    AspiredVersions<std::unique_ptr<Loader>> data;
    data.push_back({{"m", number}, std::make_unique<PriorityLoader>(&policy, &pool)});
    f.manager().SetAspiredVersions("m", std::move(data));
    EXPECT_TRUE(f.WaitUntil("m", number, State::kAvailable));
  };
  aspire(1);
  EXPECT_EQ(policy, sched_getscheduler(0)) << "as whoever started the manager";
  EXPECT_EQ(pool, nullptr);
  f.manager().StartYielding();
  aspire(2);
  EXPECT_EQ(policy, SCHED_IDLE);
  EXPECT_EQ(pool, &background);
}

TEST(AspiredVersionsManagerTest, UnloadsYieldUntilTheManagerEnds) {
  class UnloadLoader : public Loader {
   public:
    explicit UnloadLoader(std::atomic<int>* policy) : policy_(policy) {}
    absl::Status Load() override { return absl::OkStatus(); }
    void Unload() override { *policy_ = sched_getscheduler(0); }
    AnyServable servable() override { return AnyServable(&model_); }

   private:
    Model model_{1};
    std::atomic<int>* const policy_;
  };
  std::atomic<int> first{-1}, second{-1};
  {
    Fixture f({.priority = ThreadPriority::kIdle});
    auto aspire = [&](int64_t number, std::atomic<int>* policy) {
      AspiredVersions<std::unique_ptr<Loader>> data;
      data.push_back({{"m", number}, std::make_unique<UnloadLoader>(policy)});
      f.manager().SetAspiredVersions("m", std::move(data));
      EXPECT_TRUE(f.WaitUntil("m", number, State::kAvailable));
    };
    f.manager().StartYielding();
    aspire(1, &first);
    aspire(2, &second);
    EXPECT_TRUE(f.WaitUntil("m", 1, State::kEnd));
    EXPECT_EQ(first, SCHED_IDLE);
  }
  EXPECT_EQ(second, sched_getscheduler(0)) << "as whoever started the manager";
}

TEST(AspiredVersionsManagerTest, LoadsTogetherStayOnTheirCores) {
  // Where the load ran, and what it started: a thread, and a loop that ought to use the pool.
  struct Places {
    absl::Mutex mu;
    std::vector<CoreSet> seen ABSL_GUARDED_BY(mu);
    void See() {
      absl::MutexLock lock(&mu);
      seen.push_back(CoreSet::OfThisThread());
    }
  };
  class PlacesLoader : public Loader {
   public:
    PlacesLoader(Places* places, ThreadPool* requests, std::barrier<>* all)
        : places_(places), requests_(requests), all_(all) {}
    absl::Status Load() override {
      all_->arrive_and_wait();  // all load threads are at work
      places_->See();
      std::thread([this] { places_->See(); }).join();
      requests_->ParallelFor(8, 1e6, [this](int64_t, int64_t) { places_->See(); });
      return absl::OkStatus();
    }
    void Unload() override {}
    AnyServable servable() override { return AnyServable(&model_); }

   private:
    Model model_{1};
    Places* const places_;
    ThreadPool* const requests_;
    std::barrier<>* const all_;
  };
  const CoreSet one = CoreSet::OfThisThread().Share(1e-9);
  std::unique_ptr<ThreadPool> background;
  std::thread([&] {
    ASSERT_TRUE(one.BindThisThread().ok());
    background = std::make_unique<ThreadPool>(ThreadPool::Options{.num_threads = 1, .nice = 1});
  }).join();
  ThreadPool requests({.num_threads = 3});
  constexpr int kLoads = 4;
  std::barrier<> all(kLoads);
  Places places;
  Fixture f({.num_load_threads = kLoads, .background_pool = background.get(), .load_cores = one});
  f.manager().StartYielding();
  for (int i = 0; i < kLoads; ++i) {
    AspiredVersions<std::unique_ptr<Loader>> data;
    data.push_back(
        {{absl::StrCat("m", i), 1}, std::make_unique<PlacesLoader>(&places, &requests, &all)});
    f.manager().SetAspiredVersions(absl::StrCat("m", i), std::move(data));
  }
  for (int i = 0; i < kLoads; ++i) {
    ASSERT_TRUE(f.WaitUntil(absl::StrCat("m", i), 1, State::kAvailable));
  }
  absl::MutexLock lock(&places.mu);
  EXPECT_GE(places.seen.size(), 3 * kLoads);
  for (const CoreSet& seen : places.seen) EXPECT_EQ(seen, one);
}

TEST(AspiredVersionsManagerTest, ErrorFromTheSourceIsTheVersionsEnd) {
  Fixture f;
  AspiredVersions<std::unique_ptr<Loader>> data;
  data.push_back({{"m", 3}, absl::PermissionDeniedError("no")});
  f.manager().SetAspiredVersions("m", std::move(data));
  ASSERT_TRUE(f.WaitUntil("m", 3, State::kEnd));
  EXPECT_EQ(f.StatusOf("m", 3).code(), absl::StatusCode::kPermissionDenied);
}

TEST(AspiredVersionsManagerTest, LoadThreadsLoadVersionsOfOneNameTogether) {
  Fixture f({.num_load_threads = 2});
  absl::Notification release;
  f.HoldLoadsOf("m", 2, &release);
  f.Aspire("m", {1, 2});
  EXPECT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  EXPECT_TRUE(f.WaitUntil("m", 2, State::kLoading));
  release.Notify();
  EXPECT_TRUE(f.WaitUntil("m", 2, State::kAvailable));
}

TEST(AspiredVersionsManagerTest, DestructorWaitsForLoadsUnderWay) {
  Fixture f;
  absl::Notification release;
  f.HoldLoadsOf("m", 1, &release);
  f.Aspire("m", {1});
  while (f.TriesOf("m", 1) < 1) absl::SleepFor(absl::Milliseconds(1));
  std::thread releaser([&] {
    absl::SleepFor(absl::Milliseconds(20));
    release.Notify();
  });
  f.DestroyManager();
  EXPECT_EQ(f.StateOf("m", 1), State::kEnd);
  releaser.join();
}

TEST(AspiredVersionsManagerTest, RequestsNeverFailOrSeeADeadVersionDuringSwitches) {
  Fixture f;
  f.Aspire("m", {1});
  ASSERT_TRUE(f.WaitUntil("m", 1, State::kAvailable));
  std::atomic<bool> stop{false};
  std::atomic<int64_t> failed{0}, dead{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] {
      while (!stop) {
        for (int k = 0; k < 1000; ++k) {
          auto handle = f.Acquire("m");
          if (!handle.ok()) {
            ++failed;
          } else if ((*handle)->version != handle->version()) {
            ++dead;
          }
        }
        absl::SleepFor(absl::Microseconds(50));  // the loads run at low priority
      }
    });
  }
  for (int64_t v = 2; v < 40; ++v) {
    f.Aspire("m", {v});
    ASSERT_TRUE(f.WaitUntil("m", v, State::kAvailable));
  }
  stop = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(dead, 0);
}

TEST(AspiredVersionsManagerTest, AvailableInTheEventMeansAcquirable) {
  Fixture f;
  for (int64_t v = 1; v < 50; ++v) {
    f.Aspire("m", {v});
    ASSERT_TRUE(f.WaitUntil("m", v, State::kAvailable));
    EXPECT_TRUE(f.Acquire("m", v).ok());
  }
}

}  // namespace
}  // namespace tessera::serving
