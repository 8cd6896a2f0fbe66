#include "serving/rollout/rollout.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/rollout/rollout_config.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Judgement kPass = Judgement::kPass;
constexpr Judgement kFail = Judgement::kFail;
constexpr Judgement kTooFew = Judgement::kTooFew;

RolloutConfig ConfigOf(std::initializer_list<std::pair<double, double>> steps) {
  RolloutConfig config;
  for (const auto& [share, seconds] : steps) {
    config.add_steps()->set_share_percent(share);
    config.mutable_steps()->rbegin()->set_duration_seconds(seconds);
  }
  return WithDefaults(config);
}

// A rollout, a manager that loads what it wants, and a clock.
class RolloutTest : public ::testing::Test {
 protected:
  explicit RolloutTest(RolloutConfig config = ConfigOf({{1, 10}, {50, 20}, {100, 30}}))
      : config_(std::move(config)) {
    rollout_.emplace("m", config_, RolloutState::Model());
  }

  // Starts another process with what this one has saved.
  void Restart(Rollout::Start start = Rollout::Start::kFromSaved) {
    const RolloutState::Model saved =
        start == Rollout::Start::kCautious ? RolloutState::Model() : rollout_->saved();
    rollout_.emplace("m", config_, saved, start);
    loaded_.clear();
  }
  // Puts versions on disk, with their number as revision, and loads what is wanted.
  void Disk(std::map<int64_t, uint64_t> versions) {
    rollout_->SetVersions(now_, std::move(versions));
    Load();
  }
  // Loads and unloads, as the manager does, until everything is as it is wanted. The versions of
  // `broken_` fail.
  void Load() {
    for (bool changed = true; changed;) {
      changed = false;
      const std::set<int64_t> wanted = rollout_->Wanted();
      for (const int64_t version : wanted) {
        if (loaded_.contains(version) || ended_.contains(version)) continue;
        changed = true;
        Tell(version, State::kStart);
        if (broken_.contains(version)) {
          ended_.insert(version);
          Tell(version, State::kEnd, absl::DataLossError("torn"));
        } else {
          loaded_.insert(version);
          Tell(version, State::kAvailable);
        }
      }
      for (const int64_t version : std::set<int64_t>(loaded_)) {
        if (rollout_->Wanted().contains(version)) continue;
        changed = true;
        loaded_.erase(version);
        Tell(version, State::kEnd);
      }
      for (const int64_t version : std::set<int64_t>(ended_)) {
        if (!rollout_->Wanted().contains(version)) ended_.erase(version);
      }
    }
  }
  void Tell(int64_t version, State state, absl::Status health = absl::OkStatus()) {
    rollout_->NoteState(now_, {{"m", version}, state, std::move(health), now_});
  }
  void After(double seconds, Judgement judgement, std::string reason = "because") {
    now_ += absl::Seconds(seconds);
    rollout_->Advance(now_, {.live = {}, .candidate = {}, .verdict = {judgement, reason}});
    Load();
  }
  // The decisions since the last call: "step 4 1 %".
  std::vector<std::string> Events() {
    std::vector<std::string> events;
    for (const RolloutEvent& event : rollout_->TakeEvents()) {
      events.push_back(absl::StrCat(event.kind(), " ", event.version(), " ", event.share_percent(),
                                    " %", event.by_hand() ? " by hand" : ""));
      last_reason_ = event.reason();
    }
    return events;
  }
  RolloutStatus Status() { return rollout_->Status(now_); }
  std::vector<int64_t> Parts() {
    const RolloutStatus status = Status();
    return {status.stable_version(), status.candidate_version(), status.previous_version()};
  }

  const RolloutConfig config_;
  absl::Time now_ = absl::FromUnixSeconds(1000);
  std::optional<Rollout> rollout_;
  std::set<int64_t> loaded_, broken_;
  std::set<int64_t> ended_;  // failed, and still wanted
  std::string last_reason_;
};

TEST_F(RolloutTest, HighestVersionIsStableAtOnce) {
  Disk({{1, 1}, {3, 3}, {2, 2}});
  EXPECT_THAT(Parts(), ElementsAre(3, 0, 0));
  EXPECT_THAT(rollout_->Wanted(), ElementsAre(3));
  EXPECT_THAT(Events(), ElementsAre("promoted 3 100 %"));
  EXPECT_EQ(Status().phase(), ROLLOUT_IDLE);
}

TEST_F(RolloutTest, AGoodVersionPassesEveryStepAndIsPromoted) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  EXPECT_THAT(Events(), ElementsAre("promoted 3 100 %", "started 4 0 %", "step 4 1 %"));
  EXPECT_EQ(Status().phase(), ROLLOUT_STEP);
  After(9, kPass);
  EXPECT_THAT(Events(), IsEmpty()) << "the step lasts 10 seconds";
  After(1, kPass, "all is well");
  EXPECT_THAT(Events(), ElementsAre("step 4 50 %"));
  EXPECT_EQ(last_reason_, "all is well");
  EXPECT_EQ(rollout_->route().candidate, 4);
  EXPECT_EQ(rollout_->route().stable, 3);
  After(20, kPass);
  After(29, kPass);
  EXPECT_THAT(Events(), ElementsAre("step 4 100 %"));
  After(1, kPass);
  EXPECT_THAT(Events(), ElementsAre("promoted 4 100 %"));
  EXPECT_THAT(Parts(), ElementsAre(4, 0, 3));
  EXPECT_THAT(loaded_, ElementsAre(3, 4)) << "the previous version stays for a rollback";
  EXPECT_EQ(rollout_->route().candidate, 0);
}

TEST_F(RolloutTest, TheCandidateWaitsForTheStableVersion) {
  Disk({{3, 3}});
  Restart();
  rollout_->SetVersions(now_, {{3, 3}, {4, 4}});
  EXPECT_EQ(Status().phase(), ROLLOUT_LOADING);
  EXPECT_THAT(rollout_->Wanted(), ElementsAre(3));
  EXPECT_EQ(rollout_->route().candidate, 0);
  Tell(3, State::kAvailable);
  EXPECT_THAT(rollout_->Wanted(), ElementsAre(3, 4));
  EXPECT_EQ(rollout_->route().candidate, 0) << "it is not loaded yet";
  Tell(4, State::kAvailable);
  EXPECT_EQ(rollout_->route().candidate, 4);
}

TEST_F(RolloutTest, ABadVersionIsRolledBackAtOnceAndNotTriedAgain) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  Events();
  After(2, kFail, "p99 is too high");
  EXPECT_THAT(Events(), ElementsAre("rolled_back 4 0 %"));
  EXPECT_EQ(last_reason_, "p99 is too high");
  EXPECT_THAT(Parts(), ElementsAre(3, 0, 0));
  EXPECT_THAT(loaded_, ElementsAre(3));
  Disk({{3, 3}, {4, 4}});
  EXPECT_THAT(Events(), IsEmpty());
  Restart();
  Disk({{3, 3}, {4, 4}});
  EXPECT_THAT(Events(), IsEmpty());
  EXPECT_THAT(loaded_, ElementsAre(3));
  EXPECT_THAT(Status().rejected_versions(), ElementsAre(4));
  Disk({{3, 3}, {4, 44}});
  EXPECT_THAT(Events(), ElementsAre("started 4 0 %", "step 4 1 %")) << "its files have changed";
  EXPECT_THAT(Status().rejected_versions(), IsEmpty());
}

TEST_F(RolloutTest, FilesThatChangedDuringTheTrialAreTriedOnceTheVersionIsUnloaded) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  rollout_->SetVersions(now_, {{3, 3}, {4, 44}});
  EXPECT_EQ(rollout_->saved().candidate_revision(), 4) << "what is loaded is what is tried";
  Events();
  rollout_->Advance(now_, {.live = {}, .candidate = {}, .verdict = {kFail, "bad"}});
  EXPECT_THAT(rollout_->Wanted(), ElementsAre(3)) << "the files of before must go first";
  EXPECT_THAT(Events(), ElementsAre("rolled_back 4 0 %"));
  Load();
  EXPECT_THAT(Events(), ElementsAre("started 4 0 %", "step 4 1 %"));
}

TEST_F(RolloutTest, AVersionThatDoesNotLoadIsRolledBackWithTheReason) {
  Disk({{3, 3}});
  broken_ = {4};
  Disk({{3, 3}, {4, 4}});
  EXPECT_THAT(Events(), ElementsAre("promoted 3 100 %", "started 4 0 %", "rolled_back 4 0 %"));
  EXPECT_EQ(last_reason_, "version 4 was not loaded: DATA_LOSS: torn");
  EXPECT_THAT(Status().rejected_versions(), ElementsAre(4));
}

TEST_F(RolloutTest, AHigherVersionSupersedesAndALowerOneIsIgnored) {
  Disk({{3, 3}});
  Disk({{3, 3}, {5, 5}});
  Events();
  Disk({{3, 3}, {4, 4}, {5, 5}});
  EXPECT_THAT(Events(), IsEmpty());
  After(10, kPass);
  Events();
  Disk({{3, 3}, {5, 5}, {6, 6}});
  EXPECT_THAT(Events(), ElementsAre("superseded 5 0 %", "started 6 0 %", "step 6 1 %"))
      << "which begins with the first step";
  EXPECT_THAT(loaded_, ElementsAre(3, 6));
  EXPECT_THAT(Status().rejected_versions(), IsEmpty());
}

TEST_F(RolloutTest, TooFewRequestsHoldTheStep) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  Events();
  After(10, kTooFew, "3 requests");
  After(10, kTooFew, "4 requests");
  EXPECT_THAT(Events(), ElementsAre("held 4 1 %")) << "told once";
  EXPECT_EQ(Status().phase(), ROLLOUT_HELD);
  After(1, kPass);
  EXPECT_THAT(Events(), ElementsAre("step 4 50 %"));
  EXPECT_EQ(Status().phase(), ROLLOUT_STEP);
}

TEST_F(RolloutTest, TooFewRequestsPassIfConfiguredSo) {
  RolloutConfig config = config_;
  config.set_pass_without_requests(true);
  rollout_->SetConfig(config);
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  for (const double seconds : {10, 20, 30}) After(seconds, kTooFew);
  EXPECT_THAT(Parts(), ElementsAre(4, 0, 3));
}

TEST_F(RolloutTest, ALastStepBelowAllTrafficEndsInPromotion) {
  rollout_.emplace("m", ConfigOf({{5, 10}}), RolloutState::Model());
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  Events();
  After(10, kPass);
  EXPECT_THAT(Events(), ElementsAre("promoted 4 100 %"));
}

TEST_F(RolloutTest, ARestartGoesOnWithTheStep) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  After(10, kPass);
  Events();
  Restart();
  Disk({{3, 3}, {4, 4}});
  EXPECT_THAT(Events(), ElementsAre("step 4 50 %"));
  Restart();
  Disk({{3, 3}, {4, 44}});
  EXPECT_THAT(Events(), ElementsAre("step 4 1 %")) << "other files begin anew";
}

TEST_F(RolloutTest, ALostStateIsTakenUpCautiously) {
  Restart(Rollout::Start::kCautious);
  Disk({{2, 2}, {3, 3}, {4, 4}});
  EXPECT_THAT(Parts(), ElementsAre(3, 4, 0));
  EXPECT_THAT(Events(), ElementsAre("promoted 3 100 %", "started 4 0 %", "step 4 1 %"));
  Restart(Rollout::Start::kCautious);
  Disk({{4, 4}});
  EXPECT_THAT(Parts(), ElementsAre(4, 0, 0));
}

TEST_F(RolloutTest, ByHand) {
  Disk({{3, 3}});
  EXPECT_EQ(rollout_->Promote(now_, 0).message(),
            "there is nothing to promote: model m has no candidate; version 3 is stable");
  EXPECT_EQ(rollout_->Rollback(now_, 0).message(),
            "model m has no version to go back to from version 3");
  Disk({{3, 3}, {4, 4}});
  Events();
  EXPECT_THAT(rollout_->Promote(now_, 9).message(), HasSubstr("version 9 of model m is not being"));
  EXPECT_TRUE(absl::IsFailedPrecondition(rollout_->Resume(now_, 4)));
  ASSERT_TRUE(rollout_->Pause(now_, 4).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(rollout_->Pause(now_, 4)));
  After(100, kFail);
  EXPECT_THAT(Events(), ElementsAre("paused 4 1 % by hand")) << "nothing is judged";
  EXPECT_EQ(Status().phase(), ROLLOUT_PAUSED);
  ASSERT_TRUE(rollout_->Resume(now_, 0).ok());
  EXPECT_THAT(Events(), ElementsAre("resumed 4 1 % by hand", "step 4 1 %"));
  ASSERT_TRUE(rollout_->Promote(now_, 4).ok());
  EXPECT_THAT(Parts(), ElementsAre(4, 0, 3));
  EXPECT_TRUE(absl::IsFailedPrecondition(rollout_->Rollback(now_, 3)));
  ASSERT_TRUE(rollout_->Rollback(now_, 4).ok());
  EXPECT_THAT(Events(), ElementsAre("promoted 4 100 % by hand", "rolled_back 4 0 % by hand"));
  EXPECT_THAT(Parts(), ElementsAre(3, 0, 0));
  EXPECT_THAT(Status().rejected_versions(), ElementsAre(4));
  Load();
  EXPECT_THAT(loaded_, ElementsAre(3));
}

TEST_F(RolloutTest, ARestartWithoutTheStableFolderTellsSo) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  Restart();
  Disk({{4, 4}});
  EXPECT_THAT(Parts(), ElementsAre(4, 0, 0));
  EXPECT_THAT(Events(), ElementsAre("promoted 4 100 %"));
  EXPECT_EQ(last_reason_,
            "the folder of version 3 is gone; there is no version beside 4, which has all traffic "
            "at once");
  Restart();
  Disk({{2, 2}});
  EXPECT_THAT(Parts(), ElementsAre(2, 0, 0));
  EXPECT_THAT(Events(), ElementsAre("promoted 2 100 %"));
  EXPECT_EQ(last_reason_, "the folder of version 4 is gone; version 2 has all traffic at once");
}

TEST_F(RolloutTest, ARestartWithRejectedVersionsAloneTellsWhyNoneIsServed) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  After(1, kFail);
  EXPECT_THAT(Parts(), ElementsAre(3, 0, 0));
  Events();
  Restart();
  Disk({{4, 4}});
  EXPECT_THAT(rollout_->Wanted(), IsEmpty());
  EXPECT_THAT(Events(), ElementsAre("held 4 0 %"));
  EXPECT_EQ(last_reason_,
            "the folder of version 3 is gone; those that are there were rolled back, and none of "
            "them is served");
  EXPECT_EQ(Status().reason(), last_reason_);
  Disk({{4, 4}});
  EXPECT_THAT(Events(), IsEmpty()) << "it is told once";
  Restart();
  Disk({{4, 4}});
  EXPECT_THAT(Events(), ElementsAre("held 4 0 %")) << "and by each process";
  Disk({{4, 4}, {5, 5}});
  EXPECT_THAT(Parts(), ElementsAre(5, 0, 0));
}

TEST_F(RolloutTest, APauseOutlastsARestart) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  ASSERT_TRUE(rollout_->Pause(now_, 4).ok());
  Restart();
  Disk({{3, 3}, {4, 4}});
  EXPECT_EQ(Status().phase(), ROLLOUT_PAUSED);
  EXPECT_EQ(Status().share_percent(), 1);
}

TEST_F(RolloutTest, ACandidateThatIsLoadingIsNeitherPromotedNorPaused) {
  Disk({{3, 3}});
  rollout_->SetVersions(now_, {{3, 3}, {4, 4}});
  EXPECT_THAT(rollout_->Promote(now_, 4).message(), HasSubstr("still being loaded"));
  EXPECT_THAT(rollout_->Pause(now_, 4).message(), HasSubstr("still being loaded"));
  ASSERT_TRUE(rollout_->Rollback(now_, 4).ok());
  EXPECT_THAT(Parts(), ElementsAre(3, 0, 0));
}

TEST_F(RolloutTest, ACandidateWhoseFolderGoesIsWithdrawn) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  Events();
  Disk({{3, 3}});
  EXPECT_THAT(Events(), ElementsAre("rolled_back 4 0 %"));
  EXPECT_THAT(loaded_, ElementsAre(3));
}

TEST_F(RolloutTest, AStableVersionWhoseFolderGoesIsReplacedByThePreviousOne) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  ASSERT_TRUE(rollout_->Promote(now_, 4).ok());
  Disk({{3, 3}});
  EXPECT_THAT(Parts(), ElementsAre(3, 0, 0));
  EXPECT_THAT(loaded_, ElementsAre(3));
}

TEST_F(RolloutTest, AStableVersionIsServedOnWhenItsFolderWasCleanedAway) {
  Disk({{3, 3}});
  Disk({{4, 4}});
  EXPECT_THAT(Parts(), ElementsAre(3, 4, 0));
  EXPECT_THAT(loaded_, ElementsAre(3, 4));
  Restart();
  Disk({{4, 4}});
  EXPECT_THAT(Parts(), ElementsAre(4, 0, 0)) << "after a restart it cannot be";
}

TEST_F(RolloutTest, AHigherVersionInPlaceOfTheStableOneSupersedesTheCandidate) {
  Disk({{1, 1}});
  rollout_->SetVersions(now_, {{1, 1}, {2, 2}});
  Restart();
  Disk({{2, 2}, {3, 3}});
  EXPECT_THAT(Parts(), ElementsAre(3, 0, 0));
}

TEST_F(RolloutTest, AVersionThatBreaksWhileItServesIsTakenBack) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  Events();
  loaded_.erase(4);
  Tell(4, State::kUnloading);
  Tell(4, State::kEnd, absl::DataLossError("a page cannot be read"));
  EXPECT_THAT(Events(), ElementsAre("rolled_back 4 0 %"));
  EXPECT_EQ(last_reason_, "version 4 can no longer be served: DATA_LOSS: a page cannot be read");
  Disk({{3, 3}, {4, 4}, {5, 5}});
  ASSERT_TRUE(rollout_->Promote(now_, 5).ok());
  Events();
  loaded_.erase(5);
  Tell(5, State::kEnd, absl::DataLossError("a page cannot be read"));
  EXPECT_THAT(Events(), ElementsAre("rolled_back 5 0 %"));
  EXPECT_THAT(Parts(), ElementsAre(3, 0, 0));
}

TEST_F(RolloutTest, WithNothingToServeANewVersionTakesAllTraffic) {
  broken_ = {3};
  Disk({{3, 3}});
  Events();
  Disk({{3, 3}, {4, 4}});
  EXPECT_THAT(Events(), ElementsAre("promoted 4 100 %"));
  EXPECT_THAT(loaded_, ElementsAre(4));
}

TEST_F(RolloutTest, AModelThatWasServedBeforeBeginsWithTheVersionThatServes) {
  loaded_ = {1};
  Tell(1, State::kAvailable);
  Tell(3, State::kEnd, absl::DataLossError("torn"));
  broken_ = {3};
  rollout_->SetVersions(now_, {{1, 1}, {2, 2}, {3, 3}});
  EXPECT_THAT(Parts(), ElementsAre(1, 3, 0));
  EXPECT_THAT(rollout_->Wanted(), ElementsAre(1)) << "the manager keeps what is wanted all along";
  EXPECT_TRUE(rollout_->NeedsTime());
  rollout_->LoadAgain(now_);
  Load();
  EXPECT_THAT(Events(), ElementsAre("promoted 1 100 %", "started 3 0 %", "rolled_back 3 0 %"));
  Disk({{1, 1}, {2, 2}, {3, 3}, {4, 4}});
  EXPECT_THAT(Events(), ElementsAre("started 4 0 %", "step 4 1 %"));
}

TEST_F(RolloutTest, AVersionThatFailedIsStableOnlyIfThereIsNoOther) {
  Tell(3, State::kEnd, absl::DataLossError("torn"));
  rollout_->SetVersions(now_, {{1, 1}, {2, 2}, {3, 3}});
  EXPECT_THAT(Parts(), ElementsAre(2, 3, 0));
  rollout_.emplace("m", config_, RolloutState::Model());
  Tell(3, State::kEnd, absl::DataLossError("torn"));
  rollout_->SetVersions(now_, {{3, 3}});
  EXPECT_THAT(Parts(), ElementsAre(3, 0, 0));
}

TEST_F(RolloutTest, ReasonsAreUtf8) {
  Disk({{3, 3}});
  rollout_->SetVersions(now_, {{3, 3}, {4, 4}});
  Tell(4, State::kStart);
  Tell(4, State::kEnd, absl::DataLossError("no op '\xff\xc3\xa4\xc3'"));
  const std::string reason =
      "version 4 was not loaded: DATA_LOSS: no op '\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd'";
  EXPECT_EQ(Status().reason(), reason);
  EXPECT_EQ(rollout_->saved().rejected(0).reason(), reason);
  EXPECT_EQ(rollout_->TakeEvents().back().reason(), reason);
}

TEST_F(RolloutTest, ThePreviousVersionMakesRoomForTheCandidate) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  ASSERT_TRUE(rollout_->Promote(now_, 4).ok());
  rollout_->SetVersions(now_, {{3, 3}, {4, 4}, {5, 5}});
  ASSERT_THAT(rollout_->Wanted(), ElementsAre(3, 4, 5));
  Tell(5, State::kStart);
  Tell(5, State::kEnd, absl::ResourceExhaustedError("memory_limit"));
  EXPECT_THAT(rollout_->Wanted(), ElementsAre(4)) << "it is loaded once the room is there";
  Load();
  EXPECT_THAT(loaded_, ElementsAre(4, 5));
  EXPECT_THAT(Parts(), ElementsAre(4, 5, 0));
}

TEST_F(RolloutTest, ThePreviousVersionMakesRoomAfterTheFirstTry) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  ASSERT_TRUE(rollout_->Promote(now_, 4).ok());
  rollout_->SetVersions(now_, {{3, 3}, {4, 4}, {5, 5}});
  Tell(5, State::kStart);
  EXPECT_THAT(rollout_->Wanted(), ElementsAre(3, 4, 5));
  Tell(5, State::kStart, absl::ResourceExhaustedError("memory_limit"));
  EXPECT_THAT(rollout_->Wanted(), ElementsAre(4));
  Tell(5, State::kEnd, absl::ResourceExhaustedError("memory_limit"));
  Load();
  EXPECT_THAT(loaded_, ElementsAre(4, 5));
  EXPECT_THAT(Parts(), ElementsAre(4, 5, 0));
}

TEST_F(RolloutTest, ACandidateThatLacksMemoryIsLoadedAgainLater) {
  Disk({{3, 3}});
  rollout_->SetVersions(now_, {{3, 3}, {4, 4}});
  Events();
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(rollout_->Wanted(), ElementsAre(3, 4));
    Tell(4, State::kStart);
    Tell(4, State::kEnd, absl::ResourceExhaustedError("memory_limit"));
    EXPECT_THAT(rollout_->Wanted(), ElementsAre(3));
    EXPECT_THAT(Parts(), ElementsAre(3, 4, 0)) << "it is not rejected";
    EXPECT_TRUE(rollout_->NeedsTime());
    rollout_->LoadAgain(now_ += Rollout::kMemoryRetryInterval - absl::Seconds(1));
    EXPECT_THAT(rollout_->Wanted(), ElementsAre(3));
    rollout_->LoadAgain(now_ += absl::Seconds(1));
  }
  EXPECT_THAT(Events(), ElementsAre("held 4 0 %")) << "told once";
  EXPECT_THAT(last_reason_, HasSubstr("memory_limit"));
  // A higher version takes its place while it waits.
  Tell(4, State::kStart);
  Tell(4, State::kEnd, absl::ResourceExhaustedError("memory_limit"));
  rollout_->SetVersions(now_, {{3, 3}, {4, 4}, {5, 5}});
  EXPECT_THAT(rollout_->Wanted(), ElementsAre(3, 5));
  Load();
  EXPECT_THAT(Events(), ElementsAre("superseded 4 0 %", "started 5 0 %", "step 5 1 %"));
}

TEST_F(RolloutTest, AModelThatIsNotServedKeepsWhatWasDecided) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  Events();
  rollout_->SetVersions(now_, {});
  EXPECT_THAT(rollout_->Wanted(), IsEmpty());
  Tell(4, State::kEnd, absl::CancelledError("the load was given up"));
  EXPECT_THAT(Events(), IsEmpty()) << "that says nothing about the version";
  Tell(3, State::kEnd);
  loaded_.clear();
  Disk({{3, 3}, {4, 4}});
  EXPECT_THAT(Events(), ElementsAre("step 4 1 %"));
}

TEST_F(RolloutTest, OnlyRejectedVersionsAreNotServed) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  After(1, kFail);
  Restart();
  Disk({{4, 4}});
  EXPECT_THAT(loaded_, IsEmpty());
  EXPECT_EQ(rollout_->route().stable, 0);
}

TEST_F(RolloutTest, FewerStepsAfterAReloadEndAtTheLast) {
  Disk({{3, 3}});
  Disk({{3, 3}, {4, 4}});
  After(10, kPass);
  After(20, kPass);
  rollout_->SetConfig(ConfigOf({{2, 10}, {100, 10}}));
  EXPECT_EQ(Status().share_percent(), 100);
  After(10, kPass);
  EXPECT_THAT(Parts(), ElementsAre(4, 0, 3));
}

TEST_F(RolloutTest, RememberedRejectionsAreLimited) {
  Disk({{1, 1}});
  for (int64_t version = 2; version < 150; ++version) {
    Disk({{1, 1}, {version, 1}});
    After(1, kFail);
  }
  EXPECT_EQ(Status().rejected_versions_size(), 100);
  EXPECT_EQ(Status().rejected_versions(99), 149);
}

}  // namespace
}  // namespace tessera::serving
