#include "runtime/kernels/data_flow/tensor_barrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace tessera {
namespace {

using ::testing::ElementsAre;

struct Fixture {
  Fixture()
      : barrier(MakeRefCounted<TensorBarrier>(
            TensorBarrier::Options{"b",
                                   {DType::kInt32, DType::kInt32},
                                   {PartialShape(Shape()), PartialShape(Shape())},
                                   HeapAllocator()})) {}
  absl::Status Insert(int64_t component, std::initializer_list<std::string> keys,
                      std::initializer_list<int32_t> values) {
    return barrier->Insert(component, Tensor::Vector<std::string>(keys),
                           Tensor::Vector<int32_t>(values));
  }
  void Take(int64_t count, bool allow_small_batch = false) {
    status.reset();
    batch = TensorBarrier::Batch();
    barrier->Take(count, allow_small_batch, &cancellation, &batch,
                  [this](absl::Status ended) { status = std::move(ended); });
  }

  IntrusivePtr<TensorBarrier> barrier;
  CancellationManager cancellation;
  TensorBarrier::Batch batch;
  std::optional<absl::Status> status;
};

TEST(TensorBarrierTest, TakeWaitsForAllComponents) {
  Fixture f;
  f.Take(2);
  ASSERT_TRUE(f.Insert(0, {"a", "b"}, {1, 2}).ok());
  ASSERT_TRUE(f.Insert(1, {"b"}, {20}).ok());
  EXPECT_FALSE(f.status.has_value());
  ASSERT_TRUE(f.Insert(1, {"a"}, {10}).ok());
  ASSERT_TRUE(f.status.has_value());
  EXPECT_THAT(f.batch.keys.flat<std::string>(), ElementsAre("b", "a"));
  EXPECT_THAT(f.batch.values[1].flat<int32_t>(), ElementsAre(20, 10));
}

TEST(TensorBarrierTest, ClosedBarrierWaitsForWhatMayStillCome) {
  Fixture f;
  ASSERT_TRUE(f.Insert(0, {"a"}, {1}).ok());
  ASSERT_TRUE(f.barrier->Close(false).ok());
  EXPECT_EQ(f.Insert(0, {"new"}, {1}).code(), absl::StatusCode::kCancelled);
  f.Take(1);
  EXPECT_FALSE(f.status.has_value());
  ASSERT_TRUE(f.barrier->Close(/*cancel_pending=*/true).ok());
  ASSERT_TRUE(f.status.has_value());
  EXPECT_EQ(f.status->code(), absl::StatusCode::kOutOfRange);
}

TEST(TensorBarrierTest, ASmallBatchIsWhatIsReady) {
  Fixture f;
  ASSERT_TRUE(f.Insert(0, {"a", "b"}, {1, 2}).ok());
  ASSERT_TRUE(f.Insert(1, {"a"}, {10}).ok());
  ASSERT_TRUE(f.barrier->Close(false).ok());
  f.Take(5, /*allow_small_batch=*/true);
  ASSERT_TRUE(f.status.has_value());
  EXPECT_THAT(f.batch.keys.flat<std::string>(), ElementsAre("a"));
  f.Take(5, /*allow_small_batch=*/true);
  EXPECT_EQ(f.status->code(), absl::StatusCode::kOutOfRange);
}

TEST(TensorBarrierTest, IsClosedTwiceIfTheSecondTimeCancels) {
  Fixture f;
  EXPECT_TRUE(f.barrier->Close(false).ok());
  EXPECT_TRUE(f.barrier->Close(true).ok());
  EXPECT_EQ(f.barrier->Close(true).code(), absl::StatusCode::kCancelled);
}

TEST(TensorBarrierTest, CancelledTakeEnds) {
  Fixture f;
  f.Take(1);
  f.cancellation.Cancel();
  ASSERT_TRUE(f.status.has_value());
  EXPECT_EQ(f.status->code(), absl::StatusCode::kCancelled);
}

TEST(TensorBarrierTest, KeysHaveAnyShape) {
  Fixture f;
  const Tensor two = Tensor::Vector<int32_t>({1, 2}), one = Tensor::Vector<int32_t>({3});
  EXPECT_TRUE(f.barrier->Insert(0, Tensor::Of<std::string>({1, 2}, {"a", "b"}), two).ok());
  EXPECT_TRUE(f.barrier->Insert(1, Tensor::Scalar("a"), one).ok());
  EXPECT_EQ(f.barrier->Insert(1, Tensor::Scalar("b"), two).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TensorBarrierTest, ValuesWithoutElementsAreRefused) {
  auto barrier = MakeRefCounted<TensorBarrier>(
      TensorBarrier::Options{"b", {DType::kInt32}, {PartialShape({-1})}, HeapAllocator()});
  const Tensor key = Tensor::Vector<std::string>({"a"}), none = Tensor::Vector<std::string>({});
  EXPECT_EQ(barrier->Insert(0, key, Tensor::Of<int32_t>({1, 0}, {})).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(barrier->Insert(0, none, Tensor::Of<int32_t>({0, 2}, {})).ok());
  EXPECT_TRUE(barrier->Insert(0, key, Tensor::Of<int32_t>({1, 1}, {7})).ok());
}

}  // namespace
}  // namespace tessera
