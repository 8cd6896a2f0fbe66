#include "serving/server/platform_config.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "serving/server/server_settings.h"

namespace tessera::serving {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PlatformConfigTest : public ::testing::Test {
 protected:
  PlatformConfigTest() { options_.model_base_path = "/m"; }

  absl::Status Apply(const std::string& text) {
    options_.platform_config_file = JoinPath(::testing::TempDir(), "platform.config");
    EXPECT_TRUE(WriteFileAtomically(options_.platform_config_file, text).ok());
    return ApplyOptions();
  }
  absl::Status ApplyOptions() {
    ConfigReport report;
    serving::ApplyPlatformConfig(&options_, &report);
    report.Log();
    return report.FirstError();
  }
  absl::Status ApplyBundle(const std::string& legacy_config) {
    return Apply(absl::StrCat(
        "platform_configs { key: 'tensorflow' value { source_adapter_config { "
        "[type.googleapis.com/tensorflow.serving.SavedModelBundleSourceAdapterConfig] { "
        "legacy_config { ",
        legacy_config, " } } } } }"));
  }
  void ExpectRefused(const absl::Status& status, StatusCode code, const std::string& text) {
    EXPECT_EQ(status.code(), code);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  ServerOptions options_;
};

TEST_F(PlatformConfigTest, WithoutAFileFlagsCount) {
  options_.enable_batching = true;
  ASSERT_TRUE(ApplyOptions().ok());
  EXPECT_TRUE(options_.enable_batching);
  EXPECT_TRUE(options_.enable_model_warmup);
}

TEST_F(PlatformConfigTest, TakesThePlaceOfFlags) {
  options_.batching_parameters_file = "/not/read";
  options_.tensorflow_session_config_file = "/not/read";
  options_.tensorflow_session_parallelism = 7;
  const absl::Status status = ApplyBundle(
      "saved_model_tags: 'serve' saved_model_tags: 'gpu' enable_model_warmup: true "
      "model_warmup_options { num_request_iterations { value: 3 } } "
      "session_config { intra_op_parallelism_threads: 2 inter_op_parallelism_threads: 5 "
      "operation_timeout_in_ms: 250 } "
      "batching_parameters { max_batch_size { value: 16 } }");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(options_.enable_model_warmup);
  EXPECT_EQ(options_.num_request_iterations_for_warmup, 3);
  EXPECT_TRUE(options_.enable_batching);
  EXPECT_EQ(options_.batching->max_batch_size().value(), 16);

  const absl::StatusOr<ServerSettings> settings = ReadSettings(options_);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_TRUE(settings->batching.has_value());
  EXPECT_THAT(settings->saved_model_tags, ElementsAre("gpu", "serve"));
  EXPECT_EQ(settings->session.intra_op_threads, 2);
  EXPECT_EQ(settings->session.inter_op_threads, 5);
  EXPECT_EQ(settings->session.default_timeout, absl::Milliseconds(250));
}

TEST_F(PlatformConfigTest, WhatIsLeftOutHasTheMessagesDefault) {
  options_.enable_batching = true;
  options_.saved_model_tags = "gpu";
  options_.tensorflow_intra_op_parallelism = 4;
  ASSERT_TRUE(ApplyBundle("").ok());
  EXPECT_FALSE(options_.enable_batching);
  EXPECT_FALSE(options_.enable_model_warmup);
  const absl::StatusOr<ServerSettings> settings = ReadSettings(options_);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_FALSE(settings->batching.has_value());
  EXPECT_THAT(settings->saved_model_tags, ElementsAre("serve"));
  EXPECT_EQ(settings->session.intra_op_threads, 0);
}

TEST_F(PlatformConfigTest, WhatHasNoEffectIsTold) {
  testing::internal::CaptureStderr();
  ASSERT_TRUE(ApplyBundle("mixed_precision: 'bfloat16' "
                          "in_graph_batching_parameters { max_batch_size: 8 } "
                          "session_run_load_threadpool_index { value: 1 } "
                          "enable_model_warmup: true "
                          "session_config { intra_op_parallelism_threads: 2 "
                          "use_per_session_threads: true }")
                  .ok());
  ASSERT_TRUE(ReadSettings(options_).ok());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("platform.config: these settings have no effect: "
                             "session_run_load_threadpool_index.value, mixed_precision, "
                             "in_graph_batching_parameters.max_batch_size\n"));
  EXPECT_THAT(log, HasSubstr("session_config: these settings have no effect: "
                             "use_per_session_threads\n"));
}

TEST_F(PlatformConfigTest, WhatCannotBeDoneIsRefused) {
  ExpectRefused(Apply("platform_configs { key: 'caffe' value {} }"), StatusCode::kInvalidArgument,
                "there is no platform 'caffe', only 'tensorflow'");
  ExpectRefused(Apply("# nothing"), StatusCode::kInvalidArgument, "says nothing of the platform");
  ExpectRefused(Apply("platform_configs { key: 'tensorflow' value { source_adapter_config { "
                      "[type.googleapis.com/tensorflow.serving.SessionBundleConfig] {} } } }"),
                StatusCode::kInvalidArgument, "SavedModelBundleSourceAdapterConfig");
  ExpectRefused(Apply("platform { }"), StatusCode::kInvalidArgument, "Invalid protobuf file");
  ExpectRefused(ApplyBundle("session_target: 'grpc://other'"), StatusCode::kUnimplemented,
                "'grpc://other'");
  ExpectRefused(ApplyBundle("experimental_fixed_input_tensors { name: 'x' }"),
                StatusCode::kUnimplemented, "experimental_fixed_input_tensors");
  ASSERT_TRUE(ApplyBundle("session_config { cluster_def { job { name: 'worker' } } }").ok());
  ExpectRefused(ReadSettings(options_).status(), StatusCode::kUnimplemented, "cluster_def");
  options_.platform_config_file = "/no/such/file";
  ExpectRefused(ApplyOptions(), StatusCode::kNotFound, "/no/such/file");
}

}  // namespace
}  // namespace tessera::serving
