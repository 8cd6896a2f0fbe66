#include "serving/sources/rename_watch.h"

#include <cstdlib>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RenameWatchTest : public ::testing::Test {
 protected:
  RenameWatchTest() {
    std::string pattern = JoinPath(::testing::TempDir(), "watch_XXXXXX");
    root_ = mkdtemp(pattern.data());
    fs::create_directories(root_ / "m");
  }
  ~RenameWatchTest() override { fs::remove_all(root_); }

  std::string Path(const std::string& path) const { return root_ / path; }
  void RenameInto(const std::string& path) {
    fs::create_directories(root_ / "elsewhere");
    fs::rename(root_ / "elsewhere", root_ / path);
  }

  fs::path root_;
  RenameWatch watch_;
};

TEST_F(RenameWatchTest, TellsWhatIsRenamedAndNotWhatIsMadeInPlace) {
  watch_.Watch(Path("m"));
  fs::create_directories(Path("m/1"));
  EXPECT_THAT(watch_.TakeRenamed(), IsEmpty());
  RenameInto("m/2");
  RenameInto("m/3");
  EXPECT_THAT(watch_.TakeRenamed(), ElementsAre(Path("m/2"), Path("m/3")));
  EXPECT_THAT(watch_.TakeRenamed(), IsEmpty()) << "told once";
}

TEST_F(RenameWatchTest, FollowsThePathToAnotherDirectory) {
  watch_.Watch(Path("m"));
  fs::rename(Path("m"), Path("old"));
  fs::create_directories(Path("m"));
  watch_.Watch(Path("m"));
  RenameInto("old/4");
  EXPECT_THAT(watch_.TakeRenamed(), IsEmpty());
  RenameInto("m/5");
  EXPECT_THAT(watch_.TakeRenamed(), ElementsAre(Path("m/5")));
}

TEST_F(RenameWatchTest, ForgetsADirectoryForOnePathAlone) {
  fs::create_directory_symlink(Path("m"), Path("link"));
  watch_.Watch(Path("m"));
  watch_.Watch(Path("link"));
  RenameInto("m/1");
  EXPECT_THAT(watch_.TakeRenamed(), ElementsAre(Path("link/1"), Path("m/1")));
  watch_.Forget(Path("m"));
  RenameInto("m/2");
  EXPECT_THAT(watch_.TakeRenamed(), ElementsAre(Path("link/2")));
  watch_.Forget(Path("link"));
  RenameInto("m/3");
  EXPECT_THAT(watch_.TakeRenamed(), IsEmpty());
}

TEST_F(RenameWatchTest, ADirectoryThatIsMissingIsNoError) {
  watch_.Watch(Path("nowhere"));
  EXPECT_THAT(watch_.TakeRenamed(), IsEmpty());
}

}  // namespace
}  // namespace tessera::serving
