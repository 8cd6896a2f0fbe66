#include "runtime/exec/memory_plan.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"
#include "runtime/exec/planned_memory.h"
#include "runtime/exec/shape_cache.h"

namespace tessera {
namespace {

std::vector<MemoryUse> RandomUses(uint32_t count) {
  std::mt19937 random(7);
  std::vector<MemoryUse> uses(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t length = random() % 8 == 0 ? random() % count : random() % 4;
    uses[i] = {.size = random() % 5 == 0 ? 0 : 1 + random() % 100'000,
               .first = i,
               .last = std::min(i + length, count)};
  }
  return uses;
}

struct Range {
  size_t begin, end;
};
Range BytesOf(const MemoryPlan::Place& place) {
  return {place.offset, place.offset + PlannedMemory::BytesFor(place.size)};
}
bool Overlap(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }

TEST(MemoryPlanTest, WhatIsHeldTogetherLiesApart) {
  const std::vector<MemoryUse> uses = RandomUses(300);
  const MemoryPlan plan({}, uses);
  ASSERT_EQ(plan.places().size(), uses.size());
  size_t most_held = 0;
  for (uint32_t i = 0; i < uses.size(); ++i) {
    const MemoryPlan::Place& place = plan.places()[i];
    EXPECT_EQ(place.size, uses[i].size);
    if (place.size == 0) continue;
    EXPECT_EQ(place.offset % kBufferAlignment, 0);
    EXPECT_LE(BytesOf(place).end, plan.size());
    size_t held = 0;
    for (uint32_t j = 0; j < uses.size(); ++j) {
      if (uses[j].size == 0) continue;
      if (uses[j].first <= i && i <= uses[j].last) held += PlannedMemory::BytesFor(uses[j].size);
      if (i != j && uses[j].first <= uses[i].last && uses[i].first <= uses[j].last) {
        EXPECT_FALSE(Overlap(BytesOf(place), BytesOf(plan.places()[j]))) << i << " and " << j;
      }
    }
    most_held = std::max(most_held, held);
  }
  EXPECT_GE(plan.size(), most_held);
  EXPECT_LT(plan.size(), most_held * 3 / 2);
}

TEST(MemoryPlanTest, AChainTakesTwoPlacesInTurn) {
  std::vector<MemoryUse> uses;
  for (uint32_t i = 0; i < 20; ++i) uses.push_back({.size = 1000, .first = i, .last = i + 1});
  EXPECT_EQ(MemoryPlan({}, uses).size(), 2 * PlannedMemory::BytesFor(1000));
}

TEST(MemoryPlanTest, PredecessorsAreTheLastOfEachByte) {
  const MemoryPlan plan({}, RandomUses(200));
  for (uint32_t i = 0; i < plan.places().size(); ++i) {
    const MemoryPlan::Place& place = plan.places()[i];
    std::vector<uint32_t> expected;
    for (size_t at = BytesOf(place).begin; place.size > 0 && at < BytesOf(place).end;
         at += kBufferAlignment) {
      for (uint32_t j = i; j-- > 0;) {
        const MemoryPlan::Place& other = plan.places()[j];
        if (other.size == 0 || !Overlap({at, at + kBufferAlignment}, BytesOf(other))) continue;
        expected.push_back(j);
        break;
      }
    }
    std::sort(expected.begin(), expected.end());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    const auto begin = plan.predecessors().begin() + place.first_predecessor;
    std::vector<uint32_t> found(begin, begin + place.num_predecessors);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected) << i;
  }
}

TEST(MemoryPlanTest, AFewSmallOutputsAreLeftToTheHeap) {
  std::vector<MemoryUse> uses(100);
  uses[1] = {.size = 1000, .first = 1, .last = 2};
  EXPECT_EQ(MemoryPlan({}, uses).size(), 0);
  uses[1].size = 4 << 20;
  EXPECT_EQ(MemoryPlan({}, uses).size(), PlannedMemory::BytesFor(4 << 20));
}

TEST(MemoryPlanTest, OfVeryManyTheLargestGetPlaces) {
  std::vector<MemoryUse> uses;
  for (uint32_t i = 0; i < 20'000; ++i) {
    uses.push_back({.size = i % 100 == 0 ? size_t{10'000} : 10, .first = i, .last = i + 1});
  }
  const MemoryPlan plan({}, uses);
  size_t large = 0, all = 0;
  for (const MemoryPlan::Place& place : plan.places()) {
    large += place.size == 10'000;
    all += place.size > 0;
  }
  EXPECT_EQ(large, 200);
  EXPECT_LT(all, 20'000);
}

TEST(ShapeCacheTest, ShapesThatComeAgainAreRecordedAndThenPlanned) {
  ShapeCache<const MemoryPlan> plans;
  const std::vector<Tensor> two = {Tensor::Vector<float>({1, 2})};
  const std::vector<Tensor> three = {Tensor::Vector<float>({1, 2, 3})};
  EXPECT_FALSE(plans.Choose(two).make);
  EXPECT_FALSE(plans.Choose(three).make);
  EXPECT_TRUE(plans.Choose(two).make);
  const auto plan =
      std::make_shared<const MemoryPlan>(std::vector<Shape>{{2}}, std::vector<MemoryUse>());
  plans.Add(plan);
  EXPECT_EQ(plans.Choose(two).found, plan);
  EXPECT_EQ(plans.Choose(three).found, nullptr);
}

TEST(ShapeCacheTest, ForgetsTheOldestShapes) {
  ShapeCache<const MemoryPlan> plans;
  const auto scalar =
      std::make_shared<const MemoryPlan>(std::vector<Shape>{Shape()}, std::vector<MemoryUse>());
  plans.Add(scalar);
  for (int64_t length = 1; length <= 8; ++length) {
    // Once more for the shapes before, which pushes nothing out.
    plans.Add(std::make_shared<const MemoryPlan>(
        std::vector<Shape>{{std::max(length - 1, int64_t{1})}}, std::vector<MemoryUse>()));
    EXPECT_EQ(plans.Choose({Tensor::Scalar(1.0f)}).found, scalar);
    plans.Add(
        std::make_shared<const MemoryPlan>(std::vector<Shape>{{length}}, std::vector<MemoryUse>()));
  }
  EXPECT_EQ(plans.Choose({Tensor::Scalar(1.0f)}).found, nullptr);
}

}  // namespace
}  // namespace tessera
