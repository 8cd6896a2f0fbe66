#include "serving/server/server_batching.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

using tensorflow::serving::BatchingParameters;
using ::testing::ElementsAre;

class ServerBatchingTest : public ::testing::Test {
 protected:
  ServerBatchingTest() {
    std::string pattern = JoinPath(::testing::TempDir(), "batching_XXXXXX");
    directory_ = mkdtemp(pattern.data());
  }
  ~ServerBatchingTest() override { std::filesystem::remove_all(directory_); }

  absl::StatusOr<std::shared_ptr<RunWrapper>> Wrap() {
    batching_ = std::make_unique<ServerBatching>(settings_, &metrics_);
    return batching_->Wrap({"m", 1}, directory_);
  }
  void WriteModelFile(const std::string& text) {
    ASSERT_TRUE(
        WriteFileAtomically(JoinPath(directory_, ServerBatching::kPerModelFile), text).ok());
  }

  std::string directory_;
  MetricsRegistry registry_;
  BatchMetrics metrics_{&registry_};
  BatchingSettings settings_;
  std::unique_ptr<ServerBatching> batching_;
};

TEST_F(ServerBatchingTest, ParametersBecomeOptions) {
  BatchingParameters parameters;
  EXPECT_EQ(MakeBatchingOptions(parameters).max_batch_size, 1000);
  EXPECT_FALSE(MakeBatchingOptions(parameters).max_execution_batch_size.has_value());
  parameters.mutable_max_batch_size()->set_value(8);
  parameters.mutable_batch_timeout_micros()->set_value(1500);
  parameters.mutable_max_enqueued_batches()->set_value(3);
  parameters.mutable_enable_large_batch_splitting()->set_value(true);
  parameters.mutable_max_execution_batch_size()->set_value(4);
  parameters.add_allowed_batch_sizes(2);
  parameters.add_allowed_batch_sizes(8);
  parameters.set_pad_variable_length_inputs(true);
  const BatchingOptions options = MakeBatchingOptions(parameters);
  EXPECT_EQ(options.max_batch_size, 8);
  EXPECT_EQ(options.batch_timeout, absl::Microseconds(1500));
  EXPECT_EQ(options.max_enqueued_batches, 3);
  EXPECT_TRUE(options.enable_large_batch_splitting);
  EXPECT_EQ(options.max_execution_batch_size, 4);
  EXPECT_THAT(options.allowed_batch_sizes, ElementsAre(2, 8));
  EXPECT_TRUE(options.pad_variable_length_inputs);
}

TEST_F(ServerBatchingTest, ParametersOfQueuesAreCheckedWhenAModelLoads) {
  EXPECT_NE(Wrap().value(), nullptr);
  settings_.parameters.mutable_max_batch_size()->set_value(0);
  EXPECT_TRUE(settings_.Validate().ok());
  EXPECT_EQ(Wrap().status(), absl::InvalidArgumentError("max_batch_size must be positive; was 0"));
  settings_.mode = BatchingMode::kAdaptive;
  EXPECT_FALSE(Wrap().ok());
}

TEST_F(ServerBatchingTest, FileOfAModelStandsForTheServers) {
  settings_.parameters.mutable_max_batch_size()->set_value(0);
  settings_.per_model_parameters = true;
  EXPECT_EQ(Wrap().value(), nullptr) << "no file, no batching";
  WriteModelFile("max_batch_size { value: 4 }");
  EXPECT_NE(Wrap().value(), nullptr) << "the server's is not read";
  WriteModelFile("max_batch_size {}");
  EXPECT_EQ(Wrap().status(), absl::InvalidArgumentError("max_batch_size must be positive; was 0"));
  WriteModelFile("nonsense");
  EXPECT_EQ(Wrap().status().code(), absl::StatusCode::kInvalidArgument);
  WriteModelFile("");
  EXPECT_EQ(Wrap().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ServerBatchingTest, OnlyAdaptiveRunsMayFindACoreFree) {
  EXPECT_TRUE(Wrap().value()->MayWait());
  settings_.mode = BatchingMode::kAdaptive;
  EXPECT_FALSE(Wrap().value()->MayWait());
  settings_.mode = *ParseBatchingMode("measured");
  EXPECT_TRUE(Wrap().value()->MayWait());
}

}  // namespace
}  // namespace tessera::serving
