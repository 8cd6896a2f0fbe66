#include "runtime/exec/planned_memory.h"

#include <cstring>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/tensor/testing/counting_allocator.h"

namespace tessera {
namespace {

constexpr size_t kSize = 2000;
constexpr uint32_t kPlaces = 16;

// Each node has one place and is read by the next: places share two stretches of bytes in turn.
std::shared_ptr<const MemoryPlan> ChainPlan(size_t size = kSize) {
  std::vector<MemoryUse> uses;
  for (uint32_t i = 0; i < kPlaces; ++i) uses.push_back({.size = size, .first = i, .last = i + 1});
  return std::make_shared<const MemoryPlan>(std::vector<Shape>(), uses);
}

class PlannedMemoryTest : public ::testing::Test {
 protected:
  void Begin() { ASSERT_TRUE(memory_->Begin(&heap_).ok()); }
  IntrusivePtr<Buffer> At(uint32_t node, size_t size = kSize) {
    memory_->SetPlace(node, 0);
    IntrusivePtr<Buffer> buffer = memory_->Allocate(size).value();
    EXPECT_EQ(buffer->size(), size);
    EXPECT_TRUE(buffer->writable() && buffer->HasOneOwner());
    std::memset(buffer->data(), static_cast<int>(node), size);
    return buffer;
  }
  static bool IsFilled(const Buffer& buffer, uint32_t node) {
    for (size_t i = 0; i < buffer.size(); ++i) {
      if (buffer.data()[i] != static_cast<char>(node)) return false;
    }
    return true;
  }

  CountingAllocator heap_;
  std::unique_ptr<PlannedMemory> memory_ = std::make_unique<PlannedMemory>(ChainPlan());
};

TEST_F(PlannedMemoryTest, AChainLiesInOneBlock) {
  for (int run = 0; run < 3; ++run) {
    Begin();
    IntrusivePtr<Buffer> before;
    for (uint32_t node = 0; node < kPlaces; ++node) {
      IntrusivePtr<Buffer> buffer = At(node);
      EXPECT_TRUE(before == nullptr || IsFilled(*before, node - 1));
      before = std::move(buffer);
    }
    before.reset();
    memory_->End();
    EXPECT_EQ(heap_.count, 1);  // a small block stays
  }
}

TEST_F(PlannedMemoryTest, ALargeBlockIsGivenBackAfterEachRun) {
  memory_ = std::make_unique<PlannedMemory>(ChainPlan(1 << 20));
  for (int run = 1; run <= 3; ++run) {
    Begin();
    At(0, 1 << 20);
    memory_->End();
    EXPECT_EQ(heap_.count, run);
  }
}

TEST_F(PlannedMemoryTest, ALargeBlockIsKeptWhereRunsFollowEachOther) {
  memory_ = std::make_unique<PlannedMemory>(ChainPlan(1 << 20), PlannedMemory::Idle::kKeep);
  const char* before = nullptr;
  for (int run = 1; run <= 3; ++run) {
    Begin();
    const char* const here = At(0, 1 << 20)->data();
    EXPECT_NE(here, before) << "values of two runs must not look like the same tensor";
    before = here;
    memory_->End();
    EXPECT_EQ(heap_.count, 1);
  }
  // A buffer that outlives its run takes the block with it.
  Begin();
  const IntrusivePtr<Buffer> kept = At(0, 1 << 20);
  memory_->End();
  Begin();
  At(0, 1 << 20);
  memory_->End();
  EXPECT_EQ(heap_.count, 2);
  EXPECT_TRUE(IsFilled(*kept, 0));
}

TEST_F(PlannedMemoryTest, WhatIsHeldLongerThanPlannedKeepsItsBytes) {
  Begin();
  const IntrusivePtr<Buffer> held = At(0);
  for (uint32_t node = 1; node < kPlaces; ++node) At(node);
  EXPECT_TRUE(IsFilled(*held, 0));
  EXPECT_GT(heap_.count, 1);
  memory_->End();
}

TEST_F(PlannedMemoryTest, APlaceThatIsNotUsedHidesNoneBeforeIt) {
  Begin();
  const IntrusivePtr<Buffer> held = At(0);
  // Places 2 and 4 of the same bytes are left out.
  At(6);
  EXPECT_TRUE(IsFilled(*held, 0));
  EXPECT_EQ(heap_.count, 2);
  memory_->End();
}

TEST_F(PlannedMemoryTest, MoreThanPlannedComesFromTheHeap) {
  Begin();
  At(0, kSize + 1);
  EXPECT_EQ(heap_.count, 2);
  At(1, kSize - 100);
  EXPECT_EQ(heap_.count, 2);
  const IntrusivePtr<Buffer> first = At(2), again = At(2);
  EXPECT_NE(first->data(), again->data());
  EXPECT_EQ(heap_.count, 3);
  memory_->End();
}

TEST_F(PlannedMemoryTest, WhatOutlivesTheRunKeepsItsBytes) {
  Begin();
  IntrusivePtr<Buffer> kept = At(3);
  memory_->End();
  for (int run = 0; run < 2; ++run) {
    Begin();
    for (uint32_t node = 0; node < kPlaces; ++node) At(node);
    memory_->End();
  }
  EXPECT_TRUE(IsFilled(*kept, 3));
  memory_.reset();
  EXPECT_TRUE(IsFilled(*kept, 3));
  std::thread([&] { kept.reset(); }).join();
}

TEST_F(PlannedMemoryTest, OtherThreadsMayReleaseAtAnyTime) {
  for (int run = 0; run < 200; ++run) {
    Begin();
    std::thread other([kept = At(0)]() mutable { kept.reset(); });
    for (uint32_t node = 1; node < kPlaces; ++node) {
      const IntrusivePtr<Buffer> buffer = At(node);
      EXPECT_TRUE(IsFilled(*buffer, node));
    }
    memory_->End();
    if (run % 50 == 49) memory_ = std::make_unique<PlannedMemory>(ChainPlan());
    other.join();
  }
}

}  // namespace
}  // namespace tessera
