#include "runtime/host/mapped_file.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/mapped_file_test_XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  std::string Path(const std::string& name) const { return JoinPath(directory_, name); }

  std::string directory_;
};

TEST_F(MappedFileTest, ShowsTheBytesOfSmallAndOfLargeFiles) {
  for (const std::string& contents : {std::string("a\0b", 3), std::string(1 << 20, 'x')}) {
    ASSERT_TRUE(WriteFileAtomically(Path("f"), contents).ok());
    EXPECT_EQ((*MappedFile::Open(Path("f")))->view(), contents);
  }
}

TEST_F(MappedFileTest, EmptyFilesAreMappedToo) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "").ok());
  EXPECT_EQ((*MappedFile::Open(Path("f")))->size(), 0u);
}

TEST_F(MappedFileTest, MissingFilesAreNotFoundByName) {
  const absl::Status status = MappedFile::Open(Path("none")).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(Path("none")));
}

TEST_F(MappedFileTest, DirectoriesAndFifosAreRefused) {
  EXPECT_EQ(MappedFile::Open(directory_).status().code(), StatusCode::kFailedPrecondition);
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::Open(Path("fifo")).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(MappedFileTest, MapOutlivesTheFilesName) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "old").ok());
  const auto map = *MappedFile::Open(Path("f"));
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "newer").ok());
  EXPECT_EQ(map->view(), "old");
  ASSERT_TRUE(RemoveFile(Path("f")).ok());
  EXPECT_EQ(map->view(), "old");
}

}  // namespace
}  // namespace tessera
