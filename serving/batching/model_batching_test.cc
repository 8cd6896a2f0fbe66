#include "serving/batching/model_batching.h"

#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/host/background.h"
#include "serving/batching/adaptive_batcher.h"
#include "serving/batching/pooled_batcher.h"
#include "serving/batching/testing/half_plus_two_callable.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;

class ModelBatchingTest : public ::testing::Test {
 protected:
  void Make(const BatchingOptions& options, BatchingRules rules, Batcher* batcher) {
    auto batching = ModelBatching::Create({"m", 1}, options, rules, batcher, &metrics_);
    ASSERT_TRUE(batching.ok()) << batching.status();
    batching_ = *std::move(batching);
    batched_ = batching_->Wrap(callable_, RunRows::kAny).value();
    batching_->StartServing();
  }
  absl::Status Ask(const std::vector<Tensor>& feeds) { return batched_->Run({}, feeds, &fetches_); }

  MetricsRegistry registry_;
  BatchMetrics metrics_{&registry_};
  PooledBatcher pool_{{.num_threads = 1}};
  AdaptiveBatcher slots_{1};
  std::shared_ptr<HalfPlusTwoCallable> callable_ = std::make_shared<HalfPlusTwoCallable>();
  std::shared_ptr<ModelBatching> batching_;
  std::shared_ptr<const Callable> batched_;
  std::vector<Tensor> fetches_;
};

const BatchingOptions kNobodyJoins{.max_batch_size = 4, .batch_timeout = absl::Hours(1)};

TEST_F(ModelBatchingTest, WrongOptionsAreRefused) {
  EXPECT_EQ(ModelBatching::Create({"m", 1}, {.max_batch_size = 0}, BatchingRules::kStrict, &pool_,
                                  &metrics_)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(ModelBatchingTest, StrictRulesWantTheSameFirstDimensionEverywhere) {
  Make({}, BatchingRules::kStrict, &pool_);
  EXPECT_EQ(
      Ask({Tensor::Scalar(1.0f)}),
      absl::InvalidArgumentError("Batching Run() input tensors must have at least one dimension"));
  EXPECT_EQ(Ask({Tensor::Vector<float>({1}), Tensor::Vector<float>({1, 2})}),
            absl::InvalidArgumentError(
                "Batching Run() input tensors must have equal 0th-dimension size"));
  EXPECT_TRUE(callable_->runs().empty());
}

TEST_F(ModelBatchingTest, StrictRulesRefuseWhatIsLargerThanABatch) {
  Make({.max_batch_size = 2}, BatchingRules::kStrict, &pool_);
  EXPECT_EQ(Ask({Tensor::Vector<float>({1, 2, 3})}),
            absl::InvalidArgumentError("Task size 3 is larger than maximum input batch size 2"));
}

TEST_F(ModelBatchingTest, LenientRulesRunByItselfWhatCannotBeBatched) {
  Make({.max_batch_size = 2}, BatchingRules::kLenient, &slots_);
  EXPECT_TRUE(Ask({Tensor::Scalar(1.0f)}).ok());
  EXPECT_TRUE(Ask({Tensor::Vector<float>({1}), Tensor::Vector<float>({1, 2})}).ok());
  EXPECT_TRUE(Ask({Tensor::Vector<float>({1, 2, 3})}).ok());
  EXPECT_EQ(callable_->runs().size(), 3);
}

// Such as a list of labels beside scores: half of it would be nobody's.
TEST_F(ModelBatchingTest, RunsOfAFixedNumberOfRowsAreNotMerged) {
  Make({}, BatchingRules::kLenient, &slots_);
  EXPECT_EQ(batching_->Wrap(callable_, RunRows::kFixed).value(), callable_);
  Make({}, BatchingRules::kStrict, &pool_);
  EXPECT_NE(batching_->Wrap(callable_, RunRows::kFixed).value(), callable_) << "as TensorFlow does";
}

TEST_F(ModelBatchingTest, RequestWithoutRowsWaitsForNobody) {
  Make(kNobodyJoins, BatchingRules::kStrict, &pool_);
  EXPECT_TRUE(Ask({Tensor::Of<float>({0}, {})}).ok());
  EXPECT_EQ(fetches_[0].shape(), Shape({0}));
  EXPECT_TRUE(Ask({Tensor::Of<float>({3, 0}, {})}).ok());
}

TEST_F(ModelBatchingTest, BackgroundWorkRunsOnItsOwnThreadAndIsNotCounted) {
  Make(kNobodyJoins, BatchingRules::kStrict, &pool_);
  ThreadPool background({.num_threads = 1});
  const BackgroundScope scope(&background);
  const std::string before = registry_.RenderMetrics();
  EXPECT_TRUE(Ask({Tensor::Vector<float>({2})}).ok());
  EXPECT_THAT(fetches_[0].flat<float>(), ElementsAre(3));
  EXPECT_EQ(registry_.RenderMetrics(), before) << "metrics tell of clients";
}

TEST_F(ModelBatchingTest, WarmUpRunsOnItsOwnThreadIsPaddedAndNotCounted) {
  BatchingOptions options = kNobodyJoins;
  options.allowed_batch_sizes = {4};
  auto batching =
      ModelBatching::Create({"m", 1}, options, BatchingRules::kStrict, &pool_, &metrics_).value();
  batched_ = batching->Wrap(callable_, RunRows::kAny).value();
  const std::string before = registry_.RenderMetrics();
  EXPECT_TRUE(Ask({Tensor::Vector<float>({2})}).ok());
  EXPECT_THAT(fetches_[0].flat<float>(), ElementsAre(3));
  EXPECT_THAT(callable_->run_rows(), ElementsAre(4));
  EXPECT_EQ(registry_.RenderMetrics(), before) << "metrics tell of clients";
}

TEST_F(ModelBatchingTest, LoneRequestsCountAsBatchesAndGoWithTheirVersion) {
  constexpr char kLoneRun[] = ":tessera:serving:batch_size_sum{model_name=\"m\",version=\"1\"} 2\n";
  Make({}, BatchingRules::kLenient, &slots_);
  EXPECT_TRUE(Ask({Tensor::Vector<float>({2, 4})}).ok());
  EXPECT_THAT(registry_.RenderMetrics(), ::testing::HasSubstr(kLoneRun));
  batched_.reset();
  batching_.reset();
  EXPECT_THAT(registry_.RenderMetrics(), ::testing::Not(::testing::HasSubstr("version=\"1\"")));
}

TEST_F(ModelBatchingTest, SignaturesWithTheSameTensorsShareALane) {
  Make({}, BatchingRules::kStrict, &pool_);
  EXPECT_EQ(batching_->Wrap(std::make_shared<HalfPlusTwoCallable>(), RunRows::kAny).value(),
            batched_);
  batched_.reset();
  EXPECT_NE(batching_->Wrap(std::make_shared<HalfPlusTwoCallable>(), RunRows::kAny).value(),
            nullptr);
}

TEST_F(ModelBatchingTest, NobodyWaitsInAVersionThatGoes) {
  Make(kNobodyJoins, BatchingRules::kStrict, &pool_);
  std::thread asks([&] { EXPECT_TRUE(Ask({Tensor::Vector<float>({2})}).ok()); });
  while (pool_.num_waiting() == 0) absl::SleepFor(absl::Milliseconds(1));
  batching_->BeginDraining();
  asks.join();
  batched_.reset();
  batched_ = batching_->Wrap(callable_, RunRows::kAny).value();
  EXPECT_TRUE(Ask({Tensor::Vector<float>({2})}).ok()) << "nor in runs made later";
}

TEST_F(ModelBatchingTest, CallableOutlivesItsModel) {
  Make({}, BatchingRules::kStrict, &pool_);
  batching_.reset();
  EXPECT_TRUE(Ask({Tensor::Vector<float>({2})}).ok());
}

}  // namespace
}  // namespace tessera::serving
