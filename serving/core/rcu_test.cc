#include "serving/core/rcu.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

// Makes a read after its death visible.
struct Tombstoned {
  explicit Tombstoned(int v) : value(v), copy(v) {}
  ~Tombstoned() { value = -1; }
  volatile int value;
  volatile int copy;
};

TEST(RcuPointerTest, IsNullBeforeTheFirstPublish) {
  RcuPointer<int> pointer;
  EXPECT_TRUE(pointer.Read([](const int* data) { return data == nullptr; }));
  pointer.Publish(std::make_unique<int>(3));
  EXPECT_EQ(pointer.Read([](const int* data) { return *data; }), 3);
}

TEST(RcuPointerTest, ReadersNeverSeeFreedData) {
  RcuPointer<Tombstoned> pointer;
  pointer.Publish(std::make_unique<Tombstoned>(0));
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        pointer.Read([&](const Tombstoned* data) {
          if (data->value < 0 || data->value != data->copy) ++torn;
        });
      }
    });
  }
  for (int i = 1; i < 500; ++i) pointer.Publish(std::make_unique<Tombstoned>(i));
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0);
}

TEST(RcuPointerTest, PublishWaitsForAReadUnderWay) {
  RcuPointer<int> pointer;
  pointer.Publish(std::make_unique<int>(1));
  std::atomic<bool> reading{false}, release{false}, published{false};
  std::thread reader([&] {
    pointer.Read([&](const int*) {
      reading = true;
      while (!release) std::this_thread::yield();
    });
  });
  while (!reading) std::this_thread::yield();
  std::thread writer([&] {
    pointer.Publish(std::make_unique<int>(2));
    published = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(published);
  release = true;
  reader.join();
  writer.join();
  EXPECT_TRUE(published);
}

TEST(RcuPointerTest, NestedReadsEndWithTheOutermost) {
  RcuPointer<int> a, b;
  a.Publish(std::make_unique<int>(1));
  b.Publish(std::make_unique<int>(2));
  const int sum = a.Read([&](const int* x) {
    const int y = b.Read([](const int* data) { return *data; });
    return *x + y;
  });
  EXPECT_EQ(sum, 3);
  a.Publish(nullptr);  // would hang if a section had stayed open
}

}  // namespace
}  // namespace tessera::serving
