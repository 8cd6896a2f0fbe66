#include "runtime/training/job/run_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/training/job/failure.h"
#include "runtime/training/job/run_log.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string NewFolder(const std::string& name) {
  const std::string path = JoinPath(::testing::TempDir(), name);
  std::filesystem::remove_all(path);
  return path;
}

TEST(RunFolderTest, SecondHolderIsToldWhoHasIt) {
  const std::string path = NewFolder("locked");
  auto first = RunFolder::Open(path);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = RunFolder::Open(path);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(FailureOf(second.status()), RunFailure::kFolderInUse);
  EXPECT_TRUE(
      absl::StrContains(second.status().message(), "process " + std::to_string(getpid()) + " on "))
      << second.status();
  first->reset();
  EXPECT_TRUE(RunFolder::Open(path).ok());
}

TEST(RunFolderTest, LockOfADeadProcessDoesNotCount) {
  const std::string path = NewFolder("dead");
  const pid_t child = fork();
  if (child == 0) {
    auto folder = RunFolder::Open(path);
    // No destructor runs, as after kill -9.
    _exit(folder.ok() ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  ASSERT_EQ(result, 0);
  ASSERT_TRUE(FileExists(JoinPath(path, "lock")));
  EXPECT_TRUE(RunFolder::Open(path).ok());
}

TEST(RunFolderTest, EachRunOfAFolderHasItsId) {
  const std::string path = NewFolder("ids");
  auto folder = RunFolder::Open(path);
  ASSERT_TRUE(folder.ok());
  const std::string first = (*folder)->Id().value();
  EXPECT_EQ((*folder)->Id().value(), first);
  folder->reset();
  folder = RunFolder::Open(path);
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ((*folder)->Id().value(), first) << "a run that goes on";
  ASSERT_TRUE((*folder)->SetAside().ok());
  EXPECT_NE((*folder)->Id().value(), first);
}

TEST(RunFolderTest, EarlierRunsArePutAside) {
  const std::string path = NewFolder("aside");
  auto folder = RunFolder::Open(path);
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE((*folder)->SetAside().ok());
  EXPECT_FALSE(FileExists(JoinPath(path, "earlier")));
  for (const std::string text : {"first", "second"}) {
    ASSERT_TRUE(WriteFileAtomically((*folder)->log(), text).ok());
    ASSERT_TRUE((*folder)->SetAside().ok());
  }
  ASSERT_TRUE(WriteFileAtomically(JoinPath(path, "job.yaml"), "the user's own").ok());
  ASSERT_TRUE((*folder)->SetAside().ok());
  EXPECT_TRUE(FileExists(JoinPath(path, "job.yaml")));
  EXPECT_FALSE(FileExists(JoinPath(path, "earlier/3")));
  EXPECT_EQ(*ReadFile(JoinPath(path, "earlier/1/log.jsonl")), "first");
  EXPECT_EQ(*ReadFile(JoinPath(path, "earlier/2/log.jsonl")), "second");
  EXPECT_FALSE(FileExists((*folder)->log()));
}

TEST(RunLogTest, RecordsComeBackAndCutLinesAreEnded) {
  const std::string path = NewFolder("log.jsonl");
  ASSERT_TRUE(WriteFileAtomically(path, "{\"event\": \"st").ok());
  auto log = RunLog::Open(path, nullptr);
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE(
      (*log)
          ->Write({.event = "step",
                   .step = 3,
                   .counts = {{"steps", 1500}},
                   .numbers = {{"loss", NAN}, {"rate", -INFINITY}, {"half", 0.5}, {"whole", 2}},
                   .texts = {{"path", "a \"b\"\n"}}})
          .ok());
  const std::string text = *ReadFile(path);
  EXPECT_THAT(text, HasSubstr("\"steps\":1500,"));
  const size_t line = text.find('\n') + 1;
  EXPECT_FALSE(ParseRunRecord(text.substr(0, line - 1)).has_value());
  const auto record = ParseRunRecord(text.substr(line, text.size() - line - 1));
  ASSERT_TRUE(record.has_value()) << text;
  EXPECT_EQ(record->event, "step");
  EXPECT_EQ(record->step, 3);
  EXPECT_THAT(record->counts, ElementsAre(Pair("steps", 1500)));
  EXPECT_TRUE(std::isnan(*record->Number("loss")));
  EXPECT_EQ(*record->Number("rate"), -INFINITY);
  EXPECT_EQ(*record->Number("half"), 0.5);
  EXPECT_EQ(*record->Number("whole"), 2);
  EXPECT_EQ(record->Text("path"), "a \"b\"\n");
  EXPECT_FALSE(record->Number("path").has_value());
}

TEST(RunLogTest, OtherTextsAreNoRecords) {
  for (const char* line : {"", "[]", "{}", "{\"event\": 1, \"step\": 1}", "{\"event\": \"step\"}",
                           "{\"event\": \"step\", \"step\": 1, \"x\": []}"}) {
    EXPECT_FALSE(ParseRunRecord(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace tessera
