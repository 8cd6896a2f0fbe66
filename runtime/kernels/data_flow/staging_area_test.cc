#include "runtime/kernels/data_flow/staging_area.h"

#include <gtest/gtest.h>

#include <optional>

namespace tessera {
namespace {

// How an operation ended, if it has.
struct Ending {
  BlockingResource::Done done() {
    return [this](absl::Status ended) { status = std::move(ended); };
  }
  std::optional<absl::Status> status;
};

StagingMap::Part Part(int64_t key, float value) { return {key, {Tensor::Scalar(value)}}; }

TEST(StagingAreaTest, PutWaitsForRoom) {
  auto area = MakeRefCounted<StagingArea>(StagingLimits{.elements = 1});
  Ending first, second, take;
  area->Put({Tensor::Scalar(1.0f)}, nullptr, first.done());
  area->Put({Tensor::Scalar(2.0f)}, nullptr, second.done());
  EXPECT_TRUE(first.status.has_value());
  EXPECT_FALSE(second.status.has_value());
  StagingArea::Element element;
  area->Take(nullptr, &element, take.done());
  EXPECT_EQ(element[0].scalar<float>(), 1);
  EXPECT_TRUE(second.status.has_value());
}

TEST(StagingAreaTest, ElementLargerThanTheLimitIsRefused) {
  auto area = MakeRefCounted<StagingArea>(StagingLimits{.bytes = 4});
  Ending put;
  area->Put({Tensor::Vector<float>({1, 2})}, nullptr, put.done());
  ASSERT_TRUE(put.status.has_value()) << "it would wait for ever";
  EXPECT_EQ(put.status->code(), absl::StatusCode::kResourceExhausted);
}

TEST(StagingAreaTest, ClearMakesRoom) {
  auto area = MakeRefCounted<StagingArea>(StagingLimits{.elements = 1});
  Ending first, second;
  area->Put({Tensor::Scalar(1.0f)}, nullptr, first.done());
  area->Put({Tensor::Scalar(2.0f)}, nullptr, second.done());
  area->Clear();
  EXPECT_TRUE(second.status.has_value());
  EXPECT_EQ(area->Size(), 1);
}

TEST(StagingMapTest, WaitingForOneKeyHoldsUpNoOther) {
  auto map = MakeRefCounted<StagingMap>(StagingLimits{});
  Ending five, seven, put;
  StagingMap::Part part5, part7;
  map->Get(5, {0}, /*take=*/true, nullptr, &part5, five.done());
  map->Get(7, {0}, /*take=*/true, nullptr, &part7, seven.done());
  map->Put(1, {0}, Part(7, 70), nullptr, put.done());
  EXPECT_FALSE(five.status.has_value());
  ASSERT_TRUE(seven.status.has_value());
  EXPECT_EQ(part7.components[0].scalar<float>(), 70);
  EXPECT_EQ(map->Size(), 0);
}

TEST(StagingMapTest, ComponentComesOnceAndGoesOnce) {
  auto map = MakeRefCounted<StagingMap>(StagingLimits{});
  Ending first, again, rest, taken, twice;
  map->Put(2, {0}, Part(1, 10), nullptr, first.done());
  EXPECT_EQ(map->NumIncomplete(), 1);
  map->Put(2, {0}, Part(1, 11), nullptr, again.done());
  EXPECT_EQ(again.status->code(), absl::StatusCode::kInvalidArgument);
  map->Put(2, {1}, Part(1, 20), nullptr, rest.done());
  EXPECT_EQ(map->Size(), 1);
  StagingMap::Part part;
  map->Get(1, {1}, /*take=*/true, nullptr, &part, taken.done());
  map->Get(1, {1}, /*take=*/true, nullptr, &part, twice.done());
  EXPECT_EQ(twice.status->code(), absl::StatusCode::kInvalidArgument);
}

TEST(StagingMapTest, SecondElementOfAKeyIsDropped) {
  auto map = MakeRefCounted<StagingMap>(StagingLimits{});
  Ending first, second, half, rest, taken;
  map->Put(2, {0, 1}, {1, {Tensor::Scalar(10.f), Tensor::Scalar(11.f)}}, nullptr, first.done());
  map->Put(2, {0, 1}, {1, {Tensor::Scalar(20.f), Tensor::Scalar(21.f)}}, nullptr, second.done());
  map->Put(2, {0}, Part(1, 30), nullptr, half.done());
  map->Put(2, {1}, Part(1, 31), nullptr, rest.done());
  EXPECT_TRUE(second.status.has_value() && second.status->ok());
  EXPECT_TRUE(rest.status.has_value() && rest.status->ok());
  EXPECT_EQ(map->NumIncomplete(), 0);
  EXPECT_EQ(map->Size(), 1);
  StagingMap::Part part;
  map->Get(1, {0}, /*take=*/true, nullptr, &part, taken.done());
  EXPECT_EQ(part.components[0].scalar<float>(), 10);
}

}  // namespace
}  // namespace tessera
