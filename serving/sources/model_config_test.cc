#include "serving/sources/model_config.h"

#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using tensorflow::serving::ModelServerConfig;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelServerConfig Parse(const std::string& text) {
  ModelServerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

ModelServerConfig Models(const std::string& models) {
  return Parse("model_config_list { " + models + " }");
}

void ExpectRefused(const ModelServerConfig& config, absl::StatusCode code,
                   const std::string& message, const ModelServerConfig* previous = nullptr) {
  const absl::Status status = CheckModelServerConfig(config, previous, {"tensorflow"});
  EXPECT_EQ(status.code(), code);
  EXPECT_THAT(std::string(status.message()), HasSubstr(message));
}

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

TEST(ModelConfigTest, GoodConfigurationsPass) {
  EXPECT_TRUE(CheckModelServerConfig(Parse(""), nullptr, {}).ok());
  EXPECT_TRUE(CheckModelServerConfig(Parse("model_config_list {}"), nullptr, {}).ok());
  EXPECT_TRUE(CheckModelServerConfig(
                  Models("config { name: 'a' base_path: '/a' model_platform: 'tensorflow' } "
                         "config { name: 'b' base_path: '/a' model_type: TENSORFLOW } "
                         "config { name: '' base_path: '/a' model_platform: 'tensorflow' }"),
                  nullptr, {"tensorflow"})
                  .ok());
}

TEST(ModelConfigTest, ModelsAreNamedOnceAndFoundAbsolutely) {
  ExpectRefused(Models("config { name: 'a' base_path: '/a' model_platform: 'tensorflow' }"
                       "config { name: 'a' base_path: '/b' model_platform: 'tensorflow' }"),
                kInvalid, "Illegal to list model a multiple times in config list");
  ExpectRefused(Models("config { name: 'a' base_path: 'x/y' model_platform: 'tensorflow' }"),
                kInvalid, "Expected model a to have an absolute path or URI; got base_path()=x/y");
  ExpectRefused(Models("config { name: 'a' model_platform: 'tensorflow' }"), kInvalid,
                "Expected model a to have an absolute path or URI; got base_path()=");
  ExpectRefused(Models("config { name: 'a' base_path: 's3://b' model_platform: 'tensorflow' }"),
                kInvalid, "only local paths");
}

TEST(ModelConfigTest, PlatformMustBeTensorFlow) {
  ExpectRefused(Models("config { name: 'a' base_path: '/a' }"), kInvalid,
                "Illegal setting neither");
  ExpectRefused(Models("config { name: 'a' base_path: '/a' model_type: TENSORFLOW "
                       "model_platform: 'tensorflow' }"),
                kInvalid, "Illegal setting both");
  ExpectRefused(Models("config { name: 'a' base_path: '/a' model_type: OTHER }"), kInvalid,
                "choice 2 not supported.");
  ExpectRefused(Models("config { name: 'a' base_path: '/a' model_platform: 'onnx' }"), kInvalid,
                "Model a requests unsupported platform onnx");
  const auto before = Models("config { name: 'a' base_path: '/a' model_platform: 'tensorflow' }");
  ExpectRefused(Models("config { name: 'a' base_path: '/a' model_platform: 'onnx' }"), kInvalid,
                "Illegal to change a model's platform", &before);
}

std::string Logged(const std::string& name, const std::string& logging_config) {
  return "config { name: '" + name + "' base_path: '/a' model_platform: 'tensorflow' " +
         "logging_config { " + logging_config + " } } ";
}

TEST(ModelConfigTest, LoggingNeedsATypeAnOwnPrefixAndARate) {
  constexpr char kTo[] = "log_collector_config { type: 'tfrecord' filename_prefix: '/logs/a' } ";
  EXPECT_TRUE(CheckModelServerConfig(
                  Models(Logged("a", std::string(kTo) + "sampling_config { sampling_rate: 0.5 }")),
                  nullptr, {"tensorflow"})
                  .ok());
  ExpectRefused(
      Models(Logged("a", "")), kInvalid,
      "logging_config of model a: log_collector_config.type is ''; it must be 'tfrecord'");
  for (const char* prefix : {"", "logs/a", "/logs/"}) {
    ExpectRefused(Models(Logged("a", "log_collector_config { type: 'tfrecord' filename_prefix: '" +
                                         std::string(prefix) + "' }")),
                  kInvalid, "it must be an absolute path");
  }
  ExpectRefused(Models(Logged("a", kTo) + Logged("b", kTo)), kInvalid,
                "filename_prefix '/logs/a' is that of model a; each model needs its own");
  for (const char* rate : {"-0.1", "1.5", "nan"}) {
    ExpectRefused(
        Models(Logged("a", kTo + std::string("sampling_config { sampling_rate: ") + rate + " }")),
        kInvalid, "it must be from 0 to 1");
  }
  ExpectRefused(Models(Logged("a", std::string(kTo) + "custom_logging_config {}")), kInvalid,
                "not supported");
  // TensorFlow Serving passes it over.
  EXPECT_TRUE(CheckModelServerConfig(
                  Models(Logged("a", std::string(kTo) + "sampling_config { attributes: 1 }")),
                  nullptr, {"tensorflow"})
                  .ok());
}

TEST(ModelConfigTest, CustomConfigurationsAreRefused) {
  const auto custom = Parse("custom_model_config { type_url: 'x' }");
  ExpectRefused(custom, kPrecondition, "not supported");
  const auto before = Models("");
  ExpectRefused(custom, kPrecondition, "Cannot transition to requested config", &before);
}

TEST(ModelConfigTest, AUriOfALocalFileIsItsPath) {
  const ModelServerConfig config =
      Models("config { name: 'a' base_path: 'file:///a' model_platform: 'tensorflow' }");
  EXPECT_TRUE(CheckModelServerConfig(config, nullptr, {"tensorflow"}).ok());
  EXPECT_EQ(MonitoredServables(config).front().base_path, "/a");
}

TEST(ModelConfigTest, VersionPoliciesMapToChoices) {
  const auto servables = MonitoredServables(Models(
      "config { name: 'a' base_path: '/a' }"
      "config { name: 'b' base_path: '/b' model_version_policy { latest { num_versions: 3 } } }"
      "config { name: 'c' base_path: '/c' model_version_policy { latest {} } }"
      "config { name: 'd' base_path: '/d' model_version_policy { all {} } }"
      "config { name: 'e' base_path: '/e' model_version_policy { specific { versions: [7, 2] "
      "} } }"));
  ASSERT_EQ(servables.size(), 5);
  using Kind = VersionChoice::Kind;
  EXPECT_EQ(servables[0].versions.kind, Kind::kLatest);
  EXPECT_EQ(servables[0].versions.num_latest, 1);
  EXPECT_EQ(servables[1].versions.num_latest, 3);
  EXPECT_EQ(servables[2].versions.num_latest, 1);
  EXPECT_EQ(servables[3].versions.kind, Kind::kAll);
  EXPECT_EQ(servables[4].versions.kind, Kind::kSpecific);
  EXPECT_THAT(servables[4].versions.specific, ElementsAre(7, 2));
  EXPECT_EQ(servables[4].base_path, "/e");
}

}  // namespace
}  // namespace tessera::serving
