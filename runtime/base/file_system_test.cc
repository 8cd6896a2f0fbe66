#include "runtime/base/file_system.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/file_system_test_XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  std::string Path(const std::string& name) const { return JoinPath(directory_, name); }

  std::string directory_;
};

TEST_F(FileSystemTest, WrittenFilesReadBack) {
  const std::string contents("a\0b", 3);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), contents).ok());
  EXPECT_EQ(*ReadFile(Path("f")), contents);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "new").ok());
  EXPECT_EQ(*ReadFile(Path("f")), "new");
  EXPECT_THAT(*ListDirectory(directory_), ElementsAre("f"));
}

TEST_F(FileSystemTest, EmptyFilesAreEmpty) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "").ok());
  EXPECT_EQ(*ReadFile(Path("f")), "");
}

TEST_F(FileSystemTest, FilesWithoutASizeAreReadWhole) {
  EXPECT_THAT(*ReadFile("/proc/self/status"), HasSubstr("VmRSS"));
}

TEST_F(FileSystemTest, PipesAreReadUntilTheirWriterEnds) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  std::thread writer([&] {
    const int fd = ::open(Path("pipe").c_str(), O_WRONLY);
    for (const char* part : {"one ", "two"}) {
      EXPECT_EQ(::write(fd, part, std::strlen(part)), static_cast<ssize_t>(std::strlen(part)));
    }
    ::close(fd);
  });
  EXPECT_EQ(*ReadFile(Path("pipe")), "one two");
  writer.join();
}

TEST_F(FileSystemTest, PipesThatNobodyWritesToAndDevicesWithoutAnEndAreRefused) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(Path("pipe")).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ReadFile("/dev/zero").status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(*ReadFile("/dev/null"), "");
}

TEST_F(FileSystemTest, MissingFilesAreNotFoundByName) {
  for (const absl::Status& status :
       {ReadFile(Path("none")).status(), ListDirectory(Path("none")).status(),
        RemoveFile(Path("none")), WriteFileAtomically(Path("none/f"), "")}) {
    EXPECT_EQ(status.code(), StatusCode::kNotFound) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(Path("none")));
  }
}

TEST_F(FileSystemTest, DirectoriesAreNoFiles) {
  EXPECT_EQ(ReadFile(directory_).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(RemoveFile(directory_).code(), StatusCode::kFailedPrecondition);
}

TEST_F(FileSystemTest, UncommittedFilesLeaveNothing) {
  {
    auto file = *AtomicFile::Create(Path("f"));
    ASSERT_TRUE(file.Append(std::string(1 << 20, 'x')).ok());
    EXPECT_EQ(file.size(), size_t{1} << 20);
    EXPECT_FALSE(FileExists(Path("f")));
  }
  EXPECT_TRUE(ListDirectory(directory_)->empty());
}

TEST_F(FileSystemTest, ReplacedFilesKeepTheirPermissions) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "old").ok());
  ASSERT_EQ(::chmod(Path("f").c_str(), 0600), 0);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "new").ok());
  struct stat info;
  ASSERT_EQ(::stat(Path("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
}

TEST_F(FileSystemTest, LinksStayAndTheirTargetsAreReplaced) {
  ASSERT_TRUE(WriteFileAtomically(Path("target"), "old").ok());
  ASSERT_EQ(::symlink("target", Path("link").c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new").ok());
  EXPECT_EQ(*ReadFile(Path("target")), "new");
  struct stat info;
  ASSERT_EQ(::lstat(Path("link").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  EXPECT_THAT(*ListDirectory(directory_), ElementsAre("link", "target"));
}

TEST_F(FileSystemTest, PipesAreWrittenInPlace) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = ::open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(WriteFileAtomically(Path("pipe"), "text").ok());
  char text[8];
  EXPECT_EQ(::read(reader, text, sizeof(text)), 4);
  ::close(reader);
  EXPECT_THAT(*ListDirectory(directory_), ElementsAre("pipe"));
}

TEST_F(FileSystemTest, PiecesOfAnySizeComeInOrder) {
  std::string expected;
  auto file = *AtomicFile::Create(Path("f"));
  for (int i = 0; i < 200; ++i) {
    const std::string piece(i * 37 % 70001, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(file.Append(piece).ok());
    expected += piece;
  }
  ASSERT_TRUE(file.Commit().ok());
  EXPECT_EQ(*ReadFile(Path("f")), expected);
}

TEST_F(FileSystemTest, DirectoriesAreMadeWithTheirParents) {
  ASSERT_TRUE(CreateDirectories(Path("a/b//c/")).ok());
  EXPECT_TRUE(IsDirectory(Path("a/b/c")));
  EXPECT_TRUE(CreateDirectories(Path("a/b")).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("a/f"), "").ok());
  EXPECT_FALSE(CreateDirectories(Path("a/f/g")).ok());
  EXPECT_THAT(*ListDirectory(Path("a")), ElementsAre("b", "f"));
}

TEST_F(FileSystemTest, RenameReplaces) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "1").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("b"), "2").ok());
  ASSERT_TRUE(RenameFile(Path("a"), Path("b")).ok());
  EXPECT_EQ(*ReadFile(Path("b")), "1");
  EXPECT_FALSE(FileExists(Path("a")));
}

TEST(JoinPathTest, JoinsWithOneSlash) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "/b"), "a/b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("a", ""), "a");
}

}  // namespace
}  // namespace tessera
