#include "runtime/host/fair_queue.h"

#include <algorithm>
#include <map>
#include <string>

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(FairQueueTest, OneShareIsServedInOrderOfArrival) {
  FairQueue<int> queue;
  Share share;
  for (int i = 0; i < 3; ++i) queue.Push(&share, i, 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.Pop(10).second, i);
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.IsIdle(&share)) << "it holds places";
  for (int i = 0; i < 3; ++i) queue.Give(&share, 20);
  EXPECT_TRUE(queue.IsIdle(&share));
}

TEST(FairQueueTest, WhoComesToAFloodIsNext) {
  FairQueue<std::string> queue;
  Share flood, polite;
  for (int i = 0; i < 64; ++i) queue.Push(&flood, "flood", 0);
  EXPECT_EQ(queue.Pop(0).second, "flood");
  queue.Push(&polite, "polite", 50);
  EXPECT_EQ(queue.Pop(100).second, "polite");
  EXPECT_EQ(queue.Pop(100).second, "flood");
}

TEST(FairQueueTest, APauseEarnsNoMoreCreditThanOneRun) {
  FairQueue<char> queue;
  Share a, b;
  for (int i = 0; i < 8; ++i) queue.Push(&a, 'a', 0);
  int64_t now = 0;
  for (int i = 0; i < 4; ++i) {  // b asks for nothing while a uses the place for long
    queue.Pop(now);
    queue.Give(&a, now += 1000);
  }
  for (int i = 0; i < 8; ++i) queue.Push(&b, 'b', now);
  std::string order;
  for (int i = 0; i < 8; ++i) {
    const auto [share, item] = queue.Pop(now);
    order += item;
    queue.Give(share, now += 400);
  }
  EXPECT_EQ(order, "bbbababa");
}

// Serves two shares that never run out of items on `places` places for a long time, where an item
// of `a` takes ten times as long as one of `b`. Returns the share of the time that `a` had.
double TimeOfA(int places, int weight_of_a) {
  FairQueue<int64_t> queue;  // of how long an item takes
  Share a, b;
  a.set_weight(weight_of_a);
  const auto refill = [&](int64_t now) {
    for (int i = 0; i < places; ++i) {
      queue.Push(&a, 100, now);
      queue.Push(&b, 10, now);
    }
  };
  std::multimap<int64_t, const Share*> running;  // by when it ends
  std::map<const Share*, int64_t> time;
  int64_t now = 0;
  while (now < 100'000) {
    refill(now);
    while (running.size() < static_cast<size_t>(places)) {
      const auto [share, length] = queue.Pop(now);
      running.emplace(now + length, share);
      time[share] += length;
    }
    now = running.begin()->first;
    queue.Give(running.begin()->second, now);
    running.erase(running.begin());
  }
  return static_cast<double>(time[&a]) / (time[&a] + time[&b]);
}

TEST(FairQueueTest, SharesGetTimeByTheirWeightsHoweverLongTheirItemsTake) {
  for (const int places : {1, 2, 8}) {
    EXPECT_NEAR(TimeOfA(places, 1), 0.5, 0.01) << places;
    EXPECT_NEAR(TimeOfA(places, 3), 0.75, 0.01) << places;
  }
}

TEST(FairQueueTest, AShareThatRunsOutOfItemsGoesOnFromItsUse) {
  FairQueue<char> queue;
  Share a, b;
  int64_t now = 0;
  for (int i = 0; i < 4; ++i) queue.Push(&b, 'b', now);
  std::string order;
  for (int i = 0; i < 4; ++i) {
    queue.Push(&a, 'a', now);  // its only one, and each takes as long as ten of b
    for (int j = 0; j < 2; ++j) {
      const auto [share, item] = queue.Pop(now);
      order += item;
      queue.Give(share, now += item == 'a' ? 100 : 10);
      if (item == 'b') queue.Push(&b, 'b', now);
    }
  }
  EXPECT_LE(std::count(order.begin(), order.end(), 'a'), 2) << order;
  EXPECT_GE(std::count(order.begin(), order.end(), 'a'), 1) << order;
}

TEST(FairQueueTest, PlacesThatNobodyWaitedForCountAsUse) {
  FairQueue<char> queue;
  Share first, second;
  queue.Take(&first, 0);
  queue.Give(&first, 1'000'000);
  for (int i = 0; i < 4; ++i) queue.Push(&first, 'f', 1'000'000);
  for (int i = 0; i < 4; ++i) queue.Push(&second, 's', 1'000'000);
  int64_t now = 1'000'000;
  std::string order;
  for (int i = 0; i < 8; ++i) {
    const auto [share, item] = queue.Pop(now);
    order += item;
    queue.Give(share, now += 400'000);
  }
  EXPECT_EQ(order.substr(0, 2), "ss");
  EXPECT_EQ(std::count(order.begin(), order.begin() + 6, 'f'), 2) << order;
}

TEST(FairQueueTest, AnItemMayLeave) {
  FairQueue<int> queue;
  Share share;
  queue.Push(&share, 1, 0);
  const auto second = queue.Push(&share, 2, 0);
  queue.Push(&share, 3, 0);
  queue.Remove(&share, second);
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.Pop(0).second, 1);
  EXPECT_EQ(queue.Pop(0).second, 3);
}

TEST(FairQueueTest, WorkWithoutAShareCompetesAsOneMore) {
  FairQueue<int> queue;
  Share share;
  queue.Push(nullptr, 0, 0);
  queue.Push(&share, 1, 0);
  const auto first = queue.Pop(0).first;
  EXPECT_NE(queue.Pop(10).first, first);
}

}  // namespace
}  // namespace tessera
