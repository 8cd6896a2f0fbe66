#include "runtime/kernels/data_flow/tensor_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace tessera {
namespace {

using ::testing::ElementsAre;

constexpr absl::StatusCode kCancelled = absl::StatusCode::kCancelled;
constexpr absl::StatusCode kOutOfRange = absl::StatusCode::kOutOfRange;

// An operation on a queue of scalars, and how it ended.
struct Operation {
  bool waits() const { return !status.has_value(); }
  absl::StatusCode code() const { return status->code(); }
  std::vector<int32_t> values() const {
    std::vector<int32_t> values;
    for (const auto& element : elements) values.push_back(element[0].scalar<int32_t>());
    return values;
  }

  std::optional<absl::Status> status;
  std::vector<TensorQueue::Element> elements;
  CancellationManager cancellation;
};

TensorQueue::Options Scalars(int64_t capacity = TensorQueue::kUnlimited) {
  TensorQueue::Options options;
  options.name = "q";
  options.dtypes = {DType::kInt32};
  options.shapes = {PartialShape(Shape())};
  options.capacity = capacity;
  options.allocator = HeapAllocator();
  return options;
}

void Enqueue(TensorQueue& queue, std::initializer_list<int32_t> values, Operation* operation) {
  std::deque<TensorQueue::Element> elements;
  for (const int32_t value : values) elements.push_back({Tensor::Scalar(value)});
  queue.Enqueue(std::move(elements), &operation->cancellation,
                [operation](absl::Status status) { operation->status = std::move(status); });
}

void Dequeue(TensorQueue& queue, int64_t count, Operation* operation, bool allow_fewer = false) {
  queue.Dequeue(count, allow_fewer, &operation->cancellation, &operation->elements,
                [operation](absl::Status status) { operation->status = std::move(status); });
}

void Close(TensorQueue& queue, bool cancel_pending, Operation* operation) {
  queue.Close(cancel_pending, &operation->cancellation,
              [operation](absl::Status status) { operation->status = std::move(status); });
}

TEST(TensorQueueTest, DequeueWaitsForWhatComes) {
  auto queue = MakeRefCounted<FifoQueue>(Scalars());
  Operation first, second, enqueue;
  Dequeue(*queue, 1, &first);
  Dequeue(*queue, 2, &second);
  EXPECT_TRUE(first.waits());
  Enqueue(*queue, {1, 2, 3}, &enqueue);
  EXPECT_THAT(first.values(), ElementsAre(1));
  EXPECT_THAT(second.values(), ElementsAre(2, 3)) << "in the order in which they began";
}

TEST(TensorQueueTest, EnqueueWaitsForRoom) {
  auto queue = MakeRefCounted<FifoQueue>(Scalars(2));
  Operation enqueue, dequeue;
  Enqueue(*queue, {1, 2, 3}, &enqueue);
  EXPECT_TRUE(enqueue.waits());
  EXPECT_EQ(queue->Size(), 2);
  Dequeue(*queue, 1, &dequeue);
  EXPECT_FALSE(enqueue.waits());
  EXPECT_EQ(queue->Size(), 2);
}

TEST(TensorQueueTest, BatchMayBeLargerThanTheCapacity) {
  auto queue = MakeRefCounted<FifoQueue>(Scalars(1));
  Operation enqueue, dequeue;
  Dequeue(*queue, 3, &dequeue);
  Enqueue(*queue, {1, 2, 3}, &enqueue);
  EXPECT_THAT(dequeue.values(), ElementsAre(1, 2, 3));
  EXPECT_FALSE(enqueue.waits());
}

TEST(TensorQueueTest, CancelledDequeueGivesBackWhatItTook) {
  auto queue = MakeRefCounted<FifoQueue>(Scalars());
  Operation enqueue, cancelled, next;
  Enqueue(*queue, {1, 2}, &enqueue);
  Dequeue(*queue, 3, &cancelled);
  EXPECT_EQ(queue->Size(), 0);
  Dequeue(*queue, 2, &next);
  cancelled.cancellation.Cancel();
  ASSERT_FALSE(cancelled.waits());
  EXPECT_EQ(cancelled.code(), kCancelled);
  EXPECT_THAT(next.values(), ElementsAre(1, 2)) << "what stood behind it goes on";
}

TEST(TensorQueueTest, CancelledStepDoesNotBegin) {
  auto queue = MakeRefCounted<FifoQueue>(Scalars());
  Operation dequeue;
  dequeue.cancellation.Cancel();
  Dequeue(*queue, 1, &dequeue);
  ASSERT_FALSE(dequeue.waits());
  EXPECT_EQ(dequeue.code(), kCancelled);
}

TEST(TensorQueueTest, ClosedQueueGivesWhatItHas) {
  auto queue = MakeRefCounted<FifoQueue>(Scalars());
  Operation enqueue, close, again, late, all, upto, none;
  Enqueue(*queue, {1, 2}, &enqueue);
  Close(*queue, false, &close);
  EXPECT_TRUE(queue->IsClosed());
  Close(*queue, false, &again);
  EXPECT_EQ(again.code(), kCancelled);
  Enqueue(*queue, {3}, &late);
  EXPECT_EQ(late.code(), kCancelled);
  Dequeue(*queue, 3, &all);
  EXPECT_EQ(all.code(), kOutOfRange);
  EXPECT_EQ(queue->Size(), 2) << "nothing is lost";
  Dequeue(*queue, 3, &upto, /*allow_fewer=*/true);
  EXPECT_THAT(upto.values(), ElementsAre(1, 2));
  Dequeue(*queue, 1, &none, /*allow_fewer=*/true);
  EXPECT_EQ(none.code(), kOutOfRange);
}

TEST(TensorQueueTest, CloseLetsPendingElementsInUnlessTheyAreCancelled) {
  for (const bool cancel : {false, true}) {
    auto queue = MakeRefCounted<FifoQueue>(Scalars(1));
    Operation enqueue, close, dequeue;
    Enqueue(*queue, {1, 2}, &enqueue);
    Close(*queue, cancel, &close);
    EXPECT_EQ(enqueue.waits(), !cancel);
    EXPECT_EQ(close.waits(), !cancel);
    Dequeue(*queue, 2, &dequeue);
    EXPECT_EQ(dequeue.code(), cancel ? kOutOfRange : absl::StatusCode::kOk);
    EXPECT_TRUE(queue->IsClosed());
  }
}

TEST(TensorQueueTest, ShuffledElementsAllComeOnce) {
  TensorQueue::Options options = Scalars();
  options.min_after_dequeue = 2;
  auto queue = MakeRefCounted<ShuffleQueue>(options, Philox(87654321, 7));
  Operation enqueue, dequeue, close, rest;
  Enqueue(*queue, {0, 1, 2, 3, 4, 5}, &enqueue);
  Dequeue(*queue, 5, &dequeue);
  EXPECT_TRUE(dequeue.waits()) << "two stay behind";
  Close(*queue, false, &close);
  ASSERT_FALSE(dequeue.waits());
  Dequeue(*queue, 1, &rest);
  std::vector<int32_t> values = dequeue.values();
  values.push_back(rest.values()[0]);
  EXPECT_THAT(values, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(TensorQueueTest, LowestPriorityComesFirstAndEqualsInOrder) {
  TensorQueue::Options options;
  options.allocator = HeapAllocator();
  options.dtypes = {DType::kInt64, DType::kInt32};
  options.shapes = {PartialShape(Shape()), PartialShape(Shape())};
  auto queue = MakeRefCounted<PriorityQueue>(options);
  Operation enqueue, dequeue;
  std::deque<TensorQueue::Element> elements;
  const std::pair<int64_t, int32_t> kElements[] = {{3, 1}, {1, 2}, {3, 3}, {1, 4}};
  for (const auto& [priority, value] : kElements) {
    elements.push_back({Tensor::Scalar(priority), Tensor::Scalar(value)});
  }
  queue->Enqueue(std::move(elements), nullptr, [](absl::Status) {});
  Dequeue(*queue, 4, &dequeue);
  std::vector<int32_t> values;
  for (const auto& element : dequeue.elements) values.push_back(element[1].scalar<int32_t>());
  EXPECT_THAT(values, ElementsAre(2, 4, 1, 3));
}

TEST(TensorQueueTest, BatchPadsWithZeros) {
  TensorQueue::Options options = Scalars();
  options.shapes = {PartialShape({-1, 2})};
  options.pads = true;
  auto queue = MakeRefCounted<FifoQueue>(options);
  const std::vector<TensorQueue::Element> elements = {{Tensor::Of<int32_t>({1, 2}, {1, 2})},
                                                      {Tensor::Of<int32_t>({2, 2}, {3, 4, 5, 6})}};
  const TensorQueue::Element batch = queue->Batch(elements).value();
  EXPECT_EQ(batch[0].shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(batch[0].flat<int32_t>(), ElementsAre(1, 2, 0, 0, 3, 4, 5, 6));
  EXPECT_EQ(queue->Batch({}).value()[0].shape(), (Shape{0, 0, 2}));
}

}  // namespace
}  // namespace tessera
