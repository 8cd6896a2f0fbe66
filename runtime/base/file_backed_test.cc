#include "runtime/base/file_backed.h"

#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

class FileBackedTest : public ::testing::Test {
 protected:
  FileBackedTest() { Write("one"); }

  void Write(const std::string& text) { ASSERT_TRUE(WriteFileAtomically(file_, text).ok()); }
  std::unique_ptr<FileBacked<std::string>> Open() {
    return *FileBacked<std::string>::Open(
        "the words", {file_}, [this]() -> absl::StatusOr<std::string> {
          ++reads_;
          ASSIGN_OR_RETURN(const std::string text, ReadFile(file_));
          if (text == "bad") return absl::InvalidArgumentError("a bad word");
          return text;
        });
  }

  const std::string file_ = JoinPath(::testing::TempDir(), "words");
  int reads_ = 0;
};

TEST_F(FileBackedTest, AChangedFileCountsAtOnce) {
  const auto word = Open();
  EXPECT_EQ(*word->Get(), "one");
  Write("two");  // of the same length, within the clock tick of the file system
  EXPECT_EQ(*word->Get(), "two");
}

TEST_F(FileBackedTest, AFileThatIsGoneOrBadLeavesTheLastValue) {
  const auto word = Open();
  ASSERT_TRUE(RemoveFile(file_).ok());
  EXPECT_EQ(*word->Get(), "one");
  Write("bad");
  EXPECT_EQ(*word->Get(), "one");
  Write("two");
  EXPECT_EQ(*word->Get(), "two");
}

TEST_F(FileBackedTest, AFileThatStaysIsNotReadAgain) {
  const auto word = Open();
  while (!FileStamp::Of(file_).IsSettled(absl::Now())) absl::SleepFor(absl::Milliseconds(1));
  word->Get();
  const int reads = reads_;
  word->Get();
  EXPECT_EQ(reads_, reads);
  ASSERT_TRUE(RemoveFile(file_).ok());
  word->Get();  // finds that it is gone
  word->Get();
  EXPECT_EQ(reads_, reads + 1);
}

TEST_F(FileBackedTest, TheFirstReadingMustSucceed) {
  Write("bad");
  EXPECT_TRUE(absl::IsInvalidArgument(FileBacked<std::string>::Open("the words", {file_}, [] {
                                        return absl::StatusOr<std::string>(
                                            absl::InvalidArgumentError("a bad word"));
                                      }).status()));
}

TEST(FileStampTest, AMissingFileHasNoStamp) {
  EXPECT_EQ(FileStamp::Of("/none"), FileStamp());
  EXPECT_NE(FileStamp::Of("/dev/null"), FileStamp());
}

}  // namespace
}  // namespace tessera
