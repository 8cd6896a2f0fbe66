#include "serving/server/effective_config.h"

#include <fstream>

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
batching: {max_batch_size: 32, allowed_batch_sizes: [8, 32], mode: adaptive}
monitoring: {prometheus_config: {enable: true}}
)"),
                             &options)
                  .ok());
  const std::string text = EffectiveConfig(options, *options.models, options.rollouts);

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
  EXPECT_EQ(again.batching->DebugString(), options.batching->DebugString());
  EXPECT_EQ(again.monitoring->DebugString(), options.monitoring->DebugString());
  EXPECT_THAT(text, HasSubstr("\n# port: 8500\n"));
}

TEST(EffectiveConfigTest, MasksKeys) {
  ServerOptions options;
  options.ssl.emplace().set_server_key("-----BEGIN PRIVATE KEY-----\nMIIE\n");
  options.ssl->set_server_cert("-----BEGIN CERTIFICATE-----\nabc\n");
  const std::string text = EffectiveConfig(options, {}, {});
  EXPECT_THAT(text, Not(HasSubstr("PRIVATE")));
  EXPECT_THAT(text, Not(HasSubstr("MIIE")));
  EXPECT_THAT(text, HasSubstr("server_key: (masked)"));
  EXPECT_THAT(text, HasSubstr("BEGIN CERTIFICATE"));
}

TEST(EffectiveConfigTest, ShowsTheModelsThatAreServedNow) {
  tensorflow::serving::ModelServerConfig now;
  now.mutable_model_config_list()->add_config()->set_name("pushed_later");
  EXPECT_THAT(EffectiveConfig({}, now, {}), HasSubstr("- name: pushed_later\n"));
  EXPECT_THAT(EffectiveConfig({}, {}, {}), Not(HasSubstr("\nmodels:")));
}

}  // namespace
}  // namespace tessera::serving
