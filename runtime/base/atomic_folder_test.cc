#include "runtime/base/atomic_folder.h"

#include <stdlib.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AtomicFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    parent_ = ::testing::TempDir() + "/folder_XXXXXX";
    ASSERT_NE(::mkdtemp(parent_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(parent_); }

  std::string parent_;
};

TEST_F(AtomicFolderTest, AppearsComplete) {
  const std::string path = JoinPath(parent_, "a/7");
  {
    auto folder = AtomicFolder::Create(path + "/");
    ASSERT_TRUE(folder.ok()) << folder.status();
    ASSERT_TRUE(CreateDirectories(JoinPath(folder->temporary(), "variables")).ok());
    ASSERT_TRUE(WriteFileAtomically(JoinPath(folder->temporary(), "variables/x"), "1").ok());
    EXPECT_FALSE(FileExists(path));
    ASSERT_TRUE(folder->Commit().ok());
  }
  EXPECT_EQ(*ReadFile(JoinPath(path, "variables/x")), "1");
  EXPECT_THAT(*ListDirectory(JoinPath(parent_, "a")), ElementsAre("7"));
}

TEST_F(AtomicFolderTest, NothingIsLeftWithoutCommit) {
  {
    auto folder = AtomicFolder::Create(JoinPath(parent_, "7"));
    ASSERT_TRUE(folder.ok()) << folder.status();
    ASSERT_TRUE(WriteFileAtomically(JoinPath(folder->temporary(), "x"), "1").ok());
  }
  EXPECT_THAT(*ListDirectory(parent_), IsEmpty());
}

TEST_F(AtomicFolderTest, WhatIsThereIsNotReplaced) {
  const std::string path = JoinPath(parent_, "7");
  auto folder = AtomicFolder::Create(path);
  ASSERT_TRUE(folder.ok()) << folder.status();
  ASSERT_TRUE(CreateDirectories(path).ok());
  ASSERT_TRUE(WriteFileAtomically(JoinPath(path, "x"), "old").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(folder->Commit()));
  EXPECT_TRUE(absl::IsAlreadyExists(AtomicFolder::Create(path).status()));
  EXPECT_EQ(*ReadFile(JoinPath(path, "x")), "old");
}

TEST_F(AtomicFolderTest, LeftoversOfDeadWritersAloneAreRemoved) {
  ASSERT_TRUE(CreateDirectories(JoinPath(parent_, "6.tmp.17.0/variables")).ok());
  auto living = AtomicFolder::Create(JoinPath(parent_, "7"));
  ASSERT_TRUE(living.ok()) << living.status();
  EXPECT_FALSE(FileExists(JoinPath(parent_, "6.tmp.17.0")));
  auto other = AtomicFolder::Create(JoinPath(parent_, "8"));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_TRUE(living->Commit().ok());
  EXPECT_TRUE(other->Commit().ok());
  EXPECT_THAT(*ListDirectory(parent_), ElementsAre("7", "8"));
}

}  // namespace
}  // namespace tessera
