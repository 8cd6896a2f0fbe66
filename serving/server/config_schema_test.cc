// config/tessera.schema.json says what ReadConfigFile() takes.
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "serving/server/server_options.h"
#include "serving/server/server_settings.h"
#include "serving/server/testing/schema_file.h"

namespace tessera::serving {
namespace {

using Json = SchemaFile::Json;
using Names = SchemaFile::Names;

// Fields of LoggingConfig that every configuration is refused for.
const Names kRefusedFields = {"per_task_sampling_configs", "custom_logging_config"};

class ConfigSchemaTest : public ::testing::Test {
 protected:
  std::string Broken(const std::string& yaml) const { return schema_.Broken(yaml); }
  const Json& Property(const char* name) const { return schema_.Property(name); }
  // Whether the server takes a value of a flag.
  static bool IsAccepted(const char* flag, const char* value) {
    ServerOptions options;
    EXPECT_TRUE(options.Flags().Set(flag, value).ok());
    options.model_base_path = "/m";
    options.enable_batching = true;
    ConfigReport report;
    ReadSettings(options, &report);
    return report.FirstError().ok();
  }

  const SchemaFile schema_{"config/tessera.schema.json", kRefusedFields};
};

TEST_F(ConfigSchemaTest, HoldsEveryFlagWithItsType) {
  const std::map<std::string, std::string> types = {{"int32", "integer"},
                                                    {"int64", "integer"},
                                                    {"bool", "boolean"},
                                                    {"float", "number"},
                                                    {"string", "string"}};
  Names keys = {"models", "batching", "monitoring", "ssl"};
  ServerOptions options;
  // A line of usage: "\t--port=8500 \tint32\thelp".
  for (const absl::string_view line : absl::StrSplit(options.Flags().Usage("tessera"), '\n')) {
    const std::vector<std::string> columns = absl::StrSplit(line, '\t');
    if (columns.size() != 4) continue;
    const std::string name = columns[1].substr(2, columns[1].find('=') - 2);
    if (IsForCommandLineOnly(name)) continue;
    keys.insert(name);
    ASSERT_TRUE(schema_.json()["properties"].HasMember(name.c_str())) << name;
    EXPECT_EQ(Property(name.c_str())["type"].GetString(), types.at(columns[2])) << name;
  }
  EXPECT_GT(keys.size(), 50u);
  EXPECT_EQ(SchemaFile::NamesOf(schema_.json()["properties"]), keys);
}

TEST_F(ConfigSchemaTest, BlocksHaveTheFieldsOfTheirMessages) {
  namespace tfs = tensorflow::serving;
  schema_.CheckMessage(schema_.Resolve(Property("models")["items"]),
                       *tfs::ModelConfig::descriptor(), {"rollout", "limits"});
  schema_.CheckMessage(schema_.json()["definitions"]["LimitsConfig"], *LimitsConfig::descriptor());
  schema_.CheckMessage(schema_.json()["definitions"]["RolloutConfig"],
                       *RolloutConfig::descriptor());
  schema_.CheckMessage(Property("batching"), *tfs::BatchingParameters::descriptor(), {"mode"});
  schema_.CheckMessage(Property("monitoring"), *tfs::MonitoringConfig::descriptor());
  schema_.CheckMessage(Property("ssl"), *tfs::SSLConfig::descriptor());
}

TEST_F(ConfigSchemaTest, SampleAndWhatIsCommentedOutInItAreValid) {
  const std::string sample = *ReadFile("config/tessera.yaml");
  EXPECT_EQ(Broken(sample), "");
  std::string whole;
  for (absl::string_view line : absl::StrSplit(sample, '\n')) {
    // "# batching:" and "#   max_batch_size: 32" are settings, other comments are sentences.
    const bool is_setting =
        absl::StartsWith(line, "#   ") || line == "# batching:" || line == "# ssl:";
    absl::StrAppend(&whole, is_setting ? line.substr(2) : line, "\n");
  }
  EXPECT_NE(whole, sample + "\n");
  EXPECT_EQ(Broken(whole), "");
  ServerOptions options;
  const std::string path = JoinPath(::testing::TempDir(), "whole.yaml");
  ASSERT_TRUE(WriteFileAtomically(path, whole).ok());
  const absl::Status status = ReadConfigFile(path, &options);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(options.batching.has_value());
  EXPECT_TRUE(options.ssl.has_value());
}

TEST_F(ConfigSchemaTest, FlagsThatAreChoicesHaveTheirValues) {
  for (const char* flag : {"log_level", "load_priority", "numerics", "batching_mode"}) {
    for (const auto& value : Property(flag)["enum"].GetArray()) {
      EXPECT_TRUE(IsAccepted(flag, value.GetString())) << flag << ": " << value.GetString();
    }
    EXPECT_EQ(Broken(absl::StrCat(flag, ": nonsense")), "enum");
    EXPECT_FALSE(IsAccepted(flag, "nonsense")) << flag;
  }
}

TEST_F(ConfigSchemaTest, RefusesWhatTheServerRefuses) {
  const char kModel[] = "models: [{name: m, base_path: /m";
  for (const std::string& good :
       {std::string("port: 1"), std::string("enable_batching: true"), absl::StrCat(kModel, "}]"),
        absl::StrCat(kModel, ", model_version_policy: {all: }}]"),
        absl::StrCat(kModel, ", version_labels: {a: 1}}]"), absl::StrCat(kModel, ", rollout: }]"),
        absl::StrCat(kModel, ", rollout: {steps: [{share_percent: 0.5}]}}]"),
        absl::StrCat(kModel,
                     ", logging_config: {sampling_config: {sampling_rate: 0.01}, "
                     "log_collector_config: {type: tfrecord, filename_prefix: /logs/m}}}]"),
        absl::StrCat(kModel, ", limits: {}}]"),
        absl::StrCat(kModel, ", limits: {max_concurrent_requests: 1, max_queue: 0}}]")}) {
    EXPECT_EQ(Broken(good), "") << good;
  }
  const std::pair<std::string, std::string> kBad[] = {
      {"prot: 1", "additionalProperties"},
      {"config: other.yaml", "additionalProperties"},
      {"port: many", "type"},
      {"batching: {max_batchsize: 1}", "additionalProperties"},
      {"batching: {mode: [adaptive]}", "type"},
      {"models: {name: m}", "type"},
      {absl::StrCat(kModel, ", model_version_policy: {all: {}, latest: {}}}]"), "maxProperties"},
      {absl::StrCat(kModel, ", version_labels: {a: one}}]"), "type"},
      {absl::StrCat(kModel, ", logging_config: {sampling_config: {rate: 1}}}]"),
       "additionalProperties"},
      {absl::StrCat(kModel, ", rollout: {steps: [{share_percent: 0}]}}]"), "minimum"},
      {absl::StrCat(kModel, ", rollout: {steps: []}}]"), "minItems"},
      {absl::StrCat(kModel, ", rollout: {steps: [{share_percent: 101}]}}]"), "maximum"},
      {absl::StrCat(kModel, ", rollout: {conditions: {min_requests: 0}}}]"), "minimum"},
      {absl::StrCat(kModel, ", rollout: {conditions: {windows: 1}}}]"), "additionalProperties"},
      {absl::StrCat(kModel, ", rollout: {sticky_key: 'a b'}}]"), "pattern"},
      {absl::StrCat(kModel, ", limits: {max_concurrent_requests: 0}}]"), "minimum"},
      {absl::StrCat(kModel, ", limits: {max_queue: 1}}]"), "dependencies"},
      {absl::StrCat(kModel, ", limits: {timeout_ms: soon}}]"), "type"},
      {absl::StrCat(kModel, ", limits: {share: 1001}}]"), "maximum"},
      {absl::StrCat(kModel, ", limits: {timeout: 1}}]"), "additionalProperties"},
      {absl::StrCat(kModel, ", limits: }]"), "type"},
  };
  for (const auto& [yaml, keyword] : kBad) {
    EXPECT_EQ(Broken(yaml), keyword) << yaml;
    ServerOptions options;
    const std::string path = JoinPath(::testing::TempDir(), "bad.yaml");
    ASSERT_TRUE(WriteFileAtomically(path, yaml).ok());
    EXPECT_FALSE(ReadConfigFile(path, &options).ok()) << yaml;
  }
}

}  // namespace
}  // namespace tessera::serving
