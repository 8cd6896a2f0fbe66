#include "serving/server/server_settings.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ServerSettingsTest : public ::testing::Test {
 protected:
  ServerSettingsTest() { options_.model_base_path = "/models/m"; }

  std::string Write(const std::string& text) {
    const std::string path = JoinPath(::testing::TempDir(), "settings.pbtxt");
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return path;
  }
  void ExpectRefused(absl::StatusCode code, const std::string& text) {
    const auto settings = ReadSettings(options_);
    EXPECT_EQ(settings.status().code(), code);
    EXPECT_THAT(std::string(settings.status().message()), HasSubstr(text));
  }

  ServerOptions options_;
};

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST_F(ServerSettingsTest, OneModelFromItsFlags) {
  const auto settings = ReadSettings(options_);
  ASSERT_TRUE(settings.ok());
  const auto& model = settings->models.model_config_list().config(0);
  EXPECT_EQ(model.name(), "default");
  EXPECT_EQ(model.base_path(), "/models/m");
  EXPECT_THAT(settings->saved_model_tags, ElementsAre("serve"));
  EXPECT_FALSE(settings->batching.has_value());
}

TEST_F(ServerSettingsTest, FileOfModelsGoesFirst) {
  options_.model_config_file =
      Write("# comment\nmodel_config_list < config: { name: 'a', base_path: \"/b\" \"ase\" } >");
  const auto settings = ReadSettings(options_);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->models.model_config_list().config(0).base_path(), "/base");
}

TEST_F(ServerSettingsTest, ModelFilesThatCannotBeRead) {
  options_.model_config_file = "/no/such/file";
  ExpectRefused(absl::StatusCode::kNotFound, "/no/such/file; No such file or directory");
  options_.model_config_file = Write("");
  ExpectRefused(kInvalid, "; Invalid argument");
  options_.model_config_file = Write("nonsense: 1");
  ExpectRefused(kInvalid, "Invalid protobuf file: '");
  options_.model_config_file = Write("# only a comment");
  EXPECT_TRUE(ReadSettings(options_).ok());
}

TEST_F(ServerSettingsTest, NothingToServeOrToListenOn) {
  options_.model_base_path = "";
  ExpectRefused(kInvalid, "model_base_path and server_options.model_config_file are empty");
  options_.port = 0;
  ExpectRefused(kInvalid, "nothing to listen on");
  options_.grpc_socket_path = "/tmp/socket";
  options_.model_base_path = "/m";
  EXPECT_TRUE(ReadSettings(options_).ok());
}

TEST_F(ServerSettingsTest, PortsThatThereAreNotAreRefused) {
  options_.port = 99999;
  ExpectRefused(kInvalid, "port is 99999; ports are numbers from 1 to 65535");
  options_.port = 8500;
  options_.rest_api_port = -1;
  ExpectRefused(kInvalid, "rest_api_port is -1");
  options_.rest_api_port = 65535;
  options_.admin_port = 65536;
  ExpectRefused(kInvalid, "admin_port is 65536");
  options_.admin_port = 65535;
  ExpectRefused(kInvalid, "admin_port is that of rest_api_port, 65535");
}

TEST_F(ServerSettingsTest, ContradictionsAreRefused) {
  options_.batching_parameters_file = Write("max_batch_size { value: 4 }");
  ExpectRefused(kInvalid, "enable_batching");
  options_.enable_batching = true;
  EXPECT_EQ(ReadSettings(options_)->batching->parameters.max_batch_size().value(), 4);
  options_.batching_parameters_file = "";
  options_.use_alts_credentials = true;
  options_.ssl_config_file = Write("server_key: 'x'");
  ExpectRefused(kInvalid, "use_alts_credentials excludes ssl_config_file");
}

TEST_F(ServerSettingsTest, TlsNeedsOneCertificateWithItsKey) {
  options_.rest_api_ssl = true;
  ExpectRefused(kInvalid, "rest_api_ssl needs a certificate");
  options_.rest_api_ssl = false;
  options_.admin_ssl = true;
  ExpectRefused(kInvalid, "admin_ssl needs a certificate");
  options_.ssl_certificate_file = Write("none");
  ExpectRefused(kInvalid, "set both ssl_certificate_file and ssl_key_file");
  options_.ssl_key_file = options_.ssl_certificate_file;
  ExpectRefused(kInvalid, "ssl_certificate_file: the server's certificate is no PEM");
  options_.ssl_config_file = options_.ssl_certificate_file;
  ExpectRefused(kInvalid, "choose one");
}

TEST_F(ServerSettingsTest, TheTokenFileMustHaveATokenAtTheStart) {
  options_.token_file = "/none";
  ExpectRefused(absl::StatusCode::kNotFound, "token_file: ");
  options_.token_file = Write("# none yet");
  ExpectRefused(kInvalid, "no token in it");
  options_.token_file = Write("secret");
  EXPECT_TRUE(ReadSettings(options_)->access.tokens->Check("Bearer secret", absl::Now()).ok());
}

TEST_F(ServerSettingsTest, BatchingHasAModeAndThreads) {
  options_.batching_mode = "adaptive";
  ExpectRefused(kInvalid, "batching_mode is set without setting server_options.enable_batching");
  options_.enable_batching = true;
  EXPECT_EQ(ReadSettings(options_)->batching->mode, BatchingMode::kAdaptive);
  options_.batching_mode = "eager";
  ExpectRefused(kInvalid, "batching_mode must be upstream, adaptive or measured; was eager");
  options_.batching_mode = "";
  EXPECT_EQ(ReadSettings(options_)->batching->mode, BatchingMode::kUpstream);
  EXPECT_FALSE(ReadSettings(options_)->batching->per_model_parameters);
  options_.enable_per_model_batching_parameters = true;
  EXPECT_TRUE(ReadSettings(options_)->batching->per_model_parameters);
  options_.batching_parameters_file = Write("num_batch_threads {}");
  ExpectRefused(kInvalid, "num_batch_threads must be positive; was 0");
  options_.batching_parameters_file = Write("num_batch_threads { value: 1000000 }");
  ExpectRefused(kInvalid, "num_batch_threads must be at most 4096; was 1000000");
}

TEST_F(ServerSettingsTest, ParallelismComesFromOneOfTwoWays) {
  options_.tensorflow_session_parallelism = 3;
  EXPECT_EQ(ReadSettings(options_)->session.intra_op_threads, 3);
  EXPECT_EQ(ReadSettings(options_)->session.inter_op_threads, 3);
  options_.tensorflow_intra_op_parallelism = 2;
  EXPECT_EQ(ReadSettings(options_)->session.intra_op_threads, 2);
  EXPECT_EQ(ReadSettings(options_)->session.inter_op_threads, 0);
  options_.tensorflow_inter_op_parallelism = 1;
  ExpectRefused(kInvalid, "session parallelism");
}

TEST_F(ServerSettingsTest, MoreThreadsThanAnyMachineUsesAreRefused) {
  options_.tensorflow_session_parallelism = 100000;
  ExpectRefused(kInvalid, "tensorflow_session_parallelism must be at most 4096; was 100000");
  options_.tensorflow_intra_op_parallelism = 4096;  // counts instead
  EXPECT_EQ(ReadSettings(options_)->session.intra_op_threads, 4096);
  options_.tensorflow_intra_op_parallelism = 4097;
  ExpectRefused(kInvalid, "tensorflow_intra_op_parallelism must be at most 4096; was 4097");
  options_.tensorflow_intra_op_parallelism = -1;
  options_.tensorflow_inter_op_parallelism = int64_t{1} << 40;
  ExpectRefused(kInvalid, "tensorflow_inter_op_parallelism must be at most 4096");
}

TEST_F(ServerSettingsTest, PassesAreDisabledByNamesThatThereAre) {
  EXPECT_TRUE(ReadSettings(options_)->session.freeze_variables);
  options_.disable_pass = "freeze_variables,fuse_attention";
  EXPECT_THAT(ReadSettings(options_)->session.optimizer.disabled_passes,
              testing::ElementsAre("freeze_variables", "fuse_attention"));
  options_.disable_pass = "fuse_everything";
  ExpectRefused(kInvalid, "no pass 'fuse_everything'");
}

TEST_F(ServerSettingsTest, NumericsAreFastOrStrict) {
  EXPECT_EQ(ReadSettings(options_)->session.numerics, Numerics::kFast);
  options_.numerics = "strict";
  EXPECT_EQ(ReadSettings(options_)->session.numerics, Numerics::kStrict);
  options_.numerics = "exact";
  ExpectRefused(kInvalid, "numerics is 'exact'; it must be fast or strict");
}

TEST_F(ServerSettingsTest, TrapsOfUpstreamAreErrorsHere) {
  options_.file_system_poll_wait_seconds = -1;
  ExpectRefused(kInvalid, "no model would ever be found");
  options_.file_system_poll_wait_seconds = 1;
  options_.ssl_config_file = "/no/such/file";
  ExpectRefused(absl::StatusCode::kNotFound, "/no/such/file");
  options_.ssl_config_file = "";
  options_.thread_pool_factory_config_file = "/no/such/pools";
  ExpectRefused(absl::StatusCode::kNotFound, "/no/such/pools");
  options_.thread_pool_factory_config_file = "";
  options_.grpc_channel_arguments = "a=1,b";
  ExpectRefused(kInvalid, "'b' has no value");
  options_.grpc_channel_arguments = "";
  options_.monitoring_config_file = Write("");
  ExpectRefused(kInvalid, "Invalid argument");
}

TEST_F(ServerSettingsTest, SessionSettingsWithoutEffectAreTold) {
  options_.tensorflow_session_config_file =
      Write("allow_soft_placement: true gpu_options { allow_growth: true }");
  testing::internal::CaptureStderr();
  EXPECT_TRUE(ReadSettings(options_).ok());
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("settings.pbtxt: these settings have no effect: gpu_options.allow_growth\n"));
  options_.tensorflow_session_config_file = Write("cluster_def { job { name: 'w' } }");
  ExpectRefused(absl::StatusCode::kUnimplemented, "cluster_def names other tasks");
}

TEST_F(ServerSettingsTest, ChannelArgumentsAreNumbersOrTexts) {
  options_.grpc_channel_arguments =
      "grpc.max_connection_age_ms=2000,grpc.lb_policy_name=pick=first";
  const auto settings = ReadSettings(options_);
  ASSERT_EQ(settings->channel_arguments.size(), 2);
  EXPECT_EQ(settings->channel_arguments[0].number, 2000);
  EXPECT_EQ(settings->channel_arguments[1].number, absl::nullopt);
  EXPECT_EQ(settings->channel_arguments[1].text, "pick=first");
}

TEST_F(ServerSettingsTest, SamplesAreRight) {
  options_.model_config_file = "config/models.config";
  options_.enable_batching = true;
  options_.batching_parameters_file = "config/batching.config";
  options_.monitoring_config_file = "config/monitoring.config";
  const auto settings = ReadSettings(options_);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->models.model_config_list().config_size(), 2);
  EXPECT_TRUE(settings->monitoring->prometheus_config().enable());
}

TEST_F(ServerSettingsTest, TagsAreAList) {
  options_.saved_model_tags = "serve,gpu";
  EXPECT_THAT(ReadSettings(options_)->saved_model_tags, ElementsAre("gpu", "serve"));
  options_.saved_model_tags = "";
  EXPECT_THAT(ReadSettings(options_)->saved_model_tags, ElementsAre("serve"));
}

TEST_F(ServerSettingsTest, HowModelsAreLoaded) {
  EXPECT_EQ(ReadSettings(options_)->memory_limit, 0);
  EXPECT_EQ(ReadSettings(options_)->load_priority, ThreadPriority::kLow);
  options_.memory_limit = "2GiB";
  options_.load_priority = "idle";
  EXPECT_EQ(ReadSettings(options_)->memory_limit, int64_t{2} << 30);
  EXPECT_EQ(ReadSettings(options_)->load_priority, ThreadPriority::kIdle);
  options_.memory_limit = "much";
  ExpectRefused(kInvalid, "memory_limit: 'much' is no size");
  options_.memory_limit = "";
  options_.load_priority = "high";
  ExpectRefused(kInvalid, "it must be low, idle or none");
  options_.load_priority = "none";
  options_.load_cpu_share = 0;
  ExpectRefused(kInvalid, "load_cpu_share is 0");
  options_.load_cpu_share = 1;
  options_.version_settle_seconds = -1;
  ExpectRefused(kInvalid, "version_settle_seconds is negative");
}

TEST_F(ServerSettingsTest, HowRequestLogsRotate) {
  EXPECT_EQ(ReadSettings(options_)->request_log.max_file_bytes, 64 << 20);
  options_.request_log_file_size = "1KiB";
  options_.request_log_file_age_seconds = 60;
  options_.request_log_max_files = 0;
  const RotationOptions rotation = ReadSettings(options_)->request_log;
  EXPECT_EQ(rotation.max_file_bytes, 1024);
  EXPECT_EQ(rotation.max_file_age, absl::Minutes(1));
  EXPECT_EQ(rotation.max_files, 0);
  options_.request_log_max_files = -1;
  ExpectRefused(kInvalid, "request_log_max_files is -1");
  options_.request_log_file_age_seconds = 0;
  ExpectRefused(kInvalid, "request_log_file_age_seconds is 0");
  options_.request_log_file_size = "none";
  ExpectRefused(kInvalid, "request_log_file_size: 'none' is no size");
}

}  // namespace
}  // namespace tessera::serving
