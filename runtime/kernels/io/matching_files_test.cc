// The files that are found are those that TensorFlow finds.
#include "runtime/kernels/io/matching_files.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MatchingFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(CreateDirectories(JoinPath(root_, "inner")).ok());
    for (const char* name : {"a.txt", "b.txt", ".hidden", "inner/c.txt", "inner/.d"}) {
      ASSERT_TRUE(WriteFileAtomically(JoinPath(root_, name), "").ok());
    }
  }

  // The names of the files behind that of the test's directory.
  std::vector<std::string> Find(const std::vector<std::string>& patterns) {
    std::vector<std::string> paths;
    for (const std::string& pattern : patterns) paths.push_back(absl::StrCat(root_, "/", pattern));
    const std::vector<std::string> found = FilesThatMatch(paths).value();
    std::vector<std::string> names;
    for (const std::string& path : found) {
      names.emplace_back(absl::StripPrefix(path, absl::StrCat(root_, "/")));
    }
    return names;
  }

  const std::string root_ =
      JoinPath(::testing::TempDir(), absl::StrCat("matching_files.", ::getpid()));
};

TEST_F(MatchingFilesTest, AWildcardStandsForAPeriod) {
  EXPECT_THAT(Find({"*"}), ElementsAre(".hidden", "a.txt", "b.txt", "inner"));
  EXPECT_THAT(Find({"*/*"}), ElementsAre("inner/.d", "inner/c.txt"));
  EXPECT_THAT(Find({"?hidden"}), ElementsAre(".hidden"));
  EXPECT_THAT(Find({"[!a]*.txt"}), ElementsAre("b.txt"));
}

TEST_F(MatchingFilesTest, OnlyAWildcardStandsForALinkToNowhere) {
  ASSERT_EQ(::symlink("nowhere", JoinPath(root_, "inner/link").c_str()), 0);
  EXPECT_THAT(Find({"inner/l*"}), ElementsAre("inner/link"));
  EXPECT_THAT(Find({"inner/link"}), IsEmpty());
  EXPECT_THAT(Find({"inner/c.txt"}), ElementsAre("inner/c.txt"));
  ASSERT_EQ(::unlink(JoinPath(root_, "inner/link").c_str()), 0);
}

TEST_F(MatchingFilesTest, AWildcardStandsForNoDotDirectory) {
  EXPECT_THAT(Find({".*"}), ElementsAre(".hidden"));
  EXPECT_THAT(Find({".?"}), IsEmpty());
  EXPECT_THAT(Find({"*/.d"}), ElementsAre("inner/.d"));
  EXPECT_THAT(Find({"./a*"}), ElementsAre("./a.txt"));
  EXPECT_THAT(Find({"inner/../a*"}), ElementsAre("inner/../a.txt"));
}

TEST_F(MatchingFilesTest, AFileOfSeveralPatternsIsThereAsOften) {
  EXPECT_THAT(Find({"*.txt", "a*"}), ElementsAre("a.txt", "a.txt", "b.txt"));
  EXPECT_THAT(Find({"none*"}), IsEmpty());
}

}  // namespace
}  // namespace tessera
