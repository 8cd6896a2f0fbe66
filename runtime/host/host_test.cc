#include "runtime/host/host.h"

#include <sched.h>
#include <sys/resource.h>

#include <functional>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

constexpr int64_t kLength = 2'000'000;

// Runs `closure` as background work of `host` that another pool was given.
void RunInBackground(const Host& host, const std::function<void()>& closure) {
  absl::Notification done;
  BackgroundScope scope(host.background_pool());
  host.inter_op_pool().Schedule([&] {
    closure();
    done.Notify();
  });
  done.WaitForNotification();
}

TEST(HostTest, PoolsHaveTheThreadsThatWereAskedFor) {
  const Host host({.intra_op_threads = 3, .inter_op_threads = 2});
  EXPECT_EQ(host.intra_op_pool()->num_threads(), 3);
  EXPECT_EQ(host.inter_op_pool().num_threads(), 2);
  EXPECT_EQ(host.background_pool(), nullptr);
  EXPECT_TRUE(host.background_cores().empty());
}

TEST(HostTest, OneIntraOpThreadIsTheCallers) {
  const Host host({.intra_op_threads = 1, .inter_op_threads = 1});
  EXPECT_EQ(host.intra_op_pool(), nullptr);
  EXPECT_EQ(host.inter_op_pool().num_threads(), 1);
}

TEST(HostTest, ItsThreadsRoundDenormalsToZero) {
  const Host host({.inter_op_threads = 1, .background = Host::Background{.cpu_share = 1e-9}});
  volatile float smallest = std::numeric_limits<float>::min();
  float half = -1, half_in_background = -1;
  absl::Notification done;
  host.inter_op_pool().Schedule([&] {
    half = smallest / 2;
    done.Notify();
  });
  done.WaitForNotification();
  RunInBackground(host, [&] { half_in_background = smallest / 2; });
  EXPECT_EQ(half, 0);
  EXPECT_EQ(half_in_background, 0);
  EXPECT_GT(smallest / 2, 0) << "on the thread that made the host";
}

TEST(HostTest, BackgroundWorkHasItsPriorityAndCores) {
  const Host host(
      {.inter_op_threads = 1,
       .background = Host::Background{.priority = ThreadPriority::kIdle, .cpu_share = 1e-9}});
  EXPECT_EQ(host.background_cores().size(), 1);
  EXPECT_EQ(host.background_pool()->num_threads(), 1);
  RunInBackground(host, [&] {
    EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE);
    EXPECT_EQ(CoreSet::OfThisThread(), host.background_cores());
  });
  EXPECT_NE(sched_getscheduler(0), SCHED_IDLE);
}

TEST(HostTest, BackgroundWorkPausesForRequestsOfItsHost) {
  // At a low priority a busy machine would make the pauses.
  const Host::Options options = {.inter_op_threads = 1,
                                 .background = Host::Background{ThreadPriority::kNormal}};
  Host host(options), other(options);
  for (Host* requested : {&host, &other}) {
    RunInBackground(host, [&] {
      rusage start = {}, now = {};
      getrusage(RUSAGE_THREAD, &start);
      const auto worked = [&] {
        getrusage(RUSAGE_THREAD, &now);
        return absl::DurationFromTimeval(now.ru_utime) + absl::DurationFromTimeval(now.ru_stime) -
               absl::DurationFromTimeval(start.ru_utime) -
               absl::DurationFromTimeval(start.ru_stime);
      };
      // By then the requests of the round before are forgotten.
      while (worked() < absl::Milliseconds(requested == &host ? 20 : 250)) {
        requested->pacer().NoteRequest();
      }
      start = now;
      while (worked() < absl::Milliseconds(20)) requested->pacer().NoteRequest();
      const auto pauses = now.ru_nvcsw - start.ru_nvcsw;
      EXPECT_EQ(pauses > 20, requested == &host) << pauses;
    });
  }
}

TEST(HostTest, EachCoreHasASlotAndHostsShareNone) {
  Host host({.inter_op_threads = 1}), other({.inter_op_threads = 1});
  std::vector<std::unique_ptr<RunSlots::Turn>> turns;
  const auto try_slot = [&turns](Host& of) {
    turns.push_back(std::make_unique<RunSlots::Turn>(of.run_slots()));
    return turns.back()->Await(kLength, absl::InfinitePast(), nullptr);
  };
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
    EXPECT_TRUE(try_slot(host).ok());
  }
  EXPECT_EQ(try_slot(host).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(try_slot(other).ok());
  while (!turns.empty()) turns.pop_back();
}

}  // namespace
}  // namespace tessera
