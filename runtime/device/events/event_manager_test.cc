#include "runtime/device/events/event_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <set>

#include "absl/synchronization/notification.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

// Queues of numbered work, which is done when a test says so. Checks how events are used.
class TestQueues : public EventDriver {
 public:
  struct Queue {
    std::atomic<int64_t> enqueued = 0;
    std::atomic<int64_t> done = 0;
  };

  ~TestQueues() override { EXPECT_EQ(num_live_, 0) << "events were not destroyed"; }

  absl::StatusOr<void*> Create() override {
    if (fail_create_) return absl::ResourceExhaustedError("no event left");
    ++num_live_;
    return new Event;
  }
  void Destroy(void* event) override {
    --num_live_;
    delete static_cast<Event*>(event);
  }
  absl::Status Record(void* event, void* queue) override {
    auto* const e = static_cast<Event*>(event);
    EXPECT_FALSE(e->is_pending) << "an event is reused before it is done";
    e->queue = static_cast<Queue*>(queue);
    e->mark = e->queue->enqueued;
    e->is_pending = true;
    return absl::OkStatus();
  }
  absl::StatusOr<bool> IsDone(void* event) override {
    auto* const e = static_cast<Event*>(event);
    if (is_lost_) {
      e->is_pending = false;
      return absl::UnavailableError("the device is lost");
    }
    if (e->queue->done < e->mark) return false;
    e->is_pending = false;
    return true;
  }

  std::atomic<bool> fail_create_ = false;
  std::atomic<bool> is_lost_ = false;

 private:
  struct Event {
    Queue* queue = nullptr;
    int64_t mark = 0;
    bool is_pending = false;
  };
  std::atomic<int> num_live_ = 0;
};

TEST(EventManagerTest, CallbackComesOnceTheWorkBeforeItIsDone) {
  TestQueues queues;
  TestQueues::Queue queue;
  EventManager events(&queues);
  queue.enqueued = 2;
  absl::Notification called;
  events.Then(&queue, [&](absl::Status status) {
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(queue.done, 2);
    called.Notify();
  });
  queue.enqueued = 5;  // which nobody waits for
  queue.done = 1;
  EXPECT_FALSE(called.HasBeenNotified());
  queue.done = 2;
  called.WaitForNotification();
}

TEST(EventManagerTest, QueueThatIsHeldUpHoldsUpNoOther) {
  TestQueues queues;
  TestQueues::Queue slow, fast;
  absl::Notification slow_done, fast_done;
  EventManager events(&queues);
  slow.enqueued = fast.enqueued = 1;
  events.Then(&slow, [&](absl::Status) { slow_done.Notify(); });
  events.Then(&fast, [&](absl::Status) { fast_done.Notify(); });
  fast.done = 1;
  fast_done.WaitForNotification();
  EXPECT_FALSE(slow_done.HasBeenNotified());
  slow.done = 1;
  slow_done.WaitForNotification();
}

TEST(EventManagerTest, CallbackMayAskForAnother) {
  TestQueues queues;
  TestQueues::Queue queue;
  EventManager events(&queues);
  absl::Notification done;
  events.Then(&queue,
              [&](absl::Status) { events.Then(&queue, [&](absl::Status) { done.Notify(); }); });
  done.WaitForNotification();
}

TEST(EventManagerTest, EventsAreReused) {
  TestQueues queues;
  TestQueues::Queue queue;
  EventManager events(&queues);
  for (int i = 0; i < 100; ++i) {
    absl::Notification done;
    events.Then(&queue, [&](absl::Status) { done.Notify(); });
    done.WaitForNotification();
  }
  EXPECT_EQ(events.num_events(), 1);
}

TEST(EventManagerTest, WhatACallbackHoldsDiesBeforeTheNextOneRuns) {
  TestQueues queues;
  TestQueues::Queue queue;
  queue.enqueued = 1;
  EventManager events(&queues);
  std::weak_ptr<int> held;
  {
    auto share = std::make_shared<int>(1);
    held = share;
    events.Then(&queue, [share](absl::Status) {});
  }
  EXPECT_FALSE(held.expired());
  absl::Notification done;
  events.Then(&queue, [&](absl::Status) {
    EXPECT_TRUE(held.expired());
    done.Notify();
  });
  queue.done = 1;
  done.WaitForNotification();
}

TEST(EventManagerTest, LostDeviceFailsWhatIsPendingAndWhatComes) {
  TestQueues queues;
  TestQueues::Queue queue;
  queue.enqueued = 1;
  EventManager events(&queues);
  absl::Notification first, second;
  events.Then(&queue, [&](absl::Status status) {
    EXPECT_EQ(status, absl::UnavailableError("the device is lost"));
    first.Notify();
  });
  queues.is_lost_ = true;
  first.WaitForNotification();
  events.Then(&queue, [&](absl::Status status) {
    EXPECT_EQ(status, absl::UnavailableError("the device is lost"));
    second.Notify();
  });
  second.WaitForNotification();
}

TEST(EventManagerTest, EventThatCannotBeMadeFailsItsCallbackInOrder) {
  TestQueues queues;
  TestQueues::Queue queue;
  queue.enqueued = 1;
  EventManager events(&queues);
  std::vector<std::string> order;
  events.Then(&queue, [&](absl::Status) { order.push_back("first"); });
  queues.fail_create_ = true;
  absl::Notification done;
  events.Then(&queue, [&](absl::Status status) {
    order.push_back(std::string(status.message()));
    done.Notify();
  });
  queue.done = 1;
  done.WaitForNotification();
  EXPECT_THAT(order, ElementsAre("first", "no event left"));
}

TEST(EventManagerTest, DestructorRunsWhatIsPending) {
  TestQueues queues;
  TestQueues::Queue queue;
  queue.enqueued = 1;
  int num_called = 0;
  std::thread device;
  {
    EventManager events(&queues);
    for (int i = 0; i < 3; ++i) events.Then(&queue, [&](absl::Status) { ++num_called; });
    device = std::thread([&] { queue.done = 1; });
  }
  device.join();
  EXPECT_EQ(num_called, 3);
}

// Several threads enqueue on several queues, whose work another thread does at random.
TEST(EventManagerTest, CallbacksOfAQueueComeInOrderAndNeverEarly) {
  constexpr int kNumQueues = 3, kPerThread = 2000;
  TestQueues queues;
  TestQueues::Queue queue[kNumQueues];
  int64_t last[kNumQueues] = {};
  std::atomic<int> num_called = 0;
  std::atomic<bool> is_ending = false;
  {
    EventManager events(&queues);
    std::thread device([&] {
      std::minstd_rand random(1);
      while (!is_ending) {
        TestQueues::Queue& q = queue[random() % kNumQueues];
        if (q.done < q.enqueued) ++q.done;
      }
      for (TestQueues::Queue& q : queue) q.done = q.enqueued.load();
    });
    std::vector<std::thread> hosts;
    for (int i = 0; i < kNumQueues; ++i) {
      hosts.emplace_back([&, i] {
        for (int n = 1; n <= kPerThread; ++n) {
          const int64_t mark = ++queue[i].enqueued;
          events.Then(&queue[i], [&, i, mark](absl::Status status) {
            EXPECT_TRUE(status.ok());
            EXPECT_GE(queue[i].done, mark);
            EXPECT_EQ(last[i] + 1, mark);
            last[i] = mark;
            ++num_called;
          });
        }
      });
    }
    for (std::thread& host : hosts) host.join();
    is_ending = true;
    device.join();
  }
  EXPECT_EQ(num_called, kNumQueues * kPerThread);
}

}  // namespace
}  // namespace tessera
