// Rollouts with the source and the manager of a server, and a platform of the test's own.
#include "serving/rollout/rollouts.h"

#include <filesystem>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "serving/core/testing/wait_until.h"
#include "serving/rollout/rollout_state_file.h"
#include "serving/servables/served_models.h"
#include "serving/servables/testing/servable_loader.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TestServable : public Servable {
 public:
  explicit TestServable(const ServableId& id) : Servable({.id = id, .platform = "test"}) {}
  absl::Status Predict(const PredictRequest&, const CallOptions&, PredictResult*) const override {
    return absl::OkStatus();
  }
};

std::optional<absl::string_view> NoKeys(absl::string_view) { return std::nullopt; }

class RolloutsTest : public ::testing::Test {
 protected:
  RolloutsTest() {
    std::string pattern = ::testing::TempDir() + "/rollouts_XXXXXX";
    root_ = mkdtemp(pattern.data());
    state_file_ = (root_ / "state").string();
    // Every step passes with its first good judgement.
    config_.add_steps()->set_share_percent(20);
    config_.add_steps()->set_share_percent(60);
    config_.mutable_conditions()->set_min_requests(20);
  }
  ~RolloutsTest() override {
    Stop();
    fs::remove_all(root_);
  }

  void Stop() {
    models_.reset();
    rollouts_.reset();
  }
  // Starts a server of the models "m", with a rollout, and "n", without one.
  void Start(RolloutConfigs configs) {
    Stop();
    for (const char* model : {"m", "n"}) fs::create_directories(root_ / model);
    rollouts_ = std::make_unique<Rollouts>(Rollouts::Options{.configs = std::move(configs),
                                                             .state_file = state_file_,
                                                             .judge_interval = judge_interval_,
                                                             .metrics = &metrics_});
    ServedModels::Options options;
    options.manager.max_load_retries = 0;
    options.source = source_;
    // Fails for a folder that holds a file "broken".
    options.platforms["test"] =
        [](const ServableId& id,
           const std::string& directory) -> absl::StatusOr<std::unique_ptr<Loader>> {
      return std::make_unique<ServableLoader>(
          [id, directory]() -> absl::StatusOr<std::unique_ptr<const Servable>> {
            if (FileExists(JoinPath(directory, "broken"))) return absl::DataLossError("torn");
            return std::make_unique<const TestServable>(id);
          });
    };
    options.gate = rollouts_.get();
    options.router = rollouts_->router();
    models_ = std::make_unique<ServedModels>(options);
    const absl::Status status = models_->ApplyConfig(ModelConfigs());
    ASSERT_TRUE(status.ok()) << status;
  }
  void Start() { Start({{"m", config_}}); }
  tensorflow::serving::ModelServerConfig ModelConfigs() const {
    tensorflow::serving::ModelServerConfig config;
    config.mutable_model_config_list();
    for (const char* name : {"m", "n"}) {
      if (fs::is_empty(root_ / name)) continue;
      auto* model = config.mutable_model_config_list()->add_config();
      model->set_name(name);
      model->set_base_path((root_ / name).string());
      model->set_model_platform("test");
    }
    return config;
  }
  void Push(const std::string& path, bool broken = false) {
    const fs::path temporary = root_ / "temporary";
    fs::create_directories(temporary);
    fs::create_directories((root_ / path).parent_path());
    ASSERT_TRUE(WriteFileAtomically(temporary / (broken ? "broken" : "whole"), "").ok());
    fs::rename(temporary, root_ / path);
  }

  // One request to a model, as a front end does it. The versions of `failing_` answer an error.
  int64_t Ask(absl::string_view name = "m") {
    const auto model = models_->Acquire({.name = name}, NoKeys);
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return -1;
    TrafficRouter* const router = models_->router();
    if (router->InterestIn(model->id()) != TrafficRouter::Interest::kNone) {
      const absl::Status status =
          failing_.contains(model->version()) ? absl::InternalError("broken") : absl::OkStatus();
      router->Observe({.id = model->id(),
                       .signature_name = "",
                       .input_names = {},
                       .inputs = {},
                       .output_filter = {},
                       .status = status,
                       .latency = absl::Milliseconds(1),
                       .outputs = {}});
    }
    return model->version();
  }
  // Asks until `condition` is true.
  bool AskUntil(const std::function<bool()>& condition) {
    for (int i = 0; i < 200'000; ++i) {
      if (condition()) return true;
      Ask();
      if (i % 50 == 0) absl::SleepFor(absl::Milliseconds(1));
    }
    return false;
  }
  RolloutStatus Status() { return rollouts_->StatusOf("m").value(); }
  // The versions that have been loaded and not unloaded.
  std::vector<int64_t> Available(const std::string& name = "m") {
    std::vector<int64_t> versions;
    for (const auto& [version, state] : models_->states().StatesOf(name)) {
      if (state.state == State::kAvailable) versions.push_back(version);
    }
    return versions;
  }
  bool WaitForAvailable(const std::vector<int64_t>& versions, const std::string& name = "m") {
    return WaitUntil([&] { return Available(name) == versions; });
  }
  // Whether version 2 of a model gets traffic. Steps without a duration are held at once.
  bool IsTried(absl::string_view model = "m") {
    const RolloutStatus status = rollouts_->StatusOf(model).value();
    return status.candidate_version() == 2 && status.share_percent() > 0;
  }
  std::vector<std::string> Decisions() {
    std::vector<std::string> decisions;
    for (const RolloutEvent& event : rollouts_->RecentEvents()) {
      if (event.kind() == "held") continue;  // depends on how fast requests come
      decisions.push_back(absl::StrCat(event.kind(), " ", event.version()));
    }
    return decisions;
  }

  fs::path root_;
  std::string state_file_;
  RolloutConfig config_;
  absl::Duration judge_interval_ = absl::Milliseconds(5);
  FileSystemSource::Options source_ = {.poll_interval = absl::Milliseconds(5),
                                       .settle_time = absl::ZeroDuration()};
  std::set<int64_t> failing_;
  MetricsRegistry metrics_;
  std::unique_ptr<Rollouts> rollouts_;
  std::unique_ptr<ServedModels> models_;
};

TEST_F(RolloutsTest, AGoodVersionIsPromotedByItsRequests) {
  Push("m/1");
  Start();
  EXPECT_EQ(Ask(), 1);
  Push("m/2");
  ASSERT_TRUE(AskUntil([&] { return Status().stable_version() == 2; }));
  EXPECT_THAT(Decisions(),
              ElementsAre("promoted 1", "started 2", "step 2", "step 2", "promoted 2"));
  const RolloutEvent promoted = rollouts_->RecentEvents().back();
  EXPECT_EQ(promoted.stable_version(), 2);
  EXPECT_GE(promoted.candidate().requests(), 20);
  EXPECT_GE(promoted.live().requests(), 1);
  EXPECT_EQ(Ask(), 2);
  EXPECT_THAT(Available(), ElementsAre(2, 1)) << "the previous version stays for a rollback";
  const std::string page = metrics_.RenderMetrics();
  EXPECT_THAT(page, HasSubstr(":tessera:serving:rollout_decisions{model_name=\"m\",decision="
                              "\"promoted\"} 2\n"));
  EXPECT_THAT(page, HasSubstr(":tessera:serving:rollout_stable_version{model_name=\"m\"} 2\n"));
  EXPECT_THAT(page, HasSubstr(":tessera:serving:rollout_phase{model_name=\"m\"} 0\n"));
  EXPECT_EQ(models_->Acquire({.name = "m", .label = "stable"})->version(), 2);
  EXPECT_EQ(models_->Acquire({.name = "m", .label = "canary"})->version(), 2);

  Push("m/3");
  ASSERT_TRUE(AskUntil([&] { return Status().stable_version() == 3; }));
  EXPECT_TRUE(WaitForAvailable({3, 2})) << "version 1 is not needed any more";
  ASSERT_TRUE(rollouts_->Rollback("m", 3).ok());
  EXPECT_EQ(Ask(), 2);
  EXPECT_TRUE(WaitForAvailable({2}));
}

TEST_F(RolloutsTest, ABadVersionIsTakenBackForGood) {
  Push("m/1");
  Start();
  EXPECT_THAT(metrics_.RenderMetrics(), HasSubstr("rollout_decisions{model_name=\"m\",decision="
                                                  "\"rolled_back\"} 0\n"))
      << "the rate of a counter that is not there before misses the first decision";
  Push("m/2");
  failing_ = {2};
  ASSERT_TRUE(AskUntil([&] { return Status().rejected_versions_size() == 1; }));
  EXPECT_THAT(Decisions(), ElementsAre("promoted 1", "started 2", "step 2", "rolled_back 2"));
  EXPECT_THAT(Status().reason(), HasSubstr("error"));
  EXPECT_TRUE(WaitForAvailable({1}));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Ask(), 1);

  Start();  // another process with the same files
  EXPECT_TRUE(WaitForAvailable({1}));
  EXPECT_THAT(Decisions(), IsEmpty());
  EXPECT_THAT(Status().rejected_versions(), ElementsAre(2));

  failing_ = {};
  ASSERT_TRUE(WriteFileAtomically((root_ / "m/2/mended").string(), "").ok());
  ASSERT_TRUE(AskUntil([&] { return Status().stable_version() == 2; })) << "its files changed";
}

TEST_F(RolloutsTest, AVersionThatDoesNotLoadIsTakenBack) {
  Push("m/1");
  Start();
  Push("m/2", /*broken=*/true);
  ASSERT_TRUE(WaitUntil([&] { return Status().rejected_versions_size() == 1; }));
  EXPECT_EQ(Status().reason(), "version 2 was not loaded: DATA_LOSS: torn");
  EXPECT_EQ(Ask(), 1);
  Start();
  EXPECT_TRUE(WaitForAvailable({1}));
  EXPECT_THAT(Decisions(), IsEmpty());
}

TEST_F(RolloutsTest, ARestartWaitsForAStableVersionThatIsStillBeingCopied) {
  config_.mutable_steps(0)->set_duration_seconds(1000);
  Push("m/1");
  Start();
  Push("m/2");
  ASSERT_TRUE(WaitUntil([&] { return IsTried(); }));
  Stop();
  // Version 2 is complete a twentieth of the settle time after its last change, and version 1 after
  // all of it.
  ASSERT_TRUE(WriteFileAtomically((root_ / "m/1/copied").string(), "").ok());
  source_.settle_time = absl::Milliseconds(500);
  source_.is_whole = [](const std::string& path) { return path.ends_with("/2"); };
  Start();
  EXPECT_TRUE(WaitUntil([&] { return IsTried(); }));
  EXPECT_EQ(Status().stable_version(), 1);
  EXPECT_THAT(Decisions(), ElementsAre("step 2"));
}

TEST_F(RolloutsTest, ADamagedStateIsSetAsideAndTakenUpCautiously) {
  for (const char* path : {"m/1", "m/2", "m/3"}) Push(path);
  ASSERT_TRUE(WriteFileAtomically(state_file_, "{\"models\": {\"m\": {").ok());
  Start();
  EXPECT_EQ(Status().stable_version(), 2);
  EXPECT_EQ(Status().candidate_version(), 3);
  EXPECT_EQ(*ReadFile(state_file_ + ".damaged"), "{\"models\": {\"m\": {");
  ASSERT_TRUE(AskUntil([&] { return Status().stable_version() == 3; }));
  Stop();
  EXPECT_EQ(ReadRolloutState(state_file_)->models().at("m").stable_version(), 3);
}

TEST_F(RolloutsTest, AStateThatCannotBeWrittenStopsNothing) {
  state_file_ = (root_ / "absent/state").string();
  Push("m/1");
  Start();
  Push("m/2");
  ASSERT_TRUE(AskUntil([&] { return Status().stable_version() == 2; }));
  EXPECT_FALSE(FileExists(state_file_));
}

TEST_F(RolloutsTest, ModelsWithoutARolloutGetTheirHighestVersionAtOnce) {
  Push("m/1");
  Push("n/1");
  Start();
  EXPECT_EQ(Ask("n"), 1);
  Push("n/2");
  EXPECT_TRUE(WaitForAvailable({2}, "n"));
  EXPECT_EQ(Ask("n"), 2);
  EXPECT_EQ(rollouts_->StatusOf("n").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(rollouts_->Promote("n", 0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(rollouts_->Statuses().size(), 1u);
}

TEST_F(RolloutsTest, AReloadKeepsAddsAndRemovesRollouts) {
  Push("m/1");
  Push("n/1");
  Start();
  Push("m/2");
  ASSERT_TRUE(WaitUntil([&] { return IsTried(); }));
  rollouts_->SetConfigs({{"m", config_}, {"n", config_}});
  ASSERT_TRUE(models_->ApplyConfig(ModelConfigs()).ok());
  EXPECT_TRUE(IsTried()) << "it goes on";
  EXPECT_EQ(rollouts_->StatusOf("n")->stable_version(), 1);
  Push("n/2");
  ASSERT_TRUE(WaitForAvailable({2, 1}, "n"));
  EXPECT_TRUE(WaitUntil([&] { return IsTried("n"); }));
  EXPECT_EQ(models_->Acquire({.name = "n"})->version(), 1);

  rollouts_->SetConfigs({{"m", config_}});
  ASSERT_TRUE(models_->ApplyConfig(ModelConfigs()).ok());
  EXPECT_TRUE(WaitForAvailable({2}, "n"));
  EXPECT_EQ(Ask("n"), 2);
}

TEST_F(RolloutsTest, AFirstRolloutBeginsWithTheVersionThatServes) {
  Push("n/1");
  Start();
  Push("n/2", /*broken=*/true);
  ASSERT_TRUE(WaitUntil([&] {
    const auto states = models_->states().StatesOf("n");
    return states.contains(2) && states.at(2).state == State::kEnd;
  }));
  rollouts_->SetConfigs({{"n", config_}});
  ASSERT_TRUE(models_->ApplyConfig(ModelConfigs()).ok());
  EXPECT_EQ(rollouts_->StatusOf("n")->stable_version(), 1);
  EXPECT_TRUE(WaitUntil([&] { return rollouts_->StatusOf("n")->rejected_versions_size() == 1; }));
  Push("n/3");
  EXPECT_TRUE(WaitForAvailable({3, 1}, "n"));
  EXPECT_EQ(rollouts_->StatusOf("n")->candidate_version(), 3);
}

TEST_F(RolloutsTest, ARolloutThatComesBackKeepsItsDecisionsAndServesAllTheWhile) {
  Push("m/1");
  Start();
  Push("m/2");
  ASSERT_TRUE(WaitUntil([&] { return IsTried(); }));
  ASSERT_TRUE(rollouts_->Rollback("m", 2).ok());
  const std::vector<std::string> decisions = Decisions();
  rollouts_->SetConfigs({});
  ASSERT_TRUE(models_->ApplyConfig(ModelConfigs()).ok());
  ASSERT_TRUE(WaitForAvailable({2}));
  rollouts_->SetConfigs({{"m", config_}});
  ASSERT_TRUE(models_->ApplyConfig(ModelConfigs()).ok());
  EXPECT_TRUE(WaitUntil([&] { return Ask() == 1; }));
  EXPECT_TRUE(WaitForAvailable({1}));
  EXPECT_EQ(Status().stable_version(), 1);
  EXPECT_THAT(Status().rejected_versions(), ElementsAre(2));
  EXPECT_EQ(Decisions(), decisions);
}

TEST_F(RolloutsTest, ARolloutThatComesBackWhileBothVersionsServeIsJudged) {
  judge_interval_ = absl::Hours(1);  // so that only what wakes the thread advances the rollout
  state_file_.clear();               // so that the thread does not wait for the disk
  config_.mutable_steps(0)->set_duration_seconds(1000);
  config_.set_pass_without_requests(true);
  Push("m/1");
  Start();
  Push("m/2");
  ASSERT_TRUE(WaitUntil([&] { return IsTried(); }));
  rollouts_->SetConfigs({});
  auto all = ModelConfigs();
  all.mutable_model_config_list()->mutable_config(0)->mutable_model_version_policy()->mutable_all();
  ASSERT_TRUE(models_->ApplyConfig(all).ok());
  ASSERT_TRUE(WaitForAvailable({2, 1}));
  config_.mutable_steps(0)->clear_duration_seconds();
  rollouts_->SetConfigs({{"m", config_}});
  ASSERT_TRUE(models_->ApplyConfig(ModelConfigs()).ok());
  EXPECT_TRUE(WaitUntil([&] { return Status().stable_version() == 2; }));
}

TEST_F(RolloutsTest, MeasuresBeginAnewWithAnotherOutputOrWindow) {
  config_.mutable_steps(0)->set_duration_seconds(1000);
  Push("m/1");
  Start();
  Push("m/2");
  ASSERT_TRUE(WaitUntil([&] { return IsTried(); }));
  for (const bool is_window : {false, true}) {
    ASSERT_TRUE(AskUntil([&] { return Status().candidate().requests() > 0; }));
    if (is_window) {
      config_.mutable_conditions()->set_window_seconds(3000);
    } else {
      config_.mutable_conditions()->set_output("scores");
    }
    rollouts_->SetConfigs({{"m", config_}});
    EXPECT_TRUE(WaitUntil([&] { return Status().candidate().requests() == 0; }));
    EXPECT_TRUE(IsTried());
  }
}

TEST_F(RolloutsTest, AModelOfARolloutHasNoVersionPolicy) {
  Push("m/1");
  Start();
  auto config = ModelConfigs();
  config.mutable_model_config_list()
      ->mutable_config(0)
      ->mutable_model_version_policy()
      ->mutable_all();
  EXPECT_EQ(models_->ApplyConfig(config),
            absl::InvalidArgumentError("model m has a rollout, which chooses the versions to load; "
                                       "remove its model_version_policy or its rollout"));
}

TEST_F(RolloutsTest, AModelThatIsLeftOutIsUnloadedAndComesBackAsItWas) {
  Push("m/1");
  Start();
  Push("m/2");
  ASSERT_TRUE(WaitUntil([&] { return IsTried(); }));
  tensorflow::serving::ModelServerConfig none;
  none.mutable_model_config_list();
  ASSERT_TRUE(models_->ApplyConfig(none).ok());
  ASSERT_TRUE(WaitForAvailable({}));
  ASSERT_TRUE(models_->ApplyConfig(ModelConfigs()).ok());
  ASSERT_TRUE(AskUntil([&] { return Status().stable_version() == 2; }));
}

TEST_F(RolloutsTest, WatchersSeeDecisionsUntilTheyEnd) {
  Push("m/1");
  Start();
  std::vector<std::string> seen;
  absl::Mutex mu;
  auto watch = rollouts_->WatchEvents([&](const RolloutEvent& event) {
    absl::MutexLock lock(&mu);
    if (event.kind() != "held") seen.push_back(event.kind());
  });
  Push("m/2");
  ASSERT_TRUE(WaitUntil([&] { return IsTried(); }));
  ASSERT_TRUE(rollouts_->Pause("m", 2).ok());
  watch.reset();
  ASSERT_TRUE(rollouts_->Resume("m", 2).ok());
  EXPECT_THAT(seen, ElementsAre("started", "step", "paused"));
  EXPECT_THAT(Decisions(), Contains("resumed 2"));
}

TEST_F(RolloutsTest, VersionsBelowOneAreIgnored) {
  Push("m/0");
  Push("m/1");
  Push("m/-5");
  Start();
  EXPECT_EQ(Status().stable_version(), 1);
  EXPECT_TRUE(WaitForAvailable({1}));
}

}  // namespace
}  // namespace tessera::serving
