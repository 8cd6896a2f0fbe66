#include "runtime/checkpoint/checkpoint_saver.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_state.h"
#include "runtime/checkpoint/read_tensors.h"

namespace tessera {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class CheckpointSaverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/saver_XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return JoinPath(folder_, name); }
  CheckpointSaver Open(CheckpointSaver::Options options = {}) const {
    auto saver = CheckpointSaver::Open(folder_, options);
    EXPECT_TRUE(saver.ok()) << saver.status();
    return *std::move(saver);
  }
  static void Save(CheckpointSaver& saver, int64_t step) {
    const SavedTensor tensor{"w", Tensor::Scalar(static_cast<float>(step))};
    const auto prefix = saver.Save(step, {tensor}, "");
    ASSERT_TRUE(prefix.ok()) << prefix.status();
  }
  static float ReadValue(const std::string& prefix) {
    return (*CheckpointReader::Open(prefix))->Read("w")->scalar<float>();
  }
  // The checkpoints that have an index.
  std::vector<std::string> There() const {
    std::vector<std::string> names;
    const auto checkpoints = ListCheckpoints(folder_);
    for (const auto& [name, files] : *checkpoints) {
      if (files.has_index) names.push_back(name);
    }
    return names;
  }

  std::string folder_;
};

TEST_F(CheckpointSaverTest, KeepsTheNewestAndTellsWhichThereAre) {
  CheckpointSaver saver = Open({.max_to_keep = 2});
  EXPECT_FALSE(saver.Latest().has_value());
  for (int64_t step : {5, 10, 9, 100}) Save(saver, step);
  EXPECT_THAT(There(), UnorderedElementsAre("ckpt-9", "ckpt-100"));
  EXPECT_EQ(saver.Latest()->step, 100);
  EXPECT_EQ(saver.Latest()->prefix, Path("ckpt-100"));
  const auto state = ReadCheckpointState(folder_);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->latest, "ckpt-100");
  EXPECT_THAT(state->all, ElementsAre("ckpt-9", "ckpt-100"));
  EXPECT_EQ(state->timestamps.size(), 2);
}

TEST_F(CheckpointSaverTest, AnotherSaverGoesOn) {
  {
    CheckpointSaver saver = Open({.max_to_keep = 2});
    for (int64_t step : {1, 2}) Save(saver, step);
  }
  CheckpointSaver saver = Open({.max_to_keep = 2});
  EXPECT_EQ(saver.Latest()->step, 2);
  Save(saver, 3);
  EXPECT_THAT(There(), UnorderedElementsAre("ckpt-2", "ckpt-3"));
}

TEST_F(CheckpointSaverTest, OneIsKeptForGoodEveryFewHours) {
  absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  CheckpointSaver saver =
      Open({.max_to_keep = 1, .keep_every_hours = 2, .now = [&now] { return now; }});
  for (int64_t hour = 1; hour <= 8; ++hour) {
    now += absl::Hours(1);
    Save(saver, hour);
  }
  EXPECT_THAT(There(), UnorderedElementsAre("ckpt-2", "ckpt-4", "ckpt-6", "ckpt-8"));
  EXPECT_THAT(ReadCheckpointState(folder_)->all, ElementsAre("ckpt-8"));
}

TEST_F(CheckpointSaverTest, TheSameStepIsReplaced) {
  CheckpointSaver saver = Open();
  for (float value : {1.0f, 2.0f, 3.0f}) {
    ASSERT_TRUE(saver.Save(7, {SavedTensor{"w", Tensor::Scalar(value)}}, "").ok());
    EXPECT_EQ(ReadValue(Path("ckpt-7")), value);
    EXPECT_EQ((*ListCheckpoints(folder_))["ckpt-7"].data.size(), 1);
  }
  EXPECT_THAT(ReadCheckpointState(folder_)->all, ElementsAre("ckpt-7"));
}

TEST_F(CheckpointSaverTest, LeftoversOfADeadWriterAreRemoved) {
  {
    CheckpointSaver saver = Open();
    Save(saver, 1);
  }
  for (const char* name : {"ckpt-2.data-00000-of-00002", "ckpt-2.data-00001-of-00002.tmp.17.3",
                           "ckpt-1.data-00000-of-00002", "ckpt-3.index.tmp.17.4"}) {
    ASSERT_TRUE(WriteFileAtomically(Path(name), "torn").ok());
  }
  for (const char* name : {"other-2.data-00000-of-00001", "ckpt-best.data-00000-of-00001"}) {
    ASSERT_TRUE(WriteFileAtomically(Path(name), "of somebody else").ok());
  }
  CheckpointSaver saver = Open();
  EXPECT_THAT(*ListDirectory(folder_),
              UnorderedElementsAre("checkpoint", "ckpt-1.data-00000-of-00001", "ckpt-1.index",
                                   "other-2.data-00000-of-00001", "ckpt-best.data-00000-of-00001"));
  EXPECT_EQ(ReadValue(saver.Latest()->prefix), 1);
}

TEST_F(CheckpointSaverTest, CheckpointsThatTheStateDoesNotNameAreFound) {
  {
    CheckpointSaver saver = Open();
    for (int64_t step : {1, 2, 10}) Save(saver, step);
  }
  for (const char* contents : {"", "model_check", "model_checkpoint_path: \"ckpt-99\""}) {
    ASSERT_TRUE(WriteFileAtomically(Path("checkpoint"), contents).ok());
    // As new as a clock can make it.
    const struct timespec later[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = ::time(nullptr) + 10}};
    ASSERT_EQ(::utimensat(AT_FDCWD, Path("checkpoint").c_str(), later, 0), 0);
    EXPECT_EQ(Open().Latest()->step, 10) << contents;
  }
  ASSERT_TRUE(RemoveFile(Path("checkpoint")).ok());
  CheckpointSaver saver = Open({.max_to_keep = 3});
  EXPECT_EQ(saver.Latest()->step, 10);
  Save(saver, 11);
  EXPECT_THAT(There(), UnorderedElementsAre("ckpt-2", "ckpt-10", "ckpt-11"));
}

TEST_F(CheckpointSaverTest, AnOlderCheckpointCanBeChosenInTheState) {
  {
    CheckpointSaver saver = Open();
    for (int64_t step : {1, 2}) Save(saver, step);
  }
  ASSERT_TRUE(WriteFileAtomically(Path("checkpoint"), "model_checkpoint_path: \"ckpt-1\"").ok());
  // The file is newer than both checkpoints, whatever the clock of the file system does.
  const struct timespec later[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = ::time(nullptr) + 10}};
  ASSERT_EQ(::utimensat(AT_FDCWD, Path("checkpoint").c_str(), later, 0), 0);
  EXPECT_EQ(Open().Latest()->step, 1);
}

TEST_F(CheckpointSaverTest, WhatACopyMakesYoungerThanTheStateIsNoLaterCheckpoint) {
  {
    CheckpointSaver saver = Open();
    for (int64_t step : {1, 2, 3}) Save(saver, step);
  }
  ASSERT_TRUE(WriteFileAtomically(Path("checkpoint"), "model_checkpoint_path: \"ckpt-2\"").ok());
  const auto touch = [&](const std::string& name, int seconds_from_now) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      {.tv_sec = ::time(nullptr) + seconds_from_now}};
    ASSERT_EQ(::utimensat(AT_FDCWD, Path(name).c_str(), times, 0), 0);
  };
  touch("checkpoint", 10);
  touch("ckpt-1.index", 20);
  EXPECT_EQ(Open().Latest()->step, 2);
  touch("ckpt-3.index", 20);
  EXPECT_EQ(Open().Latest()->step, 3) << "its writer died before it could name it";
}

TEST_F(CheckpointSaverTest, ZerosMayBeHoles) {
  const SavedTensor zeros{"zeros", Tensor::Zeros(DType::kFloat, {1 << 18}).value()};
  const auto make_hole = [&](const std::string& name) {
    const std::string path = Path(name + ".data-00000-of-00001");
    const auto size = static_cast<off_t>(ReadFile(path)->size());
    ASSERT_EQ(::truncate(path.c_str(), 0), 0);
    ASSERT_EQ(::truncate(path.c_str(), size), 0);
  };
  CheckpointSaver saver = Open();
  Save(saver, 1);
  ASSERT_TRUE(saver.Save(2, {zeros}, "").ok());
  make_hole("ckpt-2");
  EXPECT_EQ(saver.Latest()->step, 2);
  // What was not zero is lost.
  ASSERT_TRUE(saver.Save(3, {{"one", Tensor::Scalar(1.0f)}, zeros}, "").ok());
  make_hole("ckpt-3");
  EXPECT_EQ(saver.Latest()->step, 2);
}

TEST_F(CheckpointSaverTest, ACheckpointWithoutItsDataIsPassedOver) {
  CheckpointSaver saver = Open();
  for (int64_t step : {1, 2}) Save(saver, step);
  ASSERT_TRUE(RemoveFile(Path("ckpt-2.data-00000-of-00001")).ok());
  EXPECT_EQ(saver.Latest()->step, 1);
  EXPECT_EQ(Open().Latest()->step, 1);
  EXPECT_EQ(saver.CheckLatest().code(), absl::StatusCode::kNotFound);
}

TEST_F(CheckpointSaverTest, DamagedCheckpointsAreToldFromNone) {
  CheckpointSaver saver = Open();
  EXPECT_TRUE(saver.CheckLatest().ok());
  Save(saver, 1);
  EXPECT_TRUE(saver.CheckLatest().ok());
  ASSERT_TRUE(WriteFileAtomically(Path("ckpt-1.index"), "no table").ok());
  EXPECT_FALSE(saver.Latest().has_value());
  EXPECT_EQ(saver.CheckLatest().code(), absl::StatusCode::kDataLoss);
}

TEST_F(CheckpointSaverTest, AFailedSaveLeavesAllAsItWas) {
  CheckpointSaver saver = Open({.max_to_keep = 1});
  Save(saver, 1);
  // What a full disk does, for this process alone: writes beyond a megabyte fail.
  ::signal(SIGXFSZ, SIG_IGN);
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit limit = {1 << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto large = Tensor::Allocate(DType::kFloat, *Shape::Make({4 << 20}));
  const auto status = saver.Save(2, {SavedTensor{"w", *large}}, "").status();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("ckpt-2.data-00000-of-00001"));
  EXPECT_THAT(*ListDirectory(folder_),
              UnorderedElementsAre("checkpoint", "ckpt-1.index", "ckpt-1.data-00000-of-00001"));
  EXPECT_EQ(ReadValue(saver.Latest()->prefix), 1);
  Save(saver, 3);
  EXPECT_EQ(ReadValue(saver.Latest()->prefix), 3);
}

// A child saves one checkpoint after the other until it is killed. The value of each is its step.
TEST_F(CheckpointSaverTest, AKilledSaverLeavesAWholeCheckpoint) {
  unsigned seed = 1;
  int64_t last = 0;
  for (int kill = 0; kill < 30; ++kill) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto saver = CheckpointSaver::Open(folder_, {.max_to_keep = 2});
      if (!saver.ok()) ::_exit(1);
      for (int64_t step = last + 1;; ++step) {
        const std::vector<SavedTensor> tensors = {
            {"w", Tensor::Scalar(static_cast<float>(step))},
            {"v", Tensor::Vector<float>(std::vector<float>(10000, static_cast<float>(step)))}};
        // Every third one is written twice, as by a job that was started anew.
        for (int i = 0; i < (step % 3 == 0 ? 2 : 1); ++i) {
          if (!saver->Save(step, tensors, "").ok()) ::_exit(1);
        }
        if (::write(pipe[1], "s", 1) != 1) ::_exit(1);
      }
    }
    ::close(pipe[1]);
    char byte;
    ASSERT_EQ(::read(pipe[0], &byte, 1), 1) << "the child cannot save";
    ::usleep(rand_r(&seed) % 20000);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int ended = 0;
    ASSERT_EQ(::waitpid(child, &ended, 0), child);
    int64_t saved = 1;  // that the child has told of
    while (::read(pipe[0], &byte, 1) == 1) ++saved;
    ::close(pipe[0]);

    CheckpointSaver saver = Open({.max_to_keep = 2});
    const auto latest = saver.Latest();
    ASSERT_TRUE(latest.has_value());
    EXPECT_GE(latest->step, last + saved);
    EXPECT_LE(latest->step, last + saved + 1);
    EXPECT_EQ(ReadValue(latest->prefix), latest->step);
    const Tensor v = *(*CheckpointReader::Open(latest->prefix))->Read("v");
    for (float x : v.flat<float>()) ASSERT_EQ(x, latest->step);
    const auto checkpoints = ListCheckpoints(folder_);
    for (const auto& [name, files] : *checkpoints) {
      EXPECT_TRUE(files.has_index && files.unfinished.empty() && files.data.size() == 1) << name;
    }
    EXPECT_LE(There().size(), 3);
    last = latest->step;
  }
}

TEST_F(CheckpointSaverTest, BadFoldersAndNamesAreRefused) {
  EXPECT_EQ(CheckpointSaver::Open(folder_, {.name = "a/b"}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckpointSaver::Open(folder_, {.name = ""}).status().code(),
            StatusCode::kInvalidArgument);
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "").ok());
  const absl::Status status = CheckpointSaver::Open(Path("file"), {}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(Path("file")));
  if (::geteuid() == 0) return;  // who may write everywhere
  ASSERT_EQ(::chmod(folder_.c_str(), 0500), 0);
  EXPECT_EQ(CheckpointSaver::Open(folder_, {}).status().code(), StatusCode::kPermissionDenied);
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
}

TEST_F(CheckpointSaverTest, ManyTensorsAreReadInTheOrderOfTheirNames) {
  CheckpointSaver saver = Open();
  std::vector<SavedTensor> saved;
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) {
    saved.push_back({absl::StrCat("v", i), Tensor::Vector<float>({static_cast<float>(i), 0.5f})});
    names.insert(names.begin(), saved.back().key);
  }
  ASSERT_TRUE(saver.Save(1, saved, "").ok());
  const auto checkpoint = *CheckpointReader::Open(saver.Latest()->prefix);
  const auto tensors = ReadTensors(*checkpoint, names);
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  for (int i = 0; i < 40; ++i) EXPECT_EQ((*tensors)[i].flat<float>()[0], 39 - i);
  EXPECT_TRUE(ReadTensors(*checkpoint, {})->empty());
  names.insert(names.begin() + 7, "absent");
  const absl::Status status = ReadTensors(*checkpoint, names).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("absent"));
}

}  // namespace
}  // namespace tessera
