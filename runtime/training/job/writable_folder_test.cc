#include "runtime/training/job/writable_folder.h"

#include <unistd.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/training/job/failure.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

TEST(WritableFolderTest, TakesFoldersThatAreThereAndThoseThatCanBeMade) {
  const std::string folder = ::testing::TempDir();
  EXPECT_TRUE(CheckWritableFolder(folder).ok());
  EXPECT_TRUE(CheckWritableFolder(folder + "/").ok());
  const std::string below = JoinPath(folder, "none/of/these");
  EXPECT_TRUE(CheckWritableFolder(below).ok());
  EXPECT_FALSE(FileExists(JoinPath(folder, "none")));
  EXPECT_TRUE(CheckWritableFolder("relative").ok());
}

TEST(WritableFolderTest, NamesTheFileThatStandsInTheWay) {
  const std::string file = JoinPath(::testing::TempDir(), "file");
  ASSERT_TRUE(WriteFileAtomically(file, "").ok());
  for (const std::string& path : {file, JoinPath(file, "run"), JoinPath(file, "a/b")}) {
    const absl::Status status = CheckWritableFolder(path);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("file' is a file; give another path"));
    EXPECT_EQ(FailureOf(status), RunFailure::kWrite);
  }
}

TEST(WritableFolderTest, RefusesFileSystemsOfTheKernel) {
  for (const char* path : {"/proc/none", "/proc/none/of/these", "/sys/none"}) {
    const absl::Status status = CheckWritableFolder(path);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << path;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the kernel lets nobody make one in"));
    EXPECT_EQ(FailureOf(status), RunFailure::kWrite);
  }
}

TEST(WritableFolderTest, NamesTheFolderThatCannotBeWrittenTo) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const std::string closed = JoinPath(::testing::TempDir(), "closed");
  ASSERT_TRUE(CreateDirectories(closed).ok());
  std::filesystem::permissions(closed, std::filesystem::perms::owner_read);
  const absl::Status status = CheckWritableFolder(JoinPath(closed, "run/1"));
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("closed' is not writable"));
}

}  // namespace
}  // namespace tessera
