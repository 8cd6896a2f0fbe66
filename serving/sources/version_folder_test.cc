#include "serving/sources/version_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;

// Longer than the grain of a file system's clock.
constexpr absl::Duration kTick = absl::Milliseconds(20);

class VersionFolderTest : public ::testing::Test {
 protected:
  VersionFolderTest() {
    std::string pattern = JoinPath(::testing::TempDir(), "folder_XXXXXX");
    root_ = mkdtemp(pattern.data());
    fs::create_directories(root_ / "1/variables");
    Write("1/saved_model.pb", "graph");
    Write("1/variables/data", "weights");
  }
  ~VersionFolderTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::ofstream(root_ / path) << text;
  }
  VersionFolder Look() const { return LookAtVersionFolder(root_ / "1"); }

  fs::path root_;
};

TEST_F(VersionFolderTest, FingerprintStaysWhileNothingChanges) {
  EXPECT_EQ(Look().fingerprint, Look().fingerprint);
}

TEST_F(VersionFolderTest, FingerprintFollowsEveryChange) {
  uint64_t last = Look().fingerprint;
  auto changed = [&] {
    const uint64_t now = Look().fingerprint;
    return std::exchange(last, now) != now;
  };
  Write("1/variables/data", "more weights");
  EXPECT_TRUE(changed()) << "size";
  absl::SleepFor(kTick);
  Write("1/variables/data", "MORE WEIGHTS");
  EXPECT_TRUE(changed()) << "time, of the same size";
  Write("1/extra", "");
  EXPECT_TRUE(changed()) << "added";
  fs::remove(root_ / "1/extra");
  EXPECT_TRUE(changed()) << "removed";
  fs::copy(root_ / "1/saved_model.pb", root_ / "beside");
  fs::last_write_time(root_ / "beside", fs::last_write_time(root_ / "1/saved_model.pb"));
  fs::rename(root_ / "beside", root_ / "1/saved_model.pb");
  EXPECT_TRUE(changed()) << "replaced by a file of the same size and time";
  fs::permissions(root_ / "1/variables/data", fs::perms::none);
  EXPECT_TRUE(changed()) << "permissions";
  fs::rename(root_ / "1", root_ / "away");
  EXPECT_TRUE(changed()) << "gone";
}

TEST_F(VersionFolderTest, LastChangeIsThatOfTheYoungestFile) {
  const absl::Time before = Look().last_change;
  absl::SleepFor(kTick);
  std::ofstream(root_ / "1/variables/data", std::ios::app) << "more";
  EXPECT_GT(Look().last_change, before);
  EXPECT_LE(Look().last_change, absl::Now());
}

TEST_F(VersionFolderTest, RenamedFolderIsFinished) {
  fs::create_directories(root_ / "tmp/variables");
  Write("tmp/variables/data", "weights");
  absl::SleepFor(kTick);
  fs::rename(root_ / "tmp", root_ / "2");
  EXPECT_TRUE(LookAtVersionFolder(root_ / "2").finished);
  Write("2/variables/data", "written after that");
  EXPECT_FALSE(LookAtVersionFolder(root_ / "2").finished);
}

TEST_F(VersionFolderTest, FolderThatIsBeingWrittenIsNotFinished) { EXPECT_FALSE(Look().finished); }

TEST_F(VersionFolderTest, FolderWithAttributesSetAtTheEndIsFinished) {
  absl::SleepFor(kTick);
  fs::last_write_time(root_ / "1", fs::file_time_type::clock::now() - std::chrono::hours(5));
  EXPECT_TRUE(Look().finished);
}

TEST_F(VersionFolderTest, FilesAndLinksInAFoldersPlace) {
  Write("7", "a file");
  EXPECT_NE(LookAtVersionFolder(root_ / "7").fingerprint, Look().fingerprint);
  fs::create_directory_symlink(root_ / "1", root_ / "8");
  EXPECT_EQ(LookAtVersionFolder(root_ / "8").fingerprint, Look().fingerprint);
  fs::create_directory_symlink(root_, root_ / "1/up");
  EXPECT_EQ(Look().fingerprint, Look().fingerprint) << "a link that leads up ends the walk";
}

}  // namespace
}  // namespace tessera::serving
