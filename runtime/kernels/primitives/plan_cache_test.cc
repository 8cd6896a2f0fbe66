#include "runtime/kernels/primitives/plan_cache.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

struct Square {
  bool IsFor(int other) const { return root == other; }
  int root = 0, value = 0;
};

TEST(PlanCacheTest, FindsWhatWasInserted) {
  PlanCache<Square> cache;
  EXPECT_EQ(cache.Find(3), nullptr);
  cache.Insert({3, 9});
  cache.Insert({4, 16});
  ASSERT_NE(cache.Find(3), nullptr);
  EXPECT_EQ(cache.Find(3)->value, 9);
  EXPECT_EQ(cache.Find(4)->value, 16);
  EXPECT_EQ(cache.Find(5), nullptr);
}

TEST(PlanCacheTest, KeepsTheFirstOnesOnceItIsFull) {
  PlanCache<Square> cache;
  const int capacity = PlanCache<Square>::kCapacity;
  for (int i = 0; i < 2 * capacity; ++i) cache.Insert({i, i * i});
  for (int i = 0; i < 2 * capacity; ++i) EXPECT_EQ(cache.Find(i) != nullptr, i < capacity) << i;
}

TEST(PlanCacheTest, ThreadsFindWholePlans) {
  PlanCache<Square> cache;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 1000; ++round) {
        const int root = round % PlanCache<Square>::kCapacity;
        if (const Square* square = cache.Find(root)) {
          EXPECT_EQ(square->value, root * root);
        } else {
          cache.Insert({root, root * root});
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tessera
