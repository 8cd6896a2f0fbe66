#include "serving/server/server_options.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;

std::string WriteYaml(const std::string& text) {
  const std::string path = JoinPath(::testing::TempDir(), "config.yaml");
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return path;
}

absl::Status Read(const std::string& yaml, ServerOptions* options) {
  return ReadConfigFile(WriteYaml(yaml), options);
}

// The error for a file, without the path of its folder.
std::string ErrorOf(const std::string& yaml) {
  ServerOptions options;
  const absl::Status status = Read(yaml, &options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  return message.substr(message.find("config.yaml"));
}

TEST(ServerOptionsTest, EveryFlagOfTheModelServerIsThere) {
  ServerOptions options;
  const std::vector<std::string> names = options.Flags().names();
  const std::set<std::string> known(names.begin(), names.end());
  const std::set<std::string> flags_of_model_server = {
      "port",
      "grpc_socket_path",
      "rest_api_port",
      "rest_api_num_threads",
      "rest_api_timeout_in_ms",
      "rest_api_enable_cors_support",
      "enable_batching",
      "batching_parameters_file",
      "enable_per_model_batching_parameters",
      "allow_version_labels_for_unavailable_models",
      "model_config_file",
      "model_config_file_poll_wait_seconds",
      "model_name",
      "model_base_path",
      "num_load_threads",
      "num_unload_threads",
      "max_num_load_retries",
      "load_retry_interval_micros",
      "file_system_poll_wait_seconds",
      "flush_filesystem_caches",
      "tensorflow_session_parallelism",
      "tensorflow_intra_op_parallelism",
      "tensorflow_inter_op_parallelism",
      "tensorflow_session_config_file",
      "per_process_gpu_memory_fraction",
      "platform_config_file",
      "saved_model_tags",
      "use_alts_credentials",
      "ssl_config_file",
      "grpc_channel_arguments",
      "grpc_max_threads",
      "enable_model_warmup",
      "num_request_iterations_for_warmup",
      "version",
      "monitoring_config_file",
      "remove_unused_fields_from_bundle_metagraph",
      "prefer_tflite_model",
      "num_tflite_pools",
      "num_tflite_interpreters_per_pool",
      "enable_signature_method_name_check",
      "xla_cpu_compilation_enabled",
      "xla_gpu_compilation_enabled",
      "enable_profiler",
      "thread_pool_factory_config_file",
      "mixed_precision",
      "skip_initialize_tpu",
      "enable_grpc_healthcheck_service",
      "enable_serialization_as_tensor_content"};
  for (const std::string& flag : flags_of_model_server) EXPECT_TRUE(known.contains(flag)) << flag;
  EXPECT_EQ(known.size(), names.size()) << "each once";
  const FlagParser parser = options.Flags();
  for (const FlagParser::Flag& flag : parser.flags()) {
    EXPECT_EQ(flag.is_extension, !flags_of_model_server.contains(flag.name)) << flag.name;
    EXPECT_NE(flag.group, "") << flag.name;
  }
}

TEST(ServerOptionsTest, YamlHoldsFlagsAndModels) {
  ServerOptions options;
  ASSERT_TRUE(Read("rest_api_port: 8501\n"
                   "enable_grpc_healthcheck_service: true\n"
                   "models:\n"
                   "  - name: resnet\n"
                   "    base_path: /models/resnet\n"
                   "    model_version_policy: {specific: {versions: [3, 5]}}\n"
                   "    version_labels: {stable: 3, canary: 5}\n"
                   "  - {name: all, base_path: /models/all, model_version_policy: {all: }}\n"
                   "batching:\n"
                   "  max_batch_size: 32\n"
                   "  allowed_batch_sizes: [8, 32]\n"
                   "monitoring: {prometheus_config: {enable: true, path: /metrics}}\n",
                   &options)
                  .ok());
  EXPECT_EQ(options.rest_api_port, 8501);
  EXPECT_TRUE(options.enable_grpc_healthcheck_service);
  ASSERT_EQ(options.models->model_config_list().config_size(), 2);
  const auto& resnet = options.models->model_config_list().config(0);
  EXPECT_EQ(resnet.base_path(), "/models/resnet");
  EXPECT_EQ(resnet.model_platform(), "tensorflow");
  EXPECT_EQ(resnet.model_version_policy().specific().versions(1), 5);
  EXPECT_EQ(resnet.version_labels().at("canary"), 5);
  EXPECT_TRUE(options.models->model_config_list().config(1).model_version_policy().has_all());
  EXPECT_TRUE(options.enable_batching);
  EXPECT_EQ(options.batching->max_batch_size().value(), 32);
  EXPECT_EQ(options.batching->allowed_batch_sizes(0), 8);
  EXPECT_EQ(options.batching_mode, "");
  EXPECT_EQ(options.monitoring->prometheus_config().path(), "/metrics");
}

TEST(ServerOptionsTest, ModeStandsBesideTheBatchingParameters) {
  ServerOptions options;
  ASSERT_TRUE(Read("batching:\n  mode: adaptive\n  max_batch_size: 32\n", &options).ok());
  EXPECT_TRUE(options.enable_batching);
  EXPECT_EQ(options.batching_mode, "adaptive");
  EXPECT_EQ(options.batching->max_batch_size().value(), 32);
  EXPECT_EQ(ErrorOf("batching:\n  mode: [adaptive]\n"),
            "config.yaml:2: batching.mode must be a single value");
  EXPECT_EQ(ErrorOf("batching:\n  mode: adaptive\n  max_batchsize: 2\n"),
            "config.yaml:3: unknown key 'max_batchsize' in batching; did you mean "
            "'max_batch_size'?");
}

TEST(ServerOptionsTest, UnknownKeysAreRefusedWithLineAndNearestName) {
  EXPECT_EQ(ErrorOf("port: 1\nrest_api_prot: 2\n"),
            "config.yaml:2: unknown key 'rest_api_prot' in the server's configuration; did you "
            "mean 'rest_api_port'?");
  EXPECT_EQ(ErrorOf("batching:\n  max_batchsize: 2\n"),
            "config.yaml:2: unknown key 'max_batchsize' in batching; did you mean "
            "'max_batch_size'?");
  EXPECT_EQ(ErrorOf("models:\n  - name: a\n    qwertyuiop: 1\n"),
            "config.yaml:3: unknown key 'qwertyuiop' in models[0]");
  EXPECT_EQ(ErrorOf("models:\n- name: a\n- name: b\n  model_version_policy:\n    latst: {}\n"),
            "config.yaml:5: unknown key 'latst' in models[1].model_version_policy; did you mean "
            "'latest'?");
}

TEST(ServerOptionsTest, KeysStandOnceAndBelongToTheFile) {
  EXPECT_EQ(ErrorOf("port: 1\nmodel_name: m\nport: 2\n"), "config.yaml:3: key 'port' stands twice");
  EXPECT_THAT(ErrorOf("config: other.yaml\n"), HasSubstr("config.yaml:1: unknown key 'config'"));
  EXPECT_THAT(ErrorOf("version: true\n"), HasSubstr("config.yaml:1: unknown key 'version'"));
}

TEST(ServerOptionsTest, AKeyOfItsOwnCountsWhereverItStands) {
  for (const char* text :
       {"enable_batching: false\nbatching_mode: fixed\nbatching: {mode: adaptive}\n",
        "batching: {mode: adaptive}\nenable_batching: false\nbatching_mode: fixed\n"}) {
    ServerOptions options;
    ASSERT_TRUE(Read(text, &options).ok());
    EXPECT_FALSE(options.enable_batching) << text;
    EXPECT_EQ(options.batching_mode, "fixed") << text;
  }
}

TEST(ServerOptionsTest, ModelsAreNamedInOnePlace) {
  EXPECT_EQ(ErrorOf("model_config_file: a.cfg\nmodels: [{name: a, base_path: /a}]\n"),
            "config.yaml:1: model_config_file and models both name the models; remove one");
}

TEST(ServerOptionsTest, ValuesMustFit) {
  EXPECT_EQ(ErrorOf("\nport: many\n"),
            "config.yaml:2: Couldn't interpret value many for flag port.");
  EXPECT_EQ(ErrorOf("port: [1]\n"), "config.yaml:1: port must be a single value");
  EXPECT_EQ(ErrorOf("models:\n- name: a\n  version_labels: {x: one}\n"),
            "config.yaml:3: models[0].version_labels.x must be of type int64; 'one' is not");
  EXPECT_EQ(ErrorOf("models: 5\n"), "config.yaml:1: models must be a list");
  EXPECT_EQ(ErrorOf("batching: 5\n"), "config.yaml:1: batching must be a mapping");
  EXPECT_THAT(ErrorOf("models:\n- name: a\n  name: b\n"), HasSubstr("stands twice"));
  EXPECT_EQ(ErrorOf("models:\n- name: a\n  version_labels: {x: 1, y: 2, x: 3}\n"),
            "config.yaml:3: key 'x' stands twice in models[0].version_labels");
  EXPECT_THAT(ErrorOf("models:\n- model_version_policy: {all: {}, latest: {}}\n"),
              HasSubstr("only one of the keys of 'policy_choice' may stand in"));
  EXPECT_THAT(ErrorOf("port: {unclosed\n"), HasSubstr(": no YAML: "));
  EXPECT_EQ(ErrorOf("port: 1\n---\nrest_api_port: 2\n"),
            "config.yaml:3: another document begins here; a file has one");
  EXPECT_THAT(ErrorOf("- a list\n"), HasSubstr("must be a mapping"));
}

TEST(ServerOptionsTest, AKeyWithoutValueIsToldAtItsOwnLine) {
  for (const auto& [yaml, error] : std::vector<std::pair<std::string, std::string>>{
           {"port:\nmodel_name: m\n", "1: port has no value"},
           {"models:\n\nport: 1\n", "1: models has no value"},
           {"batching:\n  max_batch_size:\n\nport: 1\n", "2: batching.max_batch_size has no value"},
           {"batching:\n  mode:\n\nport: 1\n", "2: batching.mode has no value"},
           {"batching:\n  allowed_batch_sizes:\nport: 1\n",
            "2: batching.allowed_batch_sizes has no value"},
           {"models:\n- name:\n  base_path: /m\n", "2: models[0].name has no value"},
           {"models:\n- name: a\n  version_labels:\n    x:\nport: 1\n",
            "4: models[0].version_labels.x has no value"},
           {"models:\n- name: a\n  limits:\nport: 1\n", "3: models[0].limits has no value"},
       }) {
    EXPECT_EQ(ErrorOf(yaml), "config.yaml:" + error);
  }
}

TEST(ServerOptionsTest, MergeKeysGiveAMappingTheKeysOfAnother) {
  ServerOptions options;
  const absl::Status status = Read(
      "models:\n"
      "- &base\n"
      "  name: a\n"
      "  base_path: /a\n"
      "  model_version_policy: &all {all: {}}\n"
      "- <<: *base\n"
      "  name: b\n"
      "- name: c\n"
      "  <<: [{base_path: /c}, *base]\n"
      "  model_version_policy: {latest: {num_versions: 2}}\n",
      &options);
  ASSERT_TRUE(status.ok()) << status;
  const auto& models = options.models->model_config_list();
  EXPECT_EQ(models.config(1).name(), "b");
  EXPECT_EQ(models.config(1).base_path(), "/a");
  EXPECT_TRUE(models.config(1).model_version_policy().has_all());
  EXPECT_EQ(models.config(2).name(), "c");
  EXPECT_EQ(models.config(2).base_path(), "/c");
  EXPECT_EQ(models.config(2).model_version_policy().latest().num_versions(), 2);
}

TEST(ServerOptionsTest, AMergeKeyNeedsMappings) {
  const std::string kNeeded = ": << must have a mapping, such as *ANCHOR, or a list of them";
  EXPECT_EQ(ErrorOf("models:\n- name: a\n  <<: 5\n"), "config.yaml:3" + kNeeded);
  EXPECT_EQ(ErrorOf("models:\n- name: a\n  <<: [5]\n"), "config.yaml:3" + kNeeded);
  EXPECT_EQ(ErrorOf("models:\n- name: a\n  <<:\nport: 1\n"), "config.yaml:3" + kNeeded);
  // A mapping that holds itself ends all the same.
  EXPECT_THAT(ErrorOf("models:\n- &a\n  <<: *a\n  nam: x\n"), HasSubstr("unknown key 'nam'"));
  // In quotes it is an ordinary key.
  EXPECT_THAT(ErrorOf("models:\n- '<<': {name: a}\n"), HasSubstr("unknown key '<<'"));
  // Errors in merged keys are told where the keys stand.
  EXPECT_EQ(ErrorOf("models:\n- name: a\n  <<:\n    base_paht: /a\n"),
            "config.yaml:4: unknown key 'base_paht' in models[0]; did you mean 'base_path'?");
}

TEST(ServerOptionsTest, AModelMayHaveTheOlderTypeInsteadOfAPlatform) {
  ServerOptions options;
  ASSERT_TRUE(Read("models:\n- {name: a, base_path: /a, model_type: TENSORFLOW}\n"
                   "- {name: b, base_path: /b}\n",
                   &options)
                  .ok());
  EXPECT_EQ(options.models->model_config_list().config(0).model_platform(), "");
  EXPECT_EQ(options.models->model_config_list().config(1).model_platform(), "tensorflow");
}

TEST(ServerOptionsTest, ReadsRollouts) {
  ServerOptions options;
  ASSERT_TRUE(Read("models:\n"
                   "- name: a\n"
                   "  base_path: /a\n"
                   "  rollout:\n"
                   "    steps: [{share_percent: 0.5, duration_seconds: 3}, {share_percent: 20}]\n"
                   "    conditions: {min_requests: 7, max_p50_ratio: 1.25}\n"
                   "    sticky_key: X-User\n"
                   "- name: b\n"
                   "  base_path: /b\n"
                   "- name: c\n"
                   "  rollout:\n",
                   &options)
                  .ok());
  ASSERT_EQ(options.rollouts.size(), 2u);
  const RolloutConfig& a = options.rollouts.at("a");
  EXPECT_EQ(a.steps(0).share_percent(), 0.5);
  EXPECT_EQ(a.steps(0).duration_seconds(), 3);
  EXPECT_EQ(a.conditions().min_requests(), 7);
  EXPECT_EQ(a.conditions().max_p50_ratio(), 1.25);
  EXPECT_EQ(a.sticky_key(), "X-User");
  EXPECT_EQ(options.rollouts.at("c").steps_size(), 0);
  EXPECT_TRUE(WithDefaults(a).retry_on_stable());
  EXPECT_EQ(options.models->model_config_list().config(0).base_path(), "/a");
}

TEST(ServerOptionsTest, ReadsLimits) {
  ServerOptions options;
  ASSERT_TRUE(Read("models:\n"
                   "- {name: a, limits: {max_concurrent_requests: 2, timeout_ms: 50}}\n"
                   "- name: b\n",
                   &options)
                  .ok());
  ASSERT_EQ(options.limits.size(), 1u);
  EXPECT_EQ(options.limits.at("a").max_concurrent_requests(), 2);
  EXPECT_EQ(options.limits.at("a").timeout_ms(), 50);
  EXPECT_FALSE(options.limits.at("a").has_max_queue());
}

TEST(ServerOptionsTest, BadLimitsAreRefusedWithTheirLine) {
  const std::string model = "models:\n- name: a\n  limits:\n";
  EXPECT_EQ(ErrorOf(model + "    share: 1\n    timeout_ms: 0\n"),
            "config.yaml:5: models[0].limits.timeout_ms is 0; it must be from 1 to 86400000");
  EXPECT_EQ(ErrorOf(model + "    max_queue: 3\n"),
            "config.yaml:4: models[0].limits.max_queue needs max_concurrent_requests, because "
            "nothing waits without it");
  EXPECT_EQ(ErrorOf(model + "    max_concurent_requests: 3\n"),
            "config.yaml:4: unknown key 'max_concurent_requests' in models[0].limits; did you mean "
            "'max_concurrent_requests'?");
}

TEST(ServerOptionsTest, BadRolloutsAreRefusedWithTheirLine) {
  const std::string model = "models:\n- name: a\n  rollout:\n";
  EXPECT_EQ(ErrorOf(model + "    steps:\n"
                            "    - share_percent: 10\n"
                            "    - duration_seconds: 1\n"
                            "      share_percent: 10\n"),
            "config.yaml:7: models[0].rollout.steps[1].share_percent is 10; it must be above 10, "
            "the share of the step before, and at most 100");
  EXPECT_EQ(ErrorOf(model + "    steps: [{share_percent: 101}]\n"),
            "config.yaml:4: models[0].rollout.steps[0].share_percent is 101; it must be above 0 "
            "and at most 100");
  EXPECT_THAT(ErrorOf(model + "    steps: [{share_percent: nan}]\n"), HasSubstr("is nan; it must"));
  EXPECT_THAT(ErrorOf(model + "    steps: [{share_percent: 1, duration_seconds: -1}]\n"),
              HasSubstr("steps[0].duration_seconds is -1; it must be from 0 to "));
  EXPECT_EQ(ErrorOf(model + "    conditions:\n      window_seconds: 0\n"),
            "config.yaml:5: models[0].rollout.conditions.window_seconds is 0; it must be above 0 "
            "and at most 86400");
  EXPECT_THAT(ErrorOf(model + "    conditions: {min_requests: 0}\n"),
              HasSubstr("min_requests is 0; it must be at least 1"));
  EXPECT_EQ(ErrorOf(model + "    conditions:\n      max_psi: 0.1\n"),
            "config.yaml:5: models[0].rollout.conditions.max_psi compares answers to mirrored "
            "requests; set mirror_percent as well");
  EXPECT_THAT(ErrorOf(model + "    mirror_percent: inf\n"), HasSubstr("it must be from 0 to 100"));
  EXPECT_THAT(ErrorOf(model + "    sticky_key: user id\n"), HasSubstr("is no name of a header"));
  EXPECT_THAT(ErrorOf(model + "    sticky_key: User-Bin\n"), HasSubstr("choose another one"));
  EXPECT_EQ(ErrorOf(model + "    stepps: []\n"),
            "config.yaml:4: unknown key 'stepps' in models[0].rollout; did you mean 'steps'?");
  EXPECT_THAT(ErrorOf(model + "    steps: 5\n"),
              HasSubstr("models[0].rollout.steps must be a list"));
  EXPECT_EQ(ErrorOf(model + "    steps: []\n"),
            "config.yaml:4: models[0].rollout.steps is empty; name a step, or leave steps out for "
            "the defaults");
}

TEST(ServerOptionsTest, MisspeltKeysBesideTheFieldsOfAMessageAreNamed) {
  EXPECT_EQ(ErrorOf("models:\n- name: a\n  rolout: {}\n"),
            "config.yaml:3: unknown key 'rolout' in models[0]; did you mean 'rollout'?");
  EXPECT_EQ(ErrorOf("batching:\n  mod: continuous\n"),
            "config.yaml:2: unknown key 'mod' in batching; did you mean 'mode'?");
  EXPECT_EQ(ErrorOf("models:\n- rollout: {}\n  rollout: {}\n"),
            "config.yaml:3: key 'rollout' stands twice in models[0]");
}

TEST(ServerOptionsTest, ARolloutChoosesVersionsAndItsLabels) {
  const std::string model = "models:\n- name: a\n  rollout:\n";
  for (const char* policy : {"all: ", "specific: {versions: [1]}", "latest: {num_versions: 2}"}) {
    EXPECT_EQ(ErrorOf(model + "  model_version_policy: {" + policy + "}\n"),
              "config.yaml:4: model 'a' has a rollout, which chooses the versions to load: the "
              "stable one, the candidate and the previous one. Remove model_version_policy or "
              "rollout");
  }
  ServerOptions options;
  EXPECT_TRUE(Read(model + "  model_version_policy: {latest: {num_versions: 1}}\n", &options).ok());
  EXPECT_EQ(ErrorOf(model + "  version_labels:\n    canary: 3\n"),
            "config.yaml:5: the label 'canary' of model 'a' follows its rollout; give the version "
            "another label");
}

TEST(ServerOptionsTest, FlagsGoOverTheFile) {
  const std::string path = WriteYaml("port: 1\nrest_api_port: 2\nmodel_name: x\n");
  ServerOptions options;
  FlagParser flags = options.Flags();
  ConfigReport report;
  ParseServerOptions({{"--port=10", "--config=" + path, "--model_name=y"}}, &options, &flags,
                     &report);
  ASSERT_TRUE(report.FirstError().ok());
  EXPECT_EQ(options.port, 10);
  EXPECT_EQ(options.rest_api_port, 2);
  EXPECT_EQ(options.model_name, "y");
  EXPECT_TRUE(absl::IsNotFound(ReadConfigFile(path + ".absent", &options)));
}

TEST(ServerOptionsTest, AllErrorsAreReportedWithTheirPlaces) {
  const std::string path = WriteYaml(
      "prot: 1\n"
      "rest_api_port: many\n"
      "models:\n"
      "  - {name: a, base_path: /a, version_labels: {x: one}}\n"
      "  - {name: b, base_pth: /b, rollout: {steps: [{share_percent: 200}]}}\n"
      "batching: {max_batch_size: 1, max_batchsize: 2}\n"
      "rest_api_num_threads: 3\n");
  ServerOptions options;
  FlagParser flags = options.Flags();
  ConfigReport report;
  ParseServerOptions({{"--config=" + path, "--port=x", "--enable_batching=maybe"}}, &options,
                     &flags, &report);
  std::vector<std::string> found;
  for (const ConfigFinding& finding : report.findings()) {
    found.push_back(
        absl::StrCat(finding.place.line, " ", finding.place.key, ": ", finding.message));
  }
  EXPECT_THAT(
      found,
      ElementsAre(
          "1 prot: unknown key 'prot' in the server's configuration; did you mean 'port'?",
          "2 rest_api_port: Couldn't interpret value many for flag rest_api_port.",
          "4 models[0].version_labels.x: models[0].version_labels.x must be of type int64; 'one' "
          "is not",
          "5 base_pth: unknown key 'base_pth' in models[1]; did you mean 'base_path'?",
          HasSubstr("5 models[1].rollout.steps[0].share_percent: models[1].rollout.steps[0]."
                    "share_percent is 200; it must be"),
          "6 max_batchsize: unknown key 'max_batchsize' in batching; did you mean "
          "'max_batch_size'?",
          "0 port: Couldn't interpret value x for flag port.",
          "0 enable_batching: Couldn't interpret value maybe for flag enable_batching."));
  EXPECT_EQ(options.rest_api_num_threads, 3) << "what is right is read all the same";
  EXPECT_EQ(LineOfKey(path, "models[1].rollout"), 5);
  EXPECT_EQ(LineOfKey(path, "ssl"), 0);
}

TEST(ServerOptionsTest, SampleIsRight) {
  ServerOptions options;
  const absl::Status status = ReadConfigFile("config/tessera.yaml", &options);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(options.models->model_config_list().config_size(), 3);
  EXPECT_EQ(options.rollouts.at("ranking").steps_size(), 3);
  EXPECT_EQ(options.limits.at("recommender").max_queue(), 64);
}

TEST(ServerOptionsTest, EmptyFileChangesNothing) {
  ServerOptions options;
  EXPECT_TRUE(Read("# nothing\n", &options).ok());
  EXPECT_EQ(options.port, 8500);
  EXPECT_FALSE(options.models.has_value());
}

}  // namespace
}  // namespace tessera::serving
