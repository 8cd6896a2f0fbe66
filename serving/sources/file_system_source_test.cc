#include "serving/sources/file_system_source.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "serving/core/testing/wait_until.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class FileSystemSourceTest : public ::testing::Test {
 protected:
  FileSystemSourceTest() {
    std::string pattern = JoinPath(::testing::TempDir(), "source_XXXXXX");
    root_ = mkdtemp(pattern.data());
  }
  ~FileSystemSourceTest() override { fs::remove_all(root_); }

  void MakeVersion(const std::string& path) { fs::create_directories(root_ / path); }
  // Makes one that is complete, by a rename that its times show.
  void MakeFinished(const std::string& path) {
    MakeVersion(path + ".tmp");
    absl::SleepFor(absl::Milliseconds(20));
    fs::rename(root_ / (path + ".tmp"), root_ / path);
  }
  std::string Path(const std::string& path) const { return (root_ / path).string(); }

  fs::path root_;
};

// The versions last told for each name, and how often.
class Recorder : public Target<std::string> {
 public:
  void SetAspiredVersions(absl::string_view name, AspiredVersions<std::string> versions) override {
    absl::MutexLock lock(&mu_);
    std::map<int64_t, std::string>& told = told_[std::string(name)];
    told.clear();
    for (const auto& version : versions) {
      told[version.id.version] = fs::path(*version.data).filename();
      revisions_[version.id.version] = version.revision;
    }
    ++calls_;
  }
  std::map<int64_t, std::string> Told(const std::string& name) {
    absl::MutexLock lock(&mu_);
    return told_[name];
  }
  bool AwaitVersions(const std::string& name, size_t count) {
    return WaitUntil([&] { return Told(name).size() == count; });
  }
  uint64_t RevisionOf(int64_t version) {
    absl::MutexLock lock(&mu_);
    return revisions_[version];
  }
  int calls() {
    absl::MutexLock lock(&mu_);
    return calls_;
  }

 private:
  absl::Mutex mu_;
  std::map<std::string, std::map<int64_t, std::string>> told_;
  std::map<int64_t, uint64_t> revisions_;
  int calls_ = 0;
};

absl::StatusOr<std::map<int64_t, std::string>> Find(const MonitoredServable& servable) {
  return FindVersions(servable, [](int64_t, const std::string&) { return true; });
}

// Takes folders as they appear.
FileSystemSource::Options AtOnce(absl::Duration poll_interval) {
  return {.poll_interval = poll_interval, .settle_time = absl::ZeroDuration()};
}

VersionChoice All() { return {.kind = VersionChoice::Kind::kAll}; }
VersionChoice Latest(int64_t n) { return {.num_latest = n}; }
VersionChoice Specific(std::vector<int64_t> versions) {
  return {.kind = VersionChoice::Kind::kSpecific, .specific = std::move(versions)};
}

TEST_F(FileSystemSourceTest, OnlyNamesThatReadAsNumbersCount) {
  for (const char* name : {"m/00000123", "m/8.denied", "m/2.tmp", "m/1_0", "m/0x10", "m/-3",
                           "m/+11", "m/ 9", "m/0", "m/99999999999999999999", "m/model"}) {
    MakeVersion(name);
  }
  std::ofstream(Path("m/77")) << "a file";
  fs::create_symlink(Path("m/0"), Path("m/5"));
  auto versions = Find({"m", Path("m"), All()});
  ASSERT_TRUE(versions.ok());
  std::vector<int64_t> numbers;
  for (const auto& [number, path] : *versions) numbers.push_back(number);
  EXPECT_THAT(numbers, ElementsAre(-3, 0, 5, 9, 11, 77, 123));
  EXPECT_EQ(versions->at(123), Path("m/00000123"));
}

TEST_F(FileSystemSourceTest, OfTwoNamesForOneNumberTheLastCounts) {
  MakeVersion("m/007");
  MakeVersion("m/7");
  auto versions = Find({"m", Path("m"), All()});
  EXPECT_THAT(*versions, ElementsAre(Pair(7, Path("m/7"))));
}

TEST_F(FileSystemSourceTest, PoliciesChoose) {
  for (const char* name : {"m/1", "m/2", "m/10", "m/0004"}) MakeVersion(name);
  EXPECT_EQ(Find({"m", Path("m"), Latest(1)})->size(), 1);
  EXPECT_EQ(Find({"m", Path("m"), Latest(1)})->begin()->first, 10);
  EXPECT_EQ(Find({"m", Path("m"), Latest(2)})->begin()->first, 4);
  EXPECT_EQ(Find({"m", Path("m"), Latest(9)})->size(), 4);
  EXPECT_THAT(*Find({"m", Path("m"), Specific({4, 2, 3})}),
              ElementsAre(Pair(2, Path("m/2")), Pair(4, Path("m/0004"))));
  EXPECT_THAT(*Find({"m", Path("m"), Specific({})}), IsEmpty());
}

TEST_F(FileSystemSourceTest, IncompleteVersionsAreNotChosen) {
  for (const char* name : {"m/1", "m/2", "m/3"}) MakeVersion(name);
  auto complete = [](int64_t number, const std::string&) { return number != 3; };
  EXPECT_THAT(*FindVersions({"m", Path("m"), Latest(1)}, complete),
              ElementsAre(Pair(2, Path("m/2"))));
  EXPECT_EQ(FindVersions({"m", Path("m"), All()}, complete)->size(), 2);
  EXPECT_THAT(*FindVersions({"m", Path("m"), Specific({3})}, complete), IsEmpty());
}

TEST_F(FileSystemSourceTest, MissingBasePathIsAnError) {
  EXPECT_EQ(Find({"m", Path("nowhere"), Latest(1)}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(Find({"m", Path("nowhere"), Specific({1})}).ok());
}

TEST_F(FileSystemSourceTest, TellsVersionsAsTheyAppearAndVanish) {
  MakeVersion("m/1");
  Recorder recorder;
  FileSystemSource source(AtOnce(absl::Milliseconds(5)));
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m"), All()}});
  EXPECT_THAT(recorder.Told("m"), ElementsAre(Pair(1, "1"))) << "before SetServables() returns";
  MakeVersion("m/2");
  EXPECT_TRUE(recorder.AwaitVersions("m", 2));
  fs::remove_all(Path("m/1"));
  EXPECT_TRUE(recorder.AwaitVersions("m", 1));
  fs::remove_all(Path("m/2"));
  EXPECT_TRUE(recorder.AwaitVersions("m", 0)) << "an empty base path unloads all";
}

TEST_F(FileSystemSourceTest, VanishedBasePathAffectsOnlyItsOwnModelAndUnloadsNothing) {
  MakeVersion("a/1");
  MakeVersion("b/1");
  Recorder recorder;
  FileSystemSource source(AtOnce(absl::Milliseconds(5)));
  source.ConnectTo(&recorder);
  source.SetServables({{"a", Path("a"), All()}, {"b", Path("b"), All()}});
  fs::rename(Path("a"), Path("gone"));  // at once: one that is empty unloads
  MakeVersion("b/2");
  EXPECT_TRUE(recorder.AwaitVersions("b", 2));
  EXPECT_EQ(recorder.Told("a").size(), 1);
}

TEST_F(FileSystemSourceTest, ServablesLeftOutAreUnaspiredAtOnce) {
  MakeVersion("a/1");
  MakeVersion("b/1");
  Recorder recorder;
  FileSystemSource source(AtOnce(absl::ZeroDuration()));
  source.ConnectTo(&recorder);
  source.SetServables({{"a", Path("a"), All()}, {"b", Path("b"), All()}});
  source.SetServables({{"b", Path("b"), All()}});
  EXPECT_THAT(recorder.Told("a"), IsEmpty());
  EXPECT_EQ(recorder.Told("b").size(), 1);
}

TEST_F(FileSystemSourceTest, TellsTheVersionsOfAChangedServableAgain) {
  MakeVersion("m/1");
  Recorder recorder;
  FileSystemSource source(AtOnce(absl::ZeroDuration()));
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m"), All(), /*has_gate=*/true}});
  source.SetServables({{"m", Path("m"), All(), /*has_gate=*/true}});
  EXPECT_EQ(recorder.calls(), 1);
  source.SetServables({{"m", Path("m"), All()}});
  EXPECT_EQ(recorder.calls(), 2);
  source.SetServables({{"m", Path("m"), Latest(1)}});
  EXPECT_EQ(recorder.calls(), 3);
  EXPECT_THAT(recorder.Told("m"), ElementsAre(Pair(1, "1")));
}

TEST_F(FileSystemSourceTest, TellsNothingWhileNothingChanges) {
  MakeVersion("a/1");
  Recorder recorder;
  FileSystemSource source(AtOnce(absl::Milliseconds(1)));
  source.ConnectTo(&recorder);
  source.SetServables({{"a", Path("a"), All()}});
  absl::SleepFor(absl::Milliseconds(30));
  EXPECT_EQ(recorder.calls(), 1);
}

TEST_F(FileSystemSourceTest, ZeroIntervalLooksOnlyWhenConfigured) {
  MakeVersion("a/1");
  Recorder recorder;
  FileSystemSource source(AtOnce(absl::ZeroDuration()));
  source.ConnectTo(&recorder);
  source.SetServables({{"a", Path("a"), All()}});
  MakeVersion("a/2");
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_EQ(recorder.Told("a").size(), 1);
  source.SetServables({{"a", Path("a"), All()}});
  EXPECT_EQ(recorder.Told("a").size(), 2);
}

TEST_F(FileSystemSourceTest, FolderThatIsStillWrittenIsNotTaken) {
  MakeVersion("m/1");
  Recorder recorder;
  FileSystemSource source(
      {.poll_interval = absl::Milliseconds(5), .settle_time = absl::Seconds(1)});
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m"), Latest(1)}});
  ASSERT_TRUE(recorder.AwaitVersions("m", 1));
  MakeVersion("m/2");
  for (int i = 0; i < 80; ++i) {
    const absl::Time before = absl::Now();
    std::ofstream(Path("m/2/data"), std::ios::app) << "more";
    absl::SleepFor(absl::Milliseconds(20));
    const auto told = recorder.Told("m");
    // A machine that holds this thread up for the settle time makes the folder quiet.
    if (absl::Now() - before >= absl::Seconds(1)) break;
    EXPECT_THAT(told, ElementsAre(Pair(1, "1")));
  }
  ASSERT_TRUE(WaitUntil([&] { return recorder.Told("m").count(2) > 0; }));
  EXPECT_THAT(recorder.Told("m"), ElementsAre(Pair(2, "2"))) << "once it is quiet";
}

TEST_F(FileSystemSourceTest, FolderOfALaterServableWaitsForItsSettleTimeAlone) {
  MakeFinished("m/1");
  Recorder recorder;
  FileSystemSource source(
      {.poll_interval = absl::Hours(1), .settle_time = absl::Milliseconds(200)});
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m")}});
  ASSERT_TRUE(recorder.AwaitVersions("m", 1));
  MakeVersion("later/1");
  source.SetServables({{"m", Path("m")}, {"later", Path("later")}});
  EXPECT_TRUE(recorder.AwaitVersions("later", 1));
}

TEST_F(FileSystemSourceTest, FolderRenamedIntoPlaceIsTakenAtOnce) {
  MakeFinished("m/2");
  Recorder recorder;
  FileSystemSource source({.poll_interval = absl::Hours(1), .settle_time = absl::Hours(1)});
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m"), All()}});
  EXPECT_EQ(recorder.Told("m").size(), 1);
}

// Without a pause, so that all times may lie in one tick of the file system's clock.
TEST_F(FileSystemSourceTest, FolderSeenToBeRenamedIsTakenAtOnceHoweverYoung) {
  MakeVersion("m");
  Recorder recorder;
  FileSystemSource source({.poll_interval = absl::Milliseconds(5), .settle_time = absl::Hours(1)});
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m"), All()}});
  for (size_t i = 1; i <= 20; ++i) {
    MakeVersion("m/tmp");
    std::ofstream(Path("m/tmp/data")) << "all";
    fs::rename(Path("m/tmp"), Path("m/" + std::to_string(i)));
    ASSERT_TRUE(recorder.AwaitVersions("m", i));
  }
}

TEST_F(FileSystemSourceTest, FolderWhoseFilesTellThatTheyAreWholeNeedsNoSettleTime) {
  const auto write = [this](const std::string& text) {
    std::ofstream(Path("m/1/data"), std::ios::app) << text;
  };
  MakeVersion("m/1");
  write("part");
  Recorder recorder;
  FileSystemSource source({.poll_interval = absl::Milliseconds(5),
                           .settle_time = absl::Seconds(20),
                           .is_whole = [](const std::string& path) {
                             return *ReadFile(JoinPath(path, "data")) == "part and rest";
                           }});
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m"), All()}});
  EXPECT_THAT(recorder.Told("m"), IsEmpty());
  EXPECT_THAT(source.OutlookOf("m").settling, ElementsAre(1));
  write(" and rest");
  EXPECT_TRUE(recorder.AwaitVersions("m", 1));
  EXPECT_THAT(source.OutlookOf("m").settling, IsEmpty());
}

// At a start, version 1 may be what version 2 is to replace.
TEST_F(FileSystemSourceTest, LowerVersionsAreHeldBackWhileALatestOneIsOnItsWay) {
  MakeFinished("m/1");
  MakeVersion("m/2");
  Recorder recorder;
  FileSystemSource source({.poll_interval = absl::Milliseconds(5)});
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m"), Latest(1)}, {"all", Path("m"), All()}});
  EXPECT_THAT(recorder.Told("m"), IsEmpty());
  EXPECT_THAT(recorder.Told("all"), ElementsAre(Pair(1, "1")));
  EXPECT_THAT(source.OutlookOf("m").settling, ElementsAre(2));
  ASSERT_TRUE(recorder.AwaitVersions("m", 1));
  EXPECT_THAT(recorder.Told("m"), ElementsAre(Pair(2, "2")));
}

TEST_F(FileSystemSourceTest, VersionsAreNotHeldBackForACopyThatTakesLong) {
  MakeFinished("m/1");
  MakeVersion("m/2");
  Recorder recorder;
  FileSystemSource source({.poll_interval = absl::Hours(1),
                           .settle_time = absl::Hours(1),
                           .hold_back = absl::Milliseconds(200)});
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m"), Latest(1)}});
  EXPECT_TRUE(recorder.AwaitVersions("m", 1)) << "without waiting for the next poll";
  EXPECT_THAT(recorder.Told("m"), ElementsAre(Pair(1, "1")));
}

TEST_F(FileSystemSourceTest, AVersionWithoutItsMarkerHoldsNothingBack) {
  MakeVersion("m/1");
  std::ofstream(Path("m/1/_SUCCESS")) << "";
  MakeVersion("m/2");
  Recorder recorder;
  MakeVersion("late/1");
  FileSystemSource source({.poll_interval = absl::Hours(1), .marker_file = "_SUCCESS"});
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m"), Latest(1)}});
  EXPECT_THAT(recorder.Told("m"), ElementsAre(Pair(1, "1")));
  EXPECT_THAT(source.OutlookOf("m").settling, IsEmpty());
  EXPECT_EQ(source.OutlookOf("m").problem, "");
  source.SetServables({{"m", Path("m"), Latest(1)}, {"late", Path("late")}});
  EXPECT_EQ(source.OutlookOf("late").problem, Path("late/1") + " has no file '_SUCCESS' yet");
}

TEST_F(FileSystemSourceTest, TellsWhyThereIsNoVersion) {
  MakeVersion("empty");
  for (const char* path : {"m/7", "n"}) {
    MakeVersion(path);
    std::ofstream(Path(std::string(path) + "/saved_model.pb")) << "";
  }
  Recorder recorder;
  FileSystemSource source(AtOnce(absl::ZeroDuration()));
  source.ConnectTo(&recorder);
  source.SetServables({{"empty", Path("empty")},
                       {"version", Path("m/7/")},
                       {"model", Path("n")},
                       {"missing", Path("nowhere")}});
  const auto problem = [&](const char* name) { return source.OutlookOf(name).problem; };
  EXPECT_THAT(problem("empty"), HasSubstr("no version to serve below " + Path("empty")));
  EXPECT_THAT(problem("version"), HasSubstr("name the folder that it is in, " + Path("m")));
  EXPECT_THAT(problem("model"), HasSubstr("such as " + Path("n/1")));
  EXPECT_THAT(problem("missing"), HasSubstr("NOT_FOUND"));
}

TEST_F(FileSystemSourceTest, OldVersionStaysWhileTheOnlyOtherIsWritten) {
  MakeVersion("m/1");
  Recorder recorder;
  FileSystemSource source(
      {.poll_interval = absl::Milliseconds(5), .settle_time = absl::Milliseconds(200)});
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m"), Latest(1)}});
  ASSERT_TRUE(recorder.AwaitVersions("m", 1));
  MakeVersion("m/2");
  fs::remove_all(Path("m/1"));
  while (recorder.Told("m").count(2) == 0) {
    EXPECT_EQ(recorder.Told("m").size(), 1);
    absl::SleepFor(absl::Milliseconds(5));
  }
}

TEST_F(FileSystemSourceTest, MarkerFileMakesAVersionComplete) {
  MakeVersion("m/1");
  Recorder recorder;
  FileSystemSource source({.poll_interval = absl::Milliseconds(5), .marker_file = "_SUCCESS"});
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m"), Latest(1)}});
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_THAT(recorder.Told("m"), IsEmpty());
  std::ofstream(Path("m/1/_SUCCESS")) << "";
  EXPECT_TRUE(recorder.AwaitVersions("m", 1));
}

TEST_F(FileSystemSourceTest, ChangedFolderIsToldWithAnotherRevision) {
  MakeVersion("m/1");
  Recorder recorder;
  FileSystemSource source(AtOnce(absl::Milliseconds(5)));
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("m"), All()}});
  const uint64_t before = recorder.RevisionOf(1);
  std::ofstream(Path("m/1/data")) << "repaired";
  EXPECT_TRUE(WaitUntil([&] { return recorder.RevisionOf(1) != before; }));
}

// The folder of a training job.
class CheckpointFolderTest : public FileSystemSourceTest {
 protected:
  CheckpointFolderTest() { MakeVersion("run/graph"); }

  void Save(const std::string& name) {
    for (const char* suffix : {".data-00000-of-00001", ".index"}) {
      std::ofstream(Path("run/" + name + suffix)) << name;
    }
  }
  // Replaces the state file as savers do.
  void WriteState(const std::string& latest, std::vector<std::string> all = {}) {
    std::string text = "model_checkpoint_path: '" + latest + "'\n";
    for (const std::string& name : all) text += "all_model_checkpoint_paths: '" + name + "'\n";
    ASSERT_TRUE(WriteFileAtomically(Path("run/checkpoint"), text).ok());
  }
  absl::StatusOr<std::map<int64_t, std::string>> FindCheckpoints() {
    return Find({"m", Path("run"), All()});
  }
};

TEST_F(CheckpointFolderTest, TheStateNamesTheVersions) {
  EXPECT_THAT(*FindCheckpoints(), IsEmpty()) << "the job has not saved yet";
  Save("ckpt-8");
  Save("model.ckpt-17");
  Save("ckpt-99");
  WriteState("/home/trainer/run/model.ckpt-17", {"ckpt-3", "ckpt-8", "model.ckpt-17"});
  EXPECT_THAT(*FindCheckpoints(),
              ElementsAre(Pair(8, Path("run/ckpt-8")), Pair(17, Path("run/model.ckpt-17"))))
      << "3 was deleted, 99 is not named";
}

TEST_F(CheckpointFolderTest, AJobThatWasSetBackHasNoLaterVersions) {
  for (const char* name : {"ckpt-50", "ckpt-60", "ckpt-100"}) Save(name);
  WriteState("ckpt-60", {"ckpt-50", "ckpt-100", "ckpt-60"});
  EXPECT_THAT(*Find({"m", Path("run"), Latest(1)}), ElementsAre(Pair(60, Path("run/ckpt-60"))));
}

TEST_F(CheckpointFolderTest, WithoutAGraphTheFolderIsLikeAnyOther) {
  fs::remove(Path("run/graph"));
  Save("ckpt-8");
  WriteState("ckpt-8");
  MakeVersion("run/3");
  EXPECT_THAT(*FindCheckpoints(), ElementsAre(Pair(3, Path("run/3"))));
}

TEST_F(CheckpointFolderTest, StatesThatNameNoVersion) {
  Save("best");
  WriteState("best");
  EXPECT_EQ(FindCheckpoints().status().code(), absl::StatusCode::kFailedPrecondition);
  std::ofstream(Path("run/checkpoint")) << "model_checkpoint_pa";
  EXPECT_EQ(FindCheckpoints().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(CheckpointFolderTest, EachLatestCheckpointIsToldAtOnceAndStaysWhileTheStateIsDamaged) {
  Save("ckpt-1");
  WriteState("ckpt-1");
  Recorder recorder;
  FileSystemSource source({.poll_interval = absl::Milliseconds(5),
                           .settle_time = absl::Hours(1),
                           .marker_file = "_SUCCESS"});
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("run"), Latest(1)}});
  EXPECT_THAT(recorder.Told("m"), ElementsAre(Pair(1, "ckpt-1")));
  Save("ckpt-2");
  std::ofstream(Path("run/checkpoint")) << "model_checkpoint_pa";
  absl::SleepFor(absl::Milliseconds(30));
  EXPECT_THAT(recorder.Told("m"), ElementsAre(Pair(1, "ckpt-1")));
  WriteState("ckpt-2", {"ckpt-1", "ckpt-2"});
  while (recorder.Told("m").count(2) == 0) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_THAT(recorder.Told("m"), ElementsAre(Pair(2, "ckpt-2")));
}

TEST_F(CheckpointFolderTest, ACheckpointThatIsStillWrittenIsNotTaken) {
  Save("ckpt-1");
  WriteState("ckpt-1");
  Recorder recorder;
  FileSystemSource source({.poll_interval = absl::Milliseconds(5), .settle_time = absl::Hours(1)});
  source.ConnectTo(&recorder);
  source.SetServables({{"m", Path("run"), Latest(1)}});
  WriteState("ckpt-2", {"ckpt-1", "ckpt-2"});
  absl::SleepFor(absl::Milliseconds(20));
  Save("ckpt-2");  // after the state, as a copy of the folder may have it
  absl::SleepFor(absl::Milliseconds(30));
  EXPECT_THAT(recorder.Told("m"), ElementsAre(Pair(1, "ckpt-1")));
}

TEST_F(FileSystemSourceTest, StopsLookingWithoutWaitingForALookUnderWay) {
  // Told of the second version, it does not return.
  class Hanging : public Target<std::string> {
   public:
    void SetAspiredVersions(absl::string_view, AspiredVersions<std::string>) override {
      if (++calls == 2) release.WaitForNotification();
    }
    std::atomic<int> calls{0};
    absl::Notification release;
  } hanging;
  MakeVersion("m/1");
  FileSystemSource source(AtOnce(absl::Milliseconds(5)));
  source.ConnectTo(&hanging);
  source.SetServables({{"m", Path("m"), All()}});
  MakeVersion("m/2");
  while (hanging.calls < 2) absl::SleepFor(absl::Milliseconds(1));
  source.StopLooking();
  MakeVersion("m/3");
  hanging.release.Notify();
  source.SetServables({{"m", Path("m"), All()}});
  EXPECT_EQ(hanging.calls, 2);
}

TEST_F(FileSystemSourceTest, BasePathThatReturnsIsWatchedAgain) {
  MakeVersion("a/1");
  Recorder recorder;
  FileSystemSource source(AtOnce(absl::Milliseconds(5)));
  source.ConnectTo(&recorder);
  source.SetServables({{"a", Path("a"), All()}});
  fs::rename(Path("a"), Path("away"));
  absl::SleepFor(absl::Milliseconds(30));
  EXPECT_EQ(recorder.Told("a").size(), 1);
  MakeVersion("away/2");
  fs::rename(Path("away"), Path("a"));
  EXPECT_TRUE(recorder.AwaitVersions("a", 2));
}

}  // namespace
}  // namespace tessera::serving
