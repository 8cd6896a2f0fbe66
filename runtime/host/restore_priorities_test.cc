#include "runtime/host/restore_priorities.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "runtime/host/background.h"

namespace tessera {
namespace {

int OwnNice() { return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid))); }

// A thread of low priority that waits until it is told to end.
class LowThread {
 public:
  explicit LowThread(ThreadPriority priority) {
    thread_ = std::thread([this, priority] {
      SetThreadPriority(priority);
      is_low_.Notify();
      may_end_.WaitForNotification();
      policy_ = sched_getscheduler(0);
      nice_ = OwnNice();
    });
    is_low_.WaitForNotification();
  }
  // Ends the thread, after which the others tell what it had last.
  void End() {
    may_end_.Notify();
    thread_.join();
  }
  int policy() const { return policy_; }
  int nice() const { return nice_; }

 private:
  absl::Notification is_low_, may_end_;
  int policy_ = -1;
  int nice_ = 0;
  std::thread thread_;
};

// Whether this process may raise priorities.
bool MayRaise() {
  bool may = false;
  std::thread([&] {
    SetThreadPriority(ThreadPriority::kIdle);
    const sched_param none = {};
    may = sched_setscheduler(0, SCHED_OTHER, &none) == 0;
  }).join();
  return may;
}

TEST(RestorePrioritiesTest, ThreadsHaveThatOfTheMainThread) {
  if (!MayRaise()) GTEST_SKIP() << "raising a priority takes CAP_SYS_NICE";
  const int nice = getpriority(PRIO_PROCESS, getpid());
  LowThread idle(ThreadPriority::kIdle);
  LowThread low(ThreadPriority::kLow);
  RestoreThreadPriorities();
  for (LowThread* const thread : {&idle, &low}) {
    thread->End();
    EXPECT_EQ(thread->policy(), SCHED_OTHER);
    EXPECT_EQ(thread->nice(), nice);
  }
}

}  // namespace
}  // namespace tessera
