#include "serving/logging/log_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/file_system.h"
#include "serving/logging/reopened_file.h"
#include "serving/logging/rotated_files.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class LogFileTest : public ::testing::Test {
 protected:
  LogFileTest() {
    std::string pattern = JoinPath(::testing::TempDir(), "log_file_XXXXXX");
    folder_ = mkdtemp(pattern.data());
  }
  ~LogFileTest() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return JoinPath(folder_, name); }
  static std::vector<std::string> Contents(const RotatedFiles& files) {
    std::vector<std::string> contents;
    for (const std::string& path : files.Paths()) contents.push_back(*ReadFile(path));
    return contents;
  }

  std::string folder_;
};

TEST_F(LogFileTest, AFileThatWouldGrowBeyondItsLimitIsFollowedByANewOne) {
  RotatedFiles files(Path("deep/er/m"), "log", {.max_file_bytes = 4});
  for (const char* record : {"ab", "cd", "e", "longer", "f"}) {
    EXPECT_TRUE(files.Append(record).ok());
  }
  EXPECT_THAT(Contents(files), ElementsAre("abcd", "e", "longer", "f"));
  EXPECT_THAT(fs::path(files.Paths()[0]).filename().string(),
              MatchesRegex("m-[0-9]{8}T[0-9]{6}\\.[0-9]{6}Z\\.log"));
}

TEST_F(LogFileTest, AnOldFileAndOneThatWasRemovedAreNotAppendedTo) {
  RotatedFiles aging(Path("aging"), "log", {.max_file_age = absl::ZeroDuration()});
  EXPECT_TRUE(aging.Append("a").ok());
  EXPECT_TRUE(aging.Append("b").ok());
  EXPECT_THAT(Contents(aging), ElementsAre("a", "b"));
  RotatedFiles removed(Path("removed"), "log", {});
  EXPECT_TRUE(removed.Append("a").ok());
  fs::remove(removed.Paths()[0]);
  EXPECT_TRUE(removed.Append("b").ok());
  EXPECT_THAT(Contents(removed), ElementsAre("b"));
}

TEST_F(LogFileTest, TheOldestFilesOfThePrefixAloneAreRemoved) {
  const std::vector<std::string> others = {"m-2-20200101T000000.000000Z.log", "m-notes.log",
                                           "m-20200101T000000.000000Z.txt", "m.log"};
  for (const std::string& name : others) EXPECT_TRUE(WriteFileAtomically(Path(name), "x").ok());
  EXPECT_TRUE(WriteFileAtomically(Path("m-20200101T000000.000000Z.log"), "of before").ok());
  RotatedFiles files(Path("m"), "log", {.max_file_bytes = 1, .max_files = 2});
  EXPECT_TRUE(files.Append("a").ok());
  EXPECT_THAT(Contents(files), ElementsAre("of before", "a"));
  EXPECT_TRUE(files.Append("b").ok());
  EXPECT_TRUE(files.Append("c").ok());
  EXPECT_THAT(Contents(files), ElementsAre("b", "c"));
  for (const std::string& name : others) EXPECT_TRUE(FileExists(Path(name))) << name;
}

// Files of a clock that was set back since have later names.
TEST_F(LogFileTest, TheFileThatIsWrittenIsNotRemoved) {
  for (int i = 0; i < 3; ++i) {
    const std::string name = absl::StrCat("m-2099010", i, "T000000.000000Z.log");
    EXPECT_TRUE(WriteFileAtomically(Path(name), absl::StrCat(i)).ok());
  }
  RotatedFiles files(Path("m"), "log", {.max_files = 3});
  EXPECT_TRUE(files.Append("a").ok());
  EXPECT_TRUE(files.Append("b").ok());
  EXPECT_THAT(Contents(files), ElementsAre("ab", "1", "2"));
}

TEST_F(LogFileTest, APipeThatNobodyReadsIsWaitedForUntilThatIsStopped) {
  const std::string path = Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const FileDescriptor reader(open(path.c_str(), O_RDONLY | O_NONBLOCK));
  const auto file = ReopenedFile::Open(path).value();
  EXPECT_TRUE(file->Append("taken").ok());
  const std::string large(1 << 20, 'x');  // more than a pipe holds
  absl::Status status;
  std::thread thread([&] { status = file->Append(large); });
  file->StopWaiting();
  thread.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("its reader does not take more"));
  EXPECT_FALSE(file->Append("y").ok()) << "the pipe is full, and nobody waits for it any more";
}

TEST_F(LogFileTest, WhatDoesNotFitOnTheDiskLeavesNoPartAndMayFitLater) {
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto set_limit = [&](rlim_t bytes) {
    const struct rlimit small = {.rlim_cur = bytes, .rlim_max = limit.rlim_max};
    return setrlimit(RLIMIT_FSIZE, &small);
  };
  RotatedFiles files(Path("m"), "log", {});
  EXPECT_TRUE(files.Append("0123").ok());
  ASSERT_EQ(set_limit(6), 0);
  const absl::Status full = files.Append("4567");
  EXPECT_EQ(set_limit(limit.rlim_cur), 0);
  EXPECT_THAT(full.message(), HasSubstr("cannot write to '" + Path("m-")));
  EXPECT_THAT(Contents(files), ElementsAre("0123"));
  EXPECT_TRUE(files.Append("89").ok());
  EXPECT_THAT(Contents(files), ElementsAre("012389"));
  std::signal(SIGXFSZ, previous);
}

TEST_F(LogFileTest, AFolderThatCannotBeMadeIsAnErrorUntilItCan) {
  EXPECT_TRUE(WriteFileAtomically(Path("taken"), "").ok());
  RotatedFiles files(Path("taken/m"), "log", {});
  EXPECT_THAT(files.Append("a").message(), HasSubstr(Path("taken")));
  fs::remove(Path("taken"));
  EXPECT_TRUE(files.Append("b").ok());
  EXPECT_THAT(Contents(files), ElementsAre("b"));
}

TEST_F(LogFileTest, ARenamedFileIsLeftOnceItIsReopened) {
  auto file = ReopenedFile::Open(Path("access.log"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->Append("a\n").ok());
  fs::rename(Path("access.log"), Path("access.log.1"));
  EXPECT_TRUE((*file)->Append("b\n").ok());
  (*file)->Reopen();
  EXPECT_TRUE((*file)->Append("c\n").ok());
  EXPECT_EQ(*ReadFile(Path("access.log.1")), "a\nb\n");
  EXPECT_EQ(*ReadFile(Path("access.log")), "c\n");
  // What was there before is kept.
  EXPECT_TRUE((*ReopenedFile::Open(Path("access.log")))->Append("d\n").ok());
  EXPECT_EQ(*ReadFile(Path("access.log")), "c\nd\n");
}

TEST_F(LogFileTest, ReopeningIsTriedUntilItSucceeds) {
  EXPECT_THAT(ReopenedFile::Open(Path("none/access.log")).status().message(),
              HasSubstr("cannot open '" + Path("none/access.log") + "'"));
  fs::create_directory(Path("some"));
  auto file = *ReopenedFile::Open(Path("some/access.log"));
  fs::rename(Path("some"), Path("other"));
  file->Reopen();
  EXPECT_FALSE(file->Append("a\n").ok());
  fs::create_directory(Path("some"));
  EXPECT_TRUE(file->Append("b\n").ok());
  EXPECT_EQ(*ReadFile(Path("some/access.log")), "b\n");
}

TEST_F(LogFileTest, AFullDeviceIsAnError) {
  auto file = *ReopenedFile::Open("/dev/full");
  EXPECT_THAT(file->Append("a\n").message(), HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace tessera::serving
