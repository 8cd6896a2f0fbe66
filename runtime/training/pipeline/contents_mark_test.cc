#include "runtime/training/pipeline/contents_mark.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

class ContentsMarkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b"}) files_.push_back(::testing::TempDir() + "/marked_" + name);
    Write(0, "first");
    Write(1, std::string(300'000, 'x'));
  }
  void Write(int i, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(files_[i], text).ok());
  }

  std::vector<std::string> files_;
};

TEST_F(ContentsMarkTest, FilesThatStayOrGrowFit) {
  const std::string mark = ContentsMark(files_);
  EXPECT_TRUE(CheckContents(mark, files_).ok());
  Write(0, "first and more");
  EXPECT_TRUE(CheckContents(mark, files_).ok());
  Write(0, "");
  const std::string of_empty = ContentsMark(files_);
  Write(0, "text");
  EXPECT_TRUE(CheckContents(of_empty, files_).ok());
}

TEST_F(ContentsMarkTest, OtherAndShorterContentsDoNot) {
  const std::string mark = ContentsMark(files_);
  Write(0, "fir");
  EXPECT_THAT(CheckContents(mark, files_).message(), HasSubstr(files_[0]));
  Write(0, "First");
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckContents(mark, files_)));
  Write(0, "first");
  std::string text(300'000, 'x');
  text[299'000] = 'y';
  Write(1, text);
  EXPECT_THAT(CheckContents(mark, files_).message(), HasSubstr(files_[1]));
}

TEST_F(ContentsMarkTest, WhatCannotBeReadHasNoMark) {
  const std::vector<std::string> missing = {files_[0] + "_missing", "/dev/null"};
  EXPECT_EQ(ContentsMark(missing), ",");
  EXPECT_TRUE(CheckContents(",", files_).ok());
  EXPECT_TRUE(CheckContents("damaged", files_).ok());
  EXPECT_FALSE(CheckContents(ContentsMark(files_), missing).ok());
}

}  // namespace
}  // namespace tessera
