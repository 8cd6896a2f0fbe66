#include "serving/servables/served_models.h"

#include <atomic>
#include <filesystem>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "serving/core/testing/wait_until.h"
#include "serving/servables/saved_model/testing/linear_session.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ServedModelsTest : public ::testing::Test {
 protected:
  ServedModelsTest() {
    std::string pattern = ::testing::TempDir() + "/models_XXXXXX";
    root_ = mkdtemp(pattern.data());
    Make();
  }
  ~ServedModelsTest() override {
    models_.reset();
    fs::remove_all(root_);
  }

  void Make(bool allow_labels = false) {
    models_.reset();
    ServedModels::Options options = MakeOptions();
    options.allow_labels_for_unavailable_models = allow_labels;
    models_ = std::make_unique<ServedModels>(options);
  }
  ServedModels::Options MakeOptions() {
    ServedModels::Options options;
    options.manager.max_load_retries = 0;
    options.source = {.poll_interval = absl::Milliseconds(5), .settle_time = absl::ZeroDuration()};
    options.metrics = &registry_;
    options.platforms["tensorflow"] =
        [this](const ServableId&,
               const std::string& directory) -> absl::StatusOr<std::unique_ptr<Loader>> {
      // A version is broken if it has an entry of that name.
      const bool broken = fs::exists(fs::path(directory) / "broken");
      return std::make_unique<LinearLoader>(broken ? directory + "/broken" : directory, &log_);
    };
    return options;
  }
  void AddVersion(const std::string& path) { fs::create_directories(root_ / path); }
  // Adds a version that counts as complete at once, as its times show a rename.
  void AddFinished(const std::string& path) {
    const fs::path version = root_ / path.substr(0, path.find('/', path.find('/') + 1));
    AddVersion(path);
    absl::SleepFor(absl::Milliseconds(20));
    fs::rename(version, version.string() + ".tmp");
    fs::rename(version.string() + ".tmp", version);
  }

  // One model an argument: "name", or "name rest-of-its-config".
  tensorflow::serving::ModelServerConfig Config(const std::vector<std::string>& models) {
    std::string text = "model_config_list {";
    for (const std::string& model : models) {
      const std::string name = model.substr(0, model.find(' '));
      absl::StrAppend(&text, " config { name: '", name, "' base_path: '", (root_ / name).string(),
                      "' model_platform: 'tensorflow' ", model.substr(name.size()), " }");
    }
    tensorflow::serving::ModelServerConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text + "}", &config)) << text;
    return config;
  }
  absl::Status Apply(const std::vector<std::string>& models, const CallOptions& options = {}) {
    return models_->ApplyConfig(Config(models), options);
  }
  // Returns once a call that applies a configuration with this first model has its turn.
  void AwaitConfigured(const std::string& name) {
    const auto has_turn = [&] {
      const auto models = models_->config().model_config_list();
      return models.config_size() > 0 && models.config(0).name() == name;
    };
    while (!has_turn()) absl::SleepFor(absl::Milliseconds(1));
  }
  int64_t VersionOf(const ModelSpec& spec) {
    auto handle = models_->Acquire(spec);
    return handle.ok() ? handle->version() : -1;
  }
  bool WaitForVersion(const ModelSpec& spec, int64_t version) {
    return WaitUntil([&] { return VersionOf(spec) == version; });
  }

  fs::path root_;
  LinearSessionLog log_;
  MetricsRegistry registry_;
  std::unique_ptr<ServedModels> models_;
};

constexpr char kAll[] = " model_version_policy { all {} }";

TEST_F(ServedModelsTest, ServesTheLatestVersionOnceApplied) {
  AddVersion("m/1");
  AddVersion("m/2");
  EXPECT_FALSE(models_->IsReady());
  ASSERT_TRUE(Apply({"m"}).ok());
  EXPECT_TRUE(models_->IsReady());
  EXPECT_EQ(VersionOf({.name = "m"}), 2);
  EXPECT_EQ(
      models_->Acquire({.name = "m", .version = 1}).status(),
      absl::NotFoundError("Servable not found for request: Specific(m, 1); ready versions: 2"));
  EXPECT_EQ(models_->Acquire({.name = "zz"}).status(),
            absl::NotFoundError("Servable not found for request: Latest(zz); no version of such a "
                                "model has been found"));
  EXPECT_EQ(models_->Acquire({}).status(),
            absl::InvalidArgumentError("ModelSpec has no name specified."));
}

TEST_F(ServedModelsTest, MetricsOfRequestsAreThoseOfVersionsThereAreNow) {
  const auto page_has = [this](const std::string& text) {
    return registry_.RenderMetrics().find(text) != std::string::npos;
  };
  const std::string labels = "{model_name=\"m\",version=\"1\",method=\"predict\",protocol=\"grpc\"";
  AddVersion("m/1");
  ASSERT_TRUE(Apply({"m"}).ok());
  EXPECT_TRUE(page_has("available_versions{model_name=\"m\"} 1\n"));
  {
    const ModelHandle model = *models_->Acquire({.name = "m"});
    const absl::Time now = absl::Now();
    RequestTimes times{.arrived = now, .run_began = now, .run_ended = now};
    times.cell = &model->request_stats().Begin(RequestMethod::kPredict, Entrypoint::kGrpc);
    EXPECT_TRUE(page_has("requests_in_flight" + labels + "} 1\n"));
    times.cell->End(absl::OkStatus(), times, now + absl::Microseconds(250));
    model->request_stats()
        .Begin(RequestMethod::kPredict, Entrypoint::kGrpc)
        .End(absl::NotFoundError(""), times, now);
  }
  EXPECT_TRUE(page_has("requests_in_flight" + labels + "} 0\n"));
  EXPECT_TRUE(page_has("request_count" + labels + ",status=\"OK\"} 1\n"));
  EXPECT_TRUE(page_has("request_count" + labels + ",status=\"NOT_FOUND\"} 1\n"));
  EXPECT_TRUE(page_has("request_latency_sum" + labels + "} 250\n"));
  EXPECT_TRUE(page_has("phase_latency_sum" + labels + ",phase=\"encode\"} 250\n"));
  EXPECT_TRUE(page_has("phase_latency_sum" + labels + ",phase=\"run\"} 0\n"));

  AddVersion("m/2");
  ASSERT_TRUE(WaitForVersion({.name = "m"}, 2));
  while (VersionOf({.name = "m", .version = 1}) == 1) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_FALSE(page_has(labels));
  AddVersion("n/1");
  ASSERT_TRUE(Apply({"n"}).ok());
  EXPECT_FALSE(page_has("available_versions{model_name=\"m\"}"));
}

TEST_F(ServedModelsTest, VersionsGoToThePlatformOfTheirModel) {
  AddVersion("ours/1");
  AddVersion("theirs/1");
  ServedModels::Options options = MakeOptions();
  std::vector<std::string> loaded_by_other;
  options.platforms["other"] =
      [&](const ServableId& id,
          const std::string& directory) -> absl::StatusOr<std::unique_ptr<Loader>> {
    loaded_by_other.push_back(absl::StrCat(id.ToString(), " of ", directory));
    return std::make_unique<LinearLoader>(directory, &log_);
  };
  models_ = std::make_unique<ServedModels>(options);
  auto config = Config({"ours", "theirs"});
  config.mutable_model_config_list()->mutable_config(1)->set_model_platform("other");
  ASSERT_TRUE(models_->ApplyConfig(config).ok());
  EXPECT_EQ(VersionOf({.name = "ours"}), 1);
  EXPECT_EQ(VersionOf({.name = "theirs"}), 1);
  EXPECT_THAT(loaded_by_other,
              ElementsAre("{name: theirs version: 1} of " + (root_ / "theirs" / "1").string()));
  models_.reset();  // which may call what refers to this test's own
}

TEST_F(ServedModelsTest, UnknownPlatformIsRefusedAndChangesNothing) {
  AddVersion("m/1");
  AddVersion("new/1");
  AddVersion("odd/1");
  ASSERT_TRUE(Apply({"m"}).ok());
  auto config = Config({"new", "odd"});
  config.mutable_model_config_list()->mutable_config(1)->set_model_platform("onnx");
  EXPECT_EQ(models_->ApplyConfig(config),
            absl::InvalidArgumentError(
                "Model odd requests unsupported platform onnx; supported: tensorflow"));
  EXPECT_EQ(VersionOf({.name = "m"}), 1);
  EXPECT_TRUE(models_->IsReady());
  EXPECT_TRUE(models_->states().StatesOf("new").empty()) << "nor is the rest of it applied";
}

TEST_F(ServedModelsTest, AConfigurationThatThrowsEndsItsTurn) {
  AddVersion("m/1");
  ServedModels::Options options = MakeOptions();
  options.on_config = [](const tensorflow::serving::ModelServerConfig& config) {
    if (config.model_config_list().config_size() > 1) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
  };
  models_ = std::make_unique<ServedModels>(options);
  ASSERT_TRUE(Apply({"m"}).ok());
  EXPECT_EQ(Apply({"m", "n"}).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Apply({"m"}).ok());
  EXPECT_EQ(models_->config().model_config_list().config_size(), 1);
}

TEST_F(ServedModelsTest, APlatformMayChangeOnlyWithAModelThatIsNewAgain) {
  AddVersion("m/1");
  ServedModels::Options options = MakeOptions();
  std::atomic<int> loads_by_other{0};
  options.platforms["other"] =
      [&](const ServableId&,
          const std::string& directory) -> absl::StatusOr<std::unique_ptr<Loader>> {
    ++loads_by_other;
    return std::make_unique<LinearLoader>(directory, &log_);
  };
  models_ = std::make_unique<ServedModels>(options);
  ASSERT_TRUE(Apply({"m"}).ok());
  auto config = Config({"m"});
  config.mutable_model_config_list()->mutable_config(0)->set_model_platform("other");
  EXPECT_EQ(models_->ApplyConfig(config),
            absl::InvalidArgumentError("Illegal to change a model's platform. For model m platform "
                                       "was tensorflow and new platform requested is other"));
  ASSERT_TRUE(Apply({}).ok());
  ASSERT_TRUE(WaitForVersion({.name = "m"}, -1));
  EXPECT_EQ(loads_by_other, 0);
  ASSERT_TRUE(models_->ApplyConfig(config).ok());
  EXPECT_EQ(VersionOf({.name = "m"}), 1);
  EXPECT_GT(loads_by_other, 0);
  models_.reset();  // which may call what refers to this test's own
}

TEST_F(ServedModelsTest, NewVersionsArriveByThemselves) {
  AddVersion("m/1");
  ASSERT_TRUE(Apply({"m"}).ok());
  AddVersion("m/2");
  EXPECT_TRUE(WaitForVersion({.name = "m"}, 2));
}

TEST_F(ServedModelsTest, MemoryIsThatOfVersionsThereAre) {
  AddVersion("m/1");
  ASSERT_TRUE(Apply({"m"}).ok());
  const std::string metric = "version_memory_bytes{model_name=\"m\",version=\"";
  EXPECT_THAT(registry_.RenderMetrics(), HasSubstr(metric + "1\",kind=\"heap\"} 0\n"));
  AddVersion("m/2");
  const auto one_is_gone = [&] {
    return registry_.RenderMetrics().find(metric + "1\"") == std::string::npos;
  };
  EXPECT_TRUE(WaitUntil(one_is_gone));
  EXPECT_THAT(registry_.RenderMetrics(), HasSubstr(metric + "2\",kind=\"mapped\"} 0\n"));
}

TEST_F(ServedModelsTest, FailedModelIsNamedAndTheOthersAreServed) {
  AddVersion("good/1");
  AddVersion("bad/3/broken");
  const absl::Status status = Apply({"good", "bad"});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(status.message(),
            "1 servable(s) did not become available: {{{name: bad version: 3} due to error: "
            "DATA_LOSS: torn checkpoint}, }");
  EXPECT_EQ(VersionOf({.name = "good"}), 1);
  EXPECT_FALSE(models_->IsReady());
  EXPECT_TRUE(Apply({"good", "bad"}).ok()) << "it is no new model any more";
  AddVersion("worse/4/broken");
  EXPECT_THAT(std::string(Apply({"good", "bad", "worse"}).message()),
              HasSubstr("1 model(s) did not become available: {{{name: worse version: 4}"))
      << "as upstream words it in a reload";
}

TEST_F(ServedModelsTest, AFailureDecidesNothingWhileAHigherVersionIsOnItsWay) {
  AddFinished("m/1/broken");
  AddVersion("m/2");
  ServedModels::Options options = MakeOptions();
  options.source.settle_time = absl::Seconds(1);
  models_ = std::make_unique<ServedModels>(options);
  EXPECT_TRUE(Apply({absl::StrCat("m", kAll)}).ok());
  EXPECT_EQ(VersionOf({.name = "m"}), 2);
  AddFinished("n/1/broken");
  AddVersion("n/2");
  EXPECT_TRUE(Apply({"n"}).ok());
  EXPECT_EQ(VersionOf({.name = "n"}), 2);
  EXPECT_EQ(models_->states().StatesOf("n").size(), 1) << "only what stays was loaded";
}

TEST_F(ServedModelsTest, AFailureCountsOnceNothingIsOnItsWayAnyMore) {
  AddFinished("m/1/broken");
  AddVersion("m/2");
  ServedModels::Options options = MakeOptions();
  options.source.settle_time = absl::Hours(1);
  models_ = std::make_unique<ServedModels>(options);
  std::thread remover([&] {
    while (models_->states().StatesOf("m").empty()) absl::SleepFor(absl::Milliseconds(1));
    fs::remove_all(root_ / "m/2");
  });
  EXPECT_TRUE(absl::IsUnknown(Apply({absl::StrCat("m", kAll)})));
  remover.join();
}

TEST_F(ServedModelsTest, BrokenLowerVersionDoesNotCount) {
  AddVersion("m/1/broken");
  AddVersion("m/2");
  EXPECT_TRUE(Apply({std::string("m") + kAll}).ok());
  AddVersion("n/1");
  AddVersion("n/2/broken");
  EXPECT_FALSE(Apply({std::string("m") + kAll, std::string("n") + kAll}).ok());
}

TEST_F(ServedModelsTest, ModelsLeftOutAreUnloadedAndRemembered) {
  AddVersion("a/1");
  AddVersion("b/1");
  ASSERT_TRUE(Apply({"a", "b"}).ok());
  ASSERT_TRUE(Apply({"b"}).ok());
  EXPECT_TRUE(WaitForVersion({.name = "a"}, -1));
  EXPECT_EQ(VersionOf({.name = "b"}), 1);
  EXPECT_EQ(models_->states().StatesOf("a").size(), 1);
  ASSERT_TRUE(Apply({"a", "b"}).ok()) << "an earlier end is no outcome";
  EXPECT_EQ(VersionOf({.name = "a"}), 1);
  ASSERT_TRUE(models_->ApplyConfig(Config({})).ok());
  EXPECT_TRUE(WaitForVersion({.name = "b"}, -1));
}

TEST_F(ServedModelsTest, AnUnloadedModelStaysSoUntilItIsLoadedAgain) {
  AddVersion("a/1");
  AddVersion("b/1");
  ASSERT_TRUE(Apply({"a", "b"}).ok());

  EXPECT_TRUE(models_->UnloadModel("a").ok());
  EXPECT_EQ(VersionOf({.name = "a"}), -1);
  EXPECT_EQ(VersionOf({.name = "b"}), 1);
  EXPECT_FALSE(models_->IsReady());
  // Neither a new version nor a configuration with the model loads it.
  AddVersion("a/2");
  ASSERT_TRUE(Apply({"a", "b", "a2"}, {.deadline = absl::Now()}).code() ==
              absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(VersionOf({.name = "a"}), -1);

  ASSERT_TRUE(models_->LoadModel("a").ok());
  EXPECT_EQ(VersionOf({.name = "a"}), 2);
  EXPECT_TRUE(models_->LoadModel("a").ok());
  EXPECT_TRUE(absl::IsNotFound(models_->LoadModel("zz")));
  EXPECT_TRUE(absl::IsNotFound(models_->UnloadModel("zz")));

  // A model that a configuration leaves out is forgotten.
  ASSERT_TRUE(models_->UnloadModel("a").ok());
  ASSERT_TRUE(Apply({"b"}).ok());
  ASSERT_TRUE(Apply({"a", "b"}).ok());
  EXPECT_EQ(VersionOf({.name = "a"}), 2);
}

TEST_F(ServedModelsTest, EmptyConfigurationLeavesWhatIsServed) {
  AddVersion("m/1");
  ASSERT_TRUE(models_->ApplyConfig({}).ok());
  ASSERT_TRUE(Apply({"m"}).ok());
  ASSERT_TRUE(models_->ApplyConfig({}).ok());
  EXPECT_EQ(VersionOf({.name = "m"}), 1);
}

TEST_F(ServedModelsTest, LabelsPointToAvailableVersionsOnly) {
  AddVersion("m/1");
  AddVersion("m/2");
  EXPECT_EQ(models_->Acquire({.name = "m", .label = "stable"}).status(),
            absl::UnavailableError("Model labels does not init yet.stable"));
  const std::string labelled =
      std::string("m") + kAll + " version_labels { key: 'stable' value: 1 }";
  EXPECT_THAT(std::string(Apply({labelled}).message()),
              HasSubstr("Request to assign label to version 1 of model m, which is not currently "
                        "available for inference"));
  EXPECT_THAT(std::string(Apply({labelled}).message()),
              HasSubstr("--allow_version_labels_for_unavailable_models"));
  EXPECT_FALSE(models_->IsReady()) << "a refused configuration changes nothing";
  ASSERT_TRUE(Apply({std::string("m") + kAll}).ok());
  ASSERT_TRUE(WaitForVersion({.name = "m", .version = 1}, 1));
  ASSERT_TRUE(Apply({labelled}).ok());
  EXPECT_EQ(VersionOf({.name = "m", .label = "stable"}), 1);
  EXPECT_EQ(VersionOf({.name = "m"}), 2);
  EXPECT_EQ(
      models_->Acquire({.name = "m", .label = "zz"}).status(),
      absl::InvalidArgumentError("Unrecognized servable version label: zz; labels of the model: "
                                 "stable"));
  ASSERT_TRUE(Apply({std::string("m") + kAll}).ok());
  EXPECT_FALSE(models_->Acquire({.name = "m", .label = "stable"}).ok())
      << "labels are replaced as a whole";
}

// A reader may have looked up where the label was, and ask for that version when it has gone.
TEST_F(ServedModelsTest, LabelMovesAndItsVersionGoesInOneConfigurationUnnoticed) {
  AddVersion("m/1");
  AddVersion("m/2");
  const auto config = [](absl::string_view versions, int64_t label) {
    return absl::StrCat("m model_version_policy { specific { ", versions,
                        " } } version_labels { key: 'stable' value: ", label, " }");
  };
  ASSERT_TRUE(Apply({absl::StrCat("m", kAll)}).ok());
  ASSERT_TRUE(WaitForVersion({.name = "m", .version = 1}, 1));
  ASSERT_TRUE(WaitForVersion({.name = "m", .version = 2}, 2));
  ASSERT_TRUE(Apply({config("versions: 1 versions: 2", 1)}).ok());
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        failures += VersionOf({.name = "m", .label = "stable"}) < 0;
        absl::SleepFor(absl::Microseconds(20));  // leaves cores for loads, which yield to requests
      }
    });
  }
  for (int64_t i = 0; i < 30; ++i) {
    const int64_t kept = i % 2 == 0 ? 2 : 1;
    EXPECT_TRUE(Apply({config(absl::StrCat("versions: ", kept), kept)}).ok());
    EXPECT_TRUE(WaitForVersion({.name = "m", .version = 3 - kept}, -1));
    EXPECT_TRUE(Apply({config("versions: 1 versions: 2", kept)}).ok());
    EXPECT_TRUE(WaitForVersion({.name = "m", .version = 3 - kept}, 3 - kept));
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(ServedModelsTest, FlagLetsNewLabelsPointAnywhereButNotMoveThere) {
  Make(/*allow_labels=*/true);
  AddVersion("m/1");
  auto labelled = [](int version) {
    return absl::StrCat("m version_labels { key: 'l' value: ", version, " }");
  };
  ASSERT_TRUE(Apply({labelled(7)}).ok());
  EXPECT_EQ(
      models_->Acquire({.name = "m", .label = "l"}).status(),
      absl::NotFoundError("Servable not found for request: Specific(m, 7); ready versions: 1"));
  EXPECT_TRUE(Apply({labelled(7)}).ok());
  EXPECT_EQ(Apply({labelled(8)}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Apply({labelled(1)}).ok());
  EXPECT_EQ(VersionOf({.name = "m", .label = "l"}), 1);
}

TEST_F(ServedModelsTest, WaitForAModelWithoutVersionsEndsWithTheDeadline) {
  AddVersion("m/1");
  const absl::Status status =
      Apply({"m", "later"}, {.deadline = absl::Now() + absl::Milliseconds(50)});
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(VersionOf({.name = "m"}), 1);
  AddVersion("later/4");
  EXPECT_TRUE(WaitForVersion({.name = "later"}, 4)) << "the configuration stays applied";
}

TEST_F(ServedModelsTest, CancellationAndStopEndTheWait) {
  CancellationManager cancellation;
  std::thread canceller([&] {
    AwaitConfigured("absent");
    cancellation.Cancel();
  });
  EXPECT_TRUE(absl::IsCancelled(Apply({"absent"}, {.cancellation = &cancellation})));
  canceller.join();
  std::thread stopper([&] {
    AwaitConfigured("absent2");
    models_->Stop();
  });
  EXPECT_TRUE(absl::IsCancelled(Apply({"absent2", "absent"})));
  stopper.join();
}

TEST_F(ServedModelsTest, LateCallQueuesBehindAWaitingOneNoLongerThanItsDeadline) {
  std::thread waiting([&] { EXPECT_TRUE(Apply({"later"}).ok()); });
  AwaitConfigured("later");
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      Apply({"other"}, {.deadline = absl::Now() + absl::Milliseconds(20)})));
  AddVersion("later/1");
  waiting.join();
}

TEST_F(ServedModelsTest, WhatBelongsToAConfigurationChangesOnlyIfItIsApplied) {
  int num_changes = 0;
  const auto apply = [&](const std::vector<std::string>& models, const CallOptions& options) {
    return models_->ApplyConfig(Config(models), options, [&] {
      EXPECT_EQ(VersionOf({.name = models[0]}), -1) << "nothing has changed yet";
      ++num_changes;
    });
  };
  AddVersion("other/1");
  EXPECT_FALSE(apply({"other", "other"}, {}).ok());
  EXPECT_EQ(num_changes, 0) << "refused";
  std::thread waiting([&] { EXPECT_TRUE(Apply({"later"}).ok()); });
  AwaitConfigured("later");
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      apply({"other"}, {.deadline = absl::Now() + absl::Milliseconds(20)})));
  EXPECT_EQ(num_changes, 0) << "its turn never came";
  AddVersion("later/1");
  waiting.join();
  EXPECT_TRUE(apply({"other"}, {}).ok());
  EXPECT_EQ(num_changes, 1);
}

TEST_F(ServedModelsTest, LoadingAModelWithoutVersionsFailsAtOnce) {
  AddVersion("m/1");
  ASSERT_TRUE(Apply({"m"}).ok());
  ASSERT_TRUE(models_->UnloadModel("m").ok());
  fs::remove_all(root_ / "m/1");
  const absl::Status status = models_->LoadModel("m");
  EXPECT_TRUE(absl::IsUnknown(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("model 'm' has no version to load"));
  AddVersion("m/2");
  EXPECT_TRUE(models_->LoadModel("m").ok());
  EXPECT_EQ(VersionOf({.name = "m"}), 2);
}

TEST_F(ServedModelsTest, LateCallLeavesTheQueueWhenItIsCancelled) {
  std::thread waiting([&] { EXPECT_TRUE(Apply({"later"}).ok()); });
  AwaitConfigured("later");
  CancellationManager cancellation;
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(20));
    cancellation.Cancel();
  });
  AddVersion("other/1");
  EXPECT_TRUE(absl::IsCancelled(Apply(
      {"other"}, {.deadline = absl::Now() + absl::Seconds(20), .cancellation = &cancellation})));
  canceller.join();
  AddVersion("later/1");
  waiting.join();
  EXPECT_EQ(VersionOf({.name = "other"}), -1) << "nothing of it was applied";
}

TEST_F(ServedModelsTest, NothingIsAppliedOnceStopped) {
  AddVersion("other/1");
  std::thread waiting([&] { EXPECT_TRUE(absl::IsCancelled(Apply({"later"}))); });
  AwaitConfigured("later");
  std::thread queued([&] { EXPECT_TRUE(absl::IsCancelled(Apply({"other"}))); });
  absl::SleepFor(absl::Milliseconds(30));
  models_->Stop();
  waiting.join();
  queued.join();
  EXPECT_TRUE(absl::IsCancelled(Apply({"other"})));
  EXPECT_TRUE(models_->states().StatesOf("other").empty());
}

}  // namespace
}  // namespace tessera::serving
