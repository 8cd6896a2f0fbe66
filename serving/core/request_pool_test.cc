#include "serving/core/request_pool.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "runtime/base/cpu_count.h"

namespace {
thread_local int num_offers = 0;
}  // namespace

// Takes the place of the C library's. A yielding thread calls it while there are usual requests.
extern "C" int sched_yield() noexcept {
  ++num_offers;
  return 0;
}

namespace tessera::serving {
namespace {

int Nice() { return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid))); }

int64_t Now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class RequestPoolTest : public testing::Test {
 protected:
  // Returns the priority of a request that makes a crowd of those before, while another share runs
  // if `beside`.
  int PriorityOfLast(RequestPool& pool, bool beside) {
    const int crowd = AvailableCores();
    absl::Notification begin;
    absl::BlockingCounter done(crowd + 1);
    const Share* const flood = host_.shares().Get("flood");
    const auto hold = [&] {
      begin.WaitForNotification();
      done.DecrementCount();
    };
    for (int i = 0; i < crowd; ++i) pool.Schedule(flood, hold);
    if (beside) host_.shares().Get("other")->NoteRun(Now());
    int priority = 0;
    pool.Schedule(flood, [&] {
      priority = Nice();
      EXPECT_EQ(Yields(), Nice() > usual_nice_);
      begin.Notify();
      done.DecrementCount();
    });
    done.Wait();
    return priority;
  }

  Host host_{{.background = Host::Background{}}};
  const int usual_nice_ = Nice();
};

TEST_F(RequestPoolTest, AFloodGivesWayToAnotherShare) {
  RequestPool pool({.name = "request", .max_threads = AvailableCores() + 1, .host = &host_});
  EXPECT_EQ(PriorityOfLast(pool, /*beside=*/true), usual_nice_ + kLowNice);
}

TEST_F(RequestPoolTest, AFloodAloneRunsAsUsual) {
  RequestPool pool({.name = "request", .max_threads = AvailableCores() + 1, .host = &host_});
  EXPECT_EQ(PriorityOfLast(pool, /*beside=*/false), usual_nice_);
}

TEST_F(RequestPoolTest, WithoutAHostNothingGivesWay) {
  RequestPool pool({.name = "request", .max_threads = AvailableCores() + 1});
  EXPECT_EQ(PriorityOfLast(pool, /*beside=*/true), usual_nice_);
}

TEST_F(RequestPoolTest, CountsRequestsUntilTheyEnd) {
  RequestPool pool({.name = "request", .max_threads = 1, .host = &host_});
  const Share* const share = host_.shares().Get("model");
  absl::Notification begin, end;
  pool.Schedule(share, [&] {
    begin.Notify();
    end.WaitForNotification();
  });
  begin.WaitForNotification();
  end.Notify();
  absl::Notification last;
  int under_way = 0;
  pool.Schedule(share, [&] {
    under_way = share->under_way();
    last.Notify();
  });
  last.WaitForNotification();
  EXPECT_EQ(under_way, 1) << "the first one has ended";
}

TEST_F(RequestPoolTest, FloodsMakeWayForUsualRequests) {
  // Returns whether the gate made the calling thread work for it.
  const auto offers = [this] {
    int offered = 0;
    std::thread([&] {
      host_.yielding_pool()->gate().Pass();
      host_.yielding_pool()->gate().Leave();
      offered = num_offers;
    }).join();
    return offered;
  };
  EXPECT_EQ(offers(), 0);
  int beside = 0;
  {
    RequestPool pool({.name = "request", .max_threads = 1, .host = &host_});
    pool.Schedule(host_.shares().Get("model"), [&] { beside = offers(); });
  }
  EXPECT_EQ(beside, 1);
}

}  // namespace
}  // namespace tessera::serving
