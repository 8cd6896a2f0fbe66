#include "serving/batching/batching_options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;

absl::Status Invalid(const char* text) { return absl::InvalidArgumentError(text); }

TEST(BatchingOptionsTest, DefaultsAreTensorFlowServings) {
  const BatchingOptions options;
  EXPECT_TRUE(options.Validate().ok());
  EXPECT_EQ(options.request_limit(), 1000);
  EXPECT_EQ(options.run_limit(), 1000);
  EXPECT_EQ(options.queue_limit(), 10);
  EXPECT_EQ(options.batch_timeout, absl::ZeroDuration());
  EXPECT_EQ(options.PaddedRows(7), 7);
}

TEST(BatchingOptionsTest, SettingsThatEndUpstreamsProcessAreRefused) {
  EXPECT_EQ(BatchingOptions{.max_batch_size = 0}.Validate(),
            Invalid("max_batch_size must be positive; was 0"));
  EXPECT_EQ(BatchingOptions{.batch_timeout = absl::Microseconds(-1)}.Validate(),
            Invalid("batch_timeout_micros must be non-negative; was -1"));
  BatchingOptions options{.max_batch_size = 4, .enable_large_batch_splitting = true};
  options.max_execution_batch_size = 5;
  EXPECT_EQ(
      options.Validate(),
      Invalid("max_execution_batch_size must not be larger than max_batch_size; were 5 and 4"));
  options.max_execution_batch_size = 0;
  EXPECT_EQ(options.Validate(), Invalid("max_execution_batch_size must be positive; was 0"));
  options.enable_large_batch_splitting = false;
  EXPECT_TRUE(options.Validate().ok()) << "unread without splitting";
}

TEST(BatchingOptionsTest, LastAllowedSizeIsTheLargestBatch) {
  EXPECT_EQ(BatchingOptions({.max_batch_size = 8, .allowed_batch_sizes = {2, 4}}).Validate(),
            Invalid("Last entry in allowed_batch_sizes must match max_batch_size; last entry was "
                    "4; expected 8"));
  EXPECT_TRUE(
      BatchingOptions({.max_batch_size = 8, .allowed_batch_sizes = {2, 8}}).Validate().ok());
}

TEST(BatchingOptionsTest, PadsToTheFirstSizeThatIsLargeEnough) {
  const BatchingOptions options{.max_batch_size = 8, .allowed_batch_sizes = {6, 2, -1, 8}};
  ASSERT_TRUE(options.Validate().ok()) << "order and sign of the others do not count";
  EXPECT_EQ(options.PaddedRows(1), 6);
  EXPECT_EQ(options.PaddedRows(6), 6);
  EXPECT_EQ(options.PaddedRows(7), 8);
}

TEST(BatchingOptionsTest, LikelyRowsAreTheAllowedSizesThatCanBeReached) {
  const BatchingOptions options{.max_batch_size = 8, .allowed_batch_sizes = {-1, 2, 6, 4, 8}};
  EXPECT_THAT(options.LikelyRows(), ElementsAre(2, 6, 8));
  const BatchingOptions split{.max_batch_size = 8,
                              .enable_large_batch_splitting = true,
                              .max_execution_batch_size = 3,
                              .allowed_batch_sizes = {2, 4, 8}};
  EXPECT_THAT(split.LikelyRows(), ElementsAre(2, 4)) << "no part has more than 3 rows";
}

TEST(BatchingOptionsTest, LikelyRowsArePowersOfTwoWhereEverySizeIsAllowed) {
  EXPECT_THAT(BatchingOptions{.max_batch_size = 1}.LikelyRows(), ElementsAre(1));
  EXPECT_THAT(BatchingOptions{.max_batch_size = 8}.LikelyRows(), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(BatchingOptions{.max_batch_size = 20}.LikelyRows(), ElementsAre(1, 2, 4, 8, 16, 20));
  EXPECT_EQ(BatchingOptions{.max_batch_size = -1}.LikelyRows().back(), 1024);
}

TEST(BatchingOptionsTest, NegativeIsNoLimitAndAnEmptyQueueTakesOneBatch) {
  const BatchingOptions options{.max_batch_size = -1, .max_enqueued_batches = -1};
  ASSERT_TRUE(options.Validate().ok());
  EXPECT_GT(options.request_limit(), 1'000'000'000);
  EXPECT_GT(options.queue_limit(), 1'000'000'000);
  EXPECT_EQ(BatchingOptions{.max_enqueued_batches = 0}.queue_limit(), 1);
}

TEST(BatchingOptionsTest, SplitRunsAreAsLargeAsRequestsUnlessTold) {
  BatchingOptions options{.max_batch_size = 8, .enable_large_batch_splitting = true};
  EXPECT_EQ(options.run_limit(), 8);
  options.max_execution_batch_size = 3;
  EXPECT_EQ(options.run_limit(), 3);
  EXPECT_EQ(options.request_limit(), 8);
}

}  // namespace
}  // namespace tessera::serving
