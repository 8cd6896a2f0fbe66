#include "runtime/base/directory_tree.h"

#include <stdlib.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DirectoryTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "/tree_XXXXXX";
    ASSERT_NE(::mkdtemp(root_.data()), nullptr);
    Write("a/b/x");
    Write("y");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& name) const {
    const std::filesystem::path path = JoinPath(root_, name);
    ASSERT_TRUE(CreateDirectories(path.parent_path()).ok());
    ASSERT_TRUE(WriteFileAtomically(path, "1").ok());
  }
  void Link(const std::string& target, const std::string& name) const {
    std::filesystem::create_symlink(target, JoinPath(root_, name));
  }

  std::string root_;
};

TEST_F(DirectoryTreeTest, ListsFilesAndDirectories) {
  const auto tree = ReadDirectoryTree(root_);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_THAT(tree->files, ElementsAre("a/b/x", "y"));
  EXPECT_THAT(tree->directories, ElementsAre("a", "a/b"));
}

TEST_F(DirectoryTreeTest, LinksUpwardsAreLeftOut) {
  Link(".", "self");
  Link("../..", "a/b/root");
  Link("..", "a/b/parent");
  const auto tree = ReadDirectoryTree(root_);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_THAT(tree->files, ElementsAre("a/b/x", "y"));
  EXPECT_THAT(tree->directories, ElementsAre("a", "a/b"));
}

TEST_F(DirectoryTreeTest, OtherLinksAreFollowed) {
  Link("a/b", "c");
  Link("y", "z");
  Link("nothing", "dangling");
  Link("loop", "loop");
  const auto tree = ReadDirectoryTree(root_);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_THAT(tree->files, ElementsAre("a/b/x", "c/x", "y", "z"));
  EXPECT_THAT(tree->directories, ElementsAre("a", "a/b", "c"));
}

TEST_F(DirectoryTreeTest, LinksThatMultiplyPathsAreRefused) {
  constexpr int kDepth = 40;
  for (int i = 0; i < kDepth; ++i) {
    const std::string name = "chain" + std::to_string(i);
    Write(name + "/x");
    if (i + 1 == kDepth) continue;
    const std::string next = "../chain" + std::to_string(i + 1);
    Link(next, name + "/left");
    Link(next, name + "/right");
  }
  const auto tree = ReadDirectoryTree(root_);
  EXPECT_TRUE(absl::IsResourceExhausted(tree.status())) << tree.status();
  EXPECT_THAT(std::string(tree.status().message()), HasSubstr("symbolic links below " + root_));
}

TEST_F(DirectoryTreeTest, AMissingRootIsAnError) {
  EXPECT_TRUE(absl::IsNotFound(ReadDirectoryTree(JoinPath(root_, "none")).status()));
}

}  // namespace
}  // namespace tessera
