#include "serving/server/config_check.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "serving/frontend/grpc/server_credentials.h"
#include "serving/servables/saved_model/version_files.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ConfigCheckTest : public ::testing::Test {
 protected:
  ConfigCheckTest() : root_(JoinPath(::testing::TempDir(), "config_check")) {
    fs::remove_all(root_);
    fs::create_directories(root_);
    options_.port = 0;
    options_.grpc_socket_path = "socket";
  }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = JoinPath(root_, name);
    fs::create_directories(fs::path(path).parent_path());
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return path;
  }
  // Returns "LINE KEY: MESSAGE" for each finding.
  std::vector<std::string> Check() {
    ConfigReport report;
    const ServerSettings settings = ReadSettings(options_, &report);
    CheckConfig(options_, settings, &report);
    std::vector<std::string> found;
    for (const ConfigFinding& finding : report.findings()) {
      found.push_back(absl::StrCat(finding.severity == ConfigFinding::kWarning ? "warning " : "",
                                   finding.place.line, " ", finding.place.key, ": ",
                                   finding.message));
    }
    return found;
  }

  const std::string root_;
  const std::string half_plus_two_ = fs::absolute("tests/data/tfserving/half_plus_two");
  ServerOptions options_;
};

TEST_F(ConfigCheckTest, AModelThatCanBeServedHasNoFindings) {
  options_.model_base_path = half_plus_two_;
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(ConfigCheckTest, AVersionThatAServerWouldWaitForIsToldWithItsMarker) {
  options_.model_base_path = half_plus_two_;
  options_.version_marker_file = "READY";
  EXPECT_THAT(Check(), ElementsAre(HasSubstr("has no version with a file 'READY'")));
  options_.version_marker_file = "saved_model.pb";
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(ConfigCheckTest, EveryModelOfAFileIsLookedAt) {
  fs::create_directories(JoinPath(root_, "empty"));
  Write("torn/1/saved_model.pb", "\xff\xff");
  const std::string version = JoinPath(half_plus_two_, "00000123");
  options_.model_config_file = Write(
      "models.config",
      absl::StrCat(
          "model_config_list {\n", "  config { name: 'a' base_path: '", half_plus_two_, "'\n",
          "    model_platform: 'tensorflow'\n", "    version_labels { key: 'stable' value: 123 }\n",
          "    version_labels { key: 'canary' value: 124 } }\n",
          "  config { name: 'a' model_platform: 'tensorflow'\n", "    base_path: '",
          JoinPath(root_, "none"), "' }\n", "  config { name: 'b' model_platform: 'tensorflow'\n",
          "    base_path: '", JoinPath(root_, "empty"), "' }\n",
          "  config { name: 'c' model_platform: 'tensorflow' base_path: 'relative' }\n",
          "  config { name: 'd' model_platform: 'tensorflow' base_path: '", version,
          "' }\n  config { name: 'e' model_platform: 'tensorflow' base_path: '",
          JoinPath(root_, "torn"), "' }\n}\n"));
  EXPECT_THAT(
      Check(),
      ::testing::UnorderedElementsAre(
          AllOf(StartsWith("4 model_config_list.config[0].version_labels.stable: "),
                HasSubstr("add --allow_version_labels_for_unavailable_models")),
          AllOf(StartsWith("4 model_config_list.config[0].version_labels.canary: "),
                HasSubstr("version 124, which is none of those")),
          HasSubstr("model 'a' is listed multiple times"),
          AllOf(StartsWith("7 model_config_list.config[1].base_path: "), HasSubstr("none")),
          AllOf(StartsWith("9 model_config_list.config[2].base_path: "),
                HasSubstr("has no version to serve; versions are directories")),
          HasSubstr("Expected model c to have an absolute path"),
          HasSubstr("but is one itself; name the directory above it"),
          StartsWith("12 model_config_list.config[5].base_path: version 1 of model 'e': ")));
}

TEST_F(ConfigCheckTest, APolicyThatNamesNoPresentVersionIsToldWithThoseThatAre) {
  options_.model_config_file =
      Write("policy.config",
            absl::StrCat("model_config_list { config { name: 'a' model_platform: 'tensorflow'\n",
                         "  base_path: '", half_plus_two_, "'\n",
                         "  model_version_policy { specific { versions: 7 } } } }\n"));
  EXPECT_THAT(
      Check(),
      ElementsAre(HasSubstr("none of those that model_version_policy names; there are 123")));
}

TEST_F(ConfigCheckTest, VersionsThatDoNotFitTogetherAreTold) {
  const std::string model =
      absl::StrCat("base_path: '", half_plus_two_, "' model_platform: 'tensorflow' }\n");
  options_.model_config_file =
      Write("models.config", absl::StrCat("model_config_list {\n config { name: 'a' ", model,
                                          " config { name: 'b' ", model, "}\n"));
  options_.memory_limit = "1GiB";
  EXPECT_THAT(Check(), IsEmpty());
  const int64_t size = EstimateVersionMemory(JoinPath(half_plus_two_, "00000123"))->total();
  options_.memory_limit = absl::StrCat(size + 1);
  EXPECT_THAT(Check(), ElementsAre(AllOf(
                           StartsWith("3 model_config_list.config[1].base_path: "),
                           HasSubstr("Insufficient resources to load servable {name: b version: "
                                     "123}"),
                           HasSubstr("Raise --memory_limit"))));
}

TEST_F(ConfigCheckTest, AltsNeedsAMachineThatHasIt) {
  const absl::Status usable = MakeServerCredentials({.alts = true}).status();
  options_.model_base_path = half_plus_two_;
  options_.use_alts_credentials = true;
  if (usable.ok()) {
    EXPECT_THAT(Check(), IsEmpty());
  } else {
    EXPECT_THAT(Check(), ElementsAre(HasSubstr("use TLS by ssl_certificate_file")));
  }
}

TEST_F(ConfigCheckTest, ModelsMayNotShareALog) {
  const std::string logging =
      absl::StrCat("base_path: '", half_plus_two_,
                   "' model_platform: 'tensorflow' logging_config { log_collector_config { type: "
                   "'tfrecord' filename_prefix: '/logs/x' } } }\n");
  options_.model_config_file =
      Write("models.config", absl::StrCat("model_config_list {\n config { name: 'a' ", logging,
                                          " config { name: 'b' ", logging, "}\n"));
  EXPECT_THAT(Check(),
              ElementsAre(AllOf(StartsWith("3 model_config_list.config[1].logging_config: "),
                                HasSubstr("filename_prefix '/logs/x' is that of model 'a'"))));
}

TEST_F(ConfigCheckTest, EveryErrorOfABlockIsTold) {
  options_.config = Write("server.yaml",
                          "models:\n"
                          "  - name: a\n"
                          "    base_path: /nowhere/a\n"
                          "    limits: {timeout_ms: 0, share: 0}\n"
                          "    rollout: {mirror_percent: 200, sticky_key: grpc-x}\n"
                          "    logging_config:\n"
                          "      log_collector_config: {type: files, filename_prefix: a}\n"
                          "      sampling_config: {sampling_rate: 2}\n");
  ConfigReport report;
  ReadConfigFile(options_.config, &options_, &report);
  std::vector<std::string> keys;
  for (const ConfigFinding& finding : report.findings()) keys.push_back(finding.place.key);
  EXPECT_THAT(keys,
              ElementsAre("models[0].limits.timeout_ms", "models[0].limits.share",
                          "models[0].rollout.mirror_percent", "models[0].rollout.sticky_key"));
  EXPECT_THAT(Check(), ElementsAre(AllOf(StartsWith("7 models[0].logging_config: "),
                                         HasSubstr("log_collector_config.type is 'files'")),
                                   AllOf(StartsWith("7 models[0].logging_config: "),
                                         HasSubstr("filename_prefix is 'a'")),
                                   AllOf(StartsWith("7 models[0].logging_config: "),
                                         HasSubstr("sampling_config.sampling_rate is 2")),
                                   StartsWith("3 models[0].base_path: ")));
}

TEST_F(ConfigCheckTest, AGraphWithAnUnknownOpIsNamed) {
  Write("m/1/saved_model.pbtxt",
        "meta_graphs { meta_info_def { tags: 'serve' } "
        "graph_def { node { name: 'x' op: 'NoSuchOp' } } }");
  options_.model_base_path = JoinPath(root_, "m");
  EXPECT_THAT(Check(),
              ElementsAre(AllOf(StartsWith("0 model_base_path: version 1 of model 'default': "),
                                HasSubstr("1 op has no kernel: NoSuchOp (node 'x'); `tessera"))));
}

TEST_F(ConfigCheckTest, LinesOfModelsInYamlAreKnown) {
  options_.config = Write("server.yaml", "models:\n  - name: a\n    base_path: /nowhere/a\n");
  ASSERT_TRUE(ReadConfigFile(options_.config, &options_).ok());
  EXPECT_THAT(Check(), ElementsAre(StartsWith("3 models[0].base_path: ")));
}

TEST_F(ConfigCheckTest, AddressesThatCannotBeUsed) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);

  options_.model_base_path = half_plus_two_;
  options_.port = ntohs(address.sin_port);
  options_.rest_api_port = options_.port;
  options_.admin_port = 1;
  options_.admin_address = "0.0.0.0";
  options_.grpc_socket_path = "/nowhere/" + std::string(200, 's');
  options_.op_library = "/nowhere/ops.so";
  options_.access_log = "/nowhere/access.log";
  options_.log_level = "loud";
  const std::vector<std::string> found = Check();
  close(listener);
  // What comes of admin_port depends on who runs this test.
  EXPECT_THAT(found, Contains(StartsWith("0 log_level: log_level is 'loud'; it must be")));
  EXPECT_THAT(
      found,
      Contains(StartsWith(absl::StrCat("warning 0 port: cannot listen on port ", options_.port))));
  EXPECT_THAT(found, Contains(StartsWith("0 rest_api_port: rest_api_port is that of port")));
  EXPECT_THAT(found, Contains(HasSubstr("has 209 bytes; the path of a socket has at most 107")));
  EXPECT_THAT(found, Contains(AllOf(StartsWith("0 grpc_socket_path: "),
                                    HasSubstr("lies in no directory"))));
  EXPECT_THAT(found,
              Contains(AllOf(StartsWith("0 access_log: "), HasSubstr("lies in no directory"))));
  EXPECT_THAT(found, Contains(StartsWith("0 admin_address: ")));
  EXPECT_THAT(found, Contains(StartsWith("0 op_library: ")));
}

TEST_F(ConfigCheckTest, WhatKeepsRestAndLogsAway) {
  options_.model_base_path = half_plus_two_;
  options_.rest_api_port = 1;
  options_.rest_api_num_threads = 0;
  options_.access_log = root_;
  options_.monitoring_config_file =
      Write("m", "prometheus_config { enable: true path: 'metrics' }");
  const std::vector<std::string> found = Check();
  EXPECT_THAT(found, Contains(StartsWith("warning 0 rest_api_num_threads: REST needs")));
  EXPECT_THAT(found, Contains(AllOf(StartsWith("0 access_log: "), HasSubstr("is a directory"))));
  EXPECT_THAT(found, Contains(AllOf(StartsWith("warning 0 monitoring_config_file: "),
                                    HasSubstr("paths begin with /"))));
}

TEST_F(ConfigCheckTest, BatchingParametersOfTheServerAndOfVersions) {
  options_.model_base_path = JoinPath(root_, "m");
  fs::create_directories(options_.model_base_path);
  fs::copy(JoinPath(half_plus_two_, "00000123"), JoinPath(root_, "m/1"),
           fs::copy_options::recursive);
  options_.enable_batching = true;
  options_.batching_parameters_file =
      Write("batching.config", "max_batch_size { value: 4 } allowed_batch_sizes: [8, 2]");
  EXPECT_THAT(Check(), ElementsAre(StartsWith("0 batching: ")));
  Write(
      "batching.config",
      "max_batch_size { value: 4 } batch_timeout_micros { value: -1 } allowed_batch_sizes: [8, 2]");
  EXPECT_THAT(Check(), ElementsAre(HasSubstr("batch_timeout_micros must be non-negative"),
                                   HasSubstr("Last entry in allowed_batch_sizes")));
  options_.batching_parameters_file.clear();
  options_.enable_per_model_batching_parameters = true;
  Write("m/1/batching_params.pbtxt", "max_batch_size {\n value: x }");
  EXPECT_THAT(Check(), ElementsAre(StartsWith("2 : Error parsing text-format")));
}

}  // namespace
}  // namespace tessera::serving
