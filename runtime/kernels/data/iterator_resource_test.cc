// The place of an iterator that outlives steps: what counts as taken, and saving while elements are
// being made.
#include "runtime/kernels/data/iterator_resource.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/data/transformations.h"

namespace tessera {
namespace {

// The numbers from 0 on. The iterators wait before the number `gate`, until `open` is notified.
class Numbers final : public Dataset {
 public:
  explicit Numbers(int64_t gate)
      : Dataset({.dtypes = {DType::kInt64}, .shapes = {PartialShape({})}}, Dataset::kInfinite),
        gate_(gate) {}

  std::unique_ptr<Iterator> MakeIterator() const override;
  int64_t gate() const { return gate_; }
  absl::Notification& open() const { return open_; }
  absl::Notification& reached() const { return reached_; }

 private:
  const int64_t gate_;
  mutable absl::Notification open_, reached_;
};

class NumbersIterator final : public Iterator {
 public:
  explicit NumbersIterator(std::shared_ptr<const Numbers> numbers) : numbers_(std::move(numbers)) {}
  absl::Status Transfer(IteratorArchive& archive) override {
    return archive.Number("next", &next_);
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& /*step*/, Element* element) override {
    if (next_ == numbers_->gate()) {
      if (!numbers_->reached().HasBeenNotified()) numbers_->reached().Notify();
      numbers_->open().WaitForNotification();
    }
    *element = {Tensor::Scalar(next_++)};
    return true;
  }

 private:
  const std::shared_ptr<const Numbers> numbers_;
  int64_t next_ = 0;
};

std::unique_ptr<Iterator> Numbers::MakeIterator() const {
  return std::make_unique<NumbersIterator>(Share<Numbers>());
}

class IteratorResourceTest : public ::testing::Test {
 protected:
  IteratorResourceTest() { step_.cancellation = &cancellation_; }

  // The next number, or -1 for an error.
  int64_t Next() {
    Element element;
    const absl::StatusOr<bool> more = iterator_.Next(step_, &element);
    return more.ok() && *more ? element[0].scalar<int64_t>() : -1;
  }

  ThreadPool pool_{{.num_threads = 1}};
  CancellationManager cancellation_;
  StepContext step_;
  IteratorResource iterator_{ElementSpec()};
};

TEST_F(IteratorResourceTest, DroppedElementsDoNotCountAsTaken) {
  ASSERT_TRUE(iterator_.Start(step_, std::make_shared<Numbers>(-1)).ok());
  EXPECT_EQ(Next(), 0);
  EXPECT_EQ(Next(), 1);
  EXPECT_EQ(iterator_.progress().taken, 2);
  const auto state = iterator_.Save(step_);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(Next(), 2);

  ASSERT_TRUE(iterator_.Restore(step_, **state).ok());
  iterator_.DropFirst(3);

  EXPECT_FALSE(iterator_.progress().is_whole);
  EXPECT_EQ(iterator_.progress().taken, 0);
  EXPECT_EQ(Next(), 5);
  EXPECT_TRUE(iterator_.progress().is_whole);
  EXPECT_EQ(iterator_.progress().taken, 1);
}

TEST_F(IteratorResourceTest, ACallInAStepThatIsOverLosesNothing) {
  ASSERT_TRUE(iterator_.Start(step_, std::make_shared<Numbers>(-1)).ok());
  EXPECT_EQ(Next(), 0);
  cancellation_.Cancel();
  EXPECT_EQ(Next(), -1);
  EXPECT_TRUE(iterator_.progress().is_whole);
}

TEST_F(IteratorResourceTest, AWaitForACallOfAnotherStepEndsWithTheStep) {
  const auto numbers = std::make_shared<Numbers>(0);
  ASSERT_TRUE(iterator_.Start(step_, numbers).ok());
  std::thread other([&] { EXPECT_EQ(Next(), 0); });
  numbers->reached().WaitForNotification();
  StepContext late;
  late.deadline = absl::Now() + absl::Milliseconds(20);
  Element element;

  EXPECT_TRUE(absl::IsDeadlineExceeded(iterator_.Next(late, &element).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(iterator_.Save(late).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(iterator_.Start(late, numbers)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(iterator_.Stop(late)));
  CancellationManager cancellation;
  StepContext cancelled;
  cancelled.cancellation = &cancellation;
  cancellation.Cancel();
  EXPECT_TRUE(absl::IsCancelled(iterator_.Next(cancelled, &element).status()));

  numbers->open().Notify();
  other.join();
  EXPECT_TRUE(iterator_.progress().is_whole);
  EXPECT_EQ(Next(), 1);
}

TEST_F(IteratorResourceTest, AnInterruptedWaitLeavesAPlaceThatIsNotWhole) {
  const auto numbers = std::make_shared<Numbers>(2);
  step_.inter_op_pool = &pool_;
  ASSERT_TRUE(iterator_.Start(step_, Prefetched(numbers, 4)).ok());
  EXPECT_EQ(Next(), 0);
  numbers->reached().WaitForNotification();
  EXPECT_EQ(Next(), 1);
  step_.deadline = absl::Now() + absl::Milliseconds(20);
  EXPECT_EQ(Next(), -1);
  EXPECT_FALSE(iterator_.progress().is_whole);
  EXPECT_EQ(iterator_.progress().taken, 2);
  numbers->open().Notify();
}

TEST_F(IteratorResourceTest, SavingWaitsForElementsThatAreBeingMadeNoLongerThanItMay) {
  const auto numbers = std::make_shared<Numbers>(2);
  step_.inter_op_pool = &pool_;
  ASSERT_TRUE(iterator_.Start(step_, Prefetched(numbers, 4)).ok());
  EXPECT_EQ(Next(), 0);
  numbers->reached().WaitForNotification();
  StepContext waits;
  waits.deadline = absl::Now() + absl::Milliseconds(20);

  EXPECT_TRUE(absl::IsDeadlineExceeded(iterator_.Save(waits).status()));

  // The iterator goes on as if nothing had been asked.
  numbers->open().Notify();
  EXPECT_EQ(Next(), 1);
  const auto state = iterator_.Save(StepContext());
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(Next(), 2);
  EXPECT_EQ(Next(), 3);
  ASSERT_TRUE(iterator_.Restore(step_, **state).ok());
  EXPECT_EQ(Next(), 2);
}

}  // namespace
}  // namespace tessera
