#include "serving/server/effective_config.h"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string WriteTemporary(const std::string& name, const std::string& text) {
  const std::string path = JoinPath(::testing::TempDir(), name);
  std::ofstream(path) << text;
  return path;
}

TEST(EffectiveConfigTest, IsAConfigurationThatReadsBackTheSame) {
  ServerOptions options;
  ASSERT_TRUE(ReadConfigFile(WriteTemporary("given.yaml", R"(
rest_api_port: 8501
memory_limit: "6GiB: not more # really"
load_cpu_share: 0.25
enable_model_warmup: false
models:
  - name: "a: [hostile] {name} # \"x\"\n<b>"
    base_path: /models/a
    model_version_policy: {specific: {versions: [41, 9223372036854775807]}}
    version_labels: {stable: 41, "on": 42}
  - {name: b, base_path: /models/b, model_version_policy: {all: {}}}
  - name: c
    base_path: /models/c
    rollout:
      steps: [{share_percent: 12.5, duration_seconds: 60}]
      conditions: {max_p99_ratio: 1.25}
      sticky_key: x-user
    limits: {max_concurrent_requests: 4, max_queue: 0, share: 3}
batching: {max_batch_size: 32, allowed_batch_sizes: [8, 32], mode: adaptive}
monitoring: {prometheus_config: {enable: true}}
)"),
                             &options)
                  .ok());
  const std::string text =
      EffectiveConfig(options, *options.models, options.rollouts, options.limits);

  ServerOptions again;
  const absl::Status status = ReadConfigFile(WriteTemporary("again.yaml", text), &again);
  ASSERT_TRUE(status.ok()) << status << "\n" << text;
  EXPECT_EQ(again.rest_api_port, 8501);
  EXPECT_EQ(again.memory_limit, options.memory_limit);
  EXPECT_EQ(again.load_cpu_share, 0.25f);
  EXPECT_FALSE(again.enable_model_warmup);
  EXPECT_EQ(again.batching_mode, "adaptive");
  EXPECT_EQ(again.models->DebugString(), options.models->DebugString());
  EXPECT_EQ(again.rollouts["c"].DebugString(), options.rollouts["c"].DebugString());
  EXPECT_EQ(again.limits["c"].DebugString(), options.limits["c"].DebugString());
  EXPECT_TRUE(again.limits["c"].has_max_queue());
  EXPECT_EQ(again.batching->DebugString(), options.batching->DebugString());
  EXPECT_EQ(again.monitoring->DebugString(), options.monitoring->DebugString());
  EXPECT_THAT(text, HasSubstr("\n# port: 8500\n"));
}

TEST(EffectiveConfigTest, EveryFlagReadsBackTheSame) {
  ServerOptions options;
  FlagParser flags = options.Flags();
  const std::string texts[] = {"a: [\"b\"] # 'c' {d}\n\\e é", "~", "true", "", " padded ", "012"};
  size_t count = 0;
  for (const FlagParser::Flag& flag : flags.flags()) {
    if (IsForCommandLineOnly(flag.name)) continue;
    const std::string& text = texts[count++ % std::size(texts)];
    struct {
      const std::string& text;
      void operator()(bool* value) { *value = !*value; }
      void operator()(int32_t* value) { *value = INT32_MIN; }
      void operator()(int64_t* value) { *value = INT64_MAX; }
      void operator()(float* value) { *value = *value == 0 ? INFINITY : 0.1f; }
      void operator()(std::string* value) { *value = text; }
      void operator()(std::vector<std::string>*) { FAIL() << "no flag of the server is a list"; }
    } change{text};
    std::visit(change, flag.variable);
  }
  ServerOptions again;
  const std::string printed = ConfigToPrint(options);
  const absl::Status status = ReadConfigFile(WriteTemporary("flags.yaml", printed), &again);
  ASSERT_TRUE(status.ok()) << status << "\n" << printed;
  const FlagParser flags_again = again.Flags();
  for (const FlagParser::Flag& flag : flags.flags()) {
    const bool same = std::visit(
        [&](auto* value) {
          return *value == *std::get<decltype(value)>(flags_again.Find(flag.name)->variable);
        },
        flag.variable);
    EXPECT_TRUE(same) << flag.name << "\n" << printed;
  }
  EXPECT_EQ(ConfigToPrint(again), printed);
}

TEST(EffectiveConfigTest, ModelsThatAreNoneAndBatchingThatIsOffReadBackTheSame) {
  ServerOptions options;
  options.models.emplace();
  options.batching.emplace().mutable_max_batch_size()->set_value(4);
  options.config = "/etc/a.yaml";
  options.rollouts["m"];
  ServerOptions again;
  const std::string printed = ConfigToPrint(options);
  ASSERT_TRUE(ReadConfigFile(WriteTemporary("none.yaml", printed), &again).ok()) << printed;
  EXPECT_TRUE(again.models.has_value());
  EXPECT_FALSE(again.enable_batching);
  EXPECT_EQ(again.rollout_state_file, "/etc/a.yaml.rollout-state");
}

TEST(EffectiveConfigTest, LabelsAreInOrder) {
  ServerOptions options;
  auto* const labels =
      options.models.emplace().mutable_model_config_list()->add_config()->mutable_version_labels();
  for (const char* label : {"e", "b", "on", "d", "a b", "c"}) (*labels)[label] = 1;
  EXPECT_THAT(ConfigToPrint(options),
              HasSubstr("version_labels: {a b: 1, b: 1, c: 1, d: 1, e: 1, on: 1}\n"));
}

TEST(EffectiveConfigTest, LeavesOutKeys) {
  ServerOptions options;
  options.ssl.emplace().set_server_key("-----BEGIN PRIVATE KEY-----\nMIIE\n");
  for (const std::string certificate : {"", "-----BEGIN CERTIFICATE-----\nabc\n"}) {
    options.ssl->set_server_cert(certificate);
    const std::string text = EffectiveConfig(options, {}, {}, {});
    EXPECT_THAT(text, Not(HasSubstr("PRIVATE")));
    EXPECT_THAT(text, Not(HasSubstr("MIIE")));
    EXPECT_THAT(text, HasSubstr("# ssl.server_key is secret, and left out.\n"));
    ServerOptions again;
    EXPECT_TRUE(ReadConfigFile(WriteTemporary("ssl.yaml", text), &again).ok()) << text;
    EXPECT_EQ(again.ssl->server_cert(), certificate);
  }
}

TEST(EffectiveConfigTest, ShowsTheModelsThatAreServedNow) {
  tensorflow::serving::ModelServerConfig now;
  now.mutable_model_config_list()->add_config()->set_name("pushed_later");
  EXPECT_THAT(EffectiveConfig({}, now, {}, {}), HasSubstr("- name: pushed_later\n"));
  EXPECT_THAT(EffectiveConfig({}, {}, {}, {}), Not(HasSubstr("\nmodels:")));
}

}  // namespace
}  // namespace tessera::serving
