#include "serving/core/timer.h"

#include <atomic>
#include <string>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

TEST(TimerTest, CallsInOrderOfTimeAndNotEarlier) {
  Timer timer;
  std::string order;  // written by the timer's thread alone
  absl::BlockingCounter done(3);
  const absl::Time start = absl::Now();
  const auto call = [&](absl::Duration after, char name) {
    timer.CallAt(start + after, [&, after, name] {
      EXPECT_GE(absl::Now(), start + after);
      order += name;
      done.DecrementCount();
    });
  };
  call(absl::Milliseconds(60), 'c');
  call(absl::Milliseconds(30), 'b');  // earlier than what the thread waits for
  call(-absl::Seconds(1), 'a');
  done.Wait();
  EXPECT_EQ(order, "abc");
}

TEST(TimerTest, CancelledClosuresAreNotCalled) {
  Timer timer;
  const absl::Time soon = absl::Now() + absl::Milliseconds(20);
  std::atomic<bool> called{false};
  const Timer::Token token = timer.CallAt(soon, [&] { called = true; });
  timer.Cancel(soon, token);
  absl::Notification later;
  timer.CallAt(soon + absl::Milliseconds(1), [&] { later.Notify(); });
  later.WaitForNotification();
  EXPECT_FALSE(called);
}

TEST(TimerTest, AClosureMayCallTheTimer) {
  Timer timer;
  absl::Notification done;
  timer.CallAt(absl::Now(), [&] { timer.CallAt(absl::Now(), [&] { done.Notify(); }); });
  done.WaitForNotification();
}

TEST(TimerTest, EndsWithClosuresThatNeverCame) {
  Timer timer;
  timer.CallAt(absl::InfiniteFuture(), [] { FAIL(); });
  timer.CallAt(absl::Now() + absl::Hours(1), [] { FAIL(); });
}

}  // namespace
}  // namespace tessera::serving
