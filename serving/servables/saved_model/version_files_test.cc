#include "serving/servables/saved_model/version_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;

class VersionFilesTest : public ::testing::Test {
 protected:
  VersionFilesTest() {
    std::string pattern = JoinPath(::testing::TempDir(), "files_XXXXXX");
    root_ = mkdtemp(pattern.data());
  }
  ~VersionFilesTest() override { fs::remove_all(root_); }

  void Write(const std::string& file, const std::string& contents = "x") {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << contents;
  }
  std::string Path(const std::string& file) const { return root_ / file; }
  // Returns the prefix of the weights, relative to the root, or "graph".
  std::string Find(const std::string& path) const {
    const auto files = FindVersionFiles(Path(path));
    EXPECT_TRUE(files.ok()) << files.status();
    if (!files.ok()) return "";
    return files->has_graph() ? "graph" : fs::relative(files->weights, root_).string();
  }
  absl::Status StatusOf(const std::string& path) const {
    return FindVersionFiles(Path(path)).status();
  }

  fs::path root_;
};

TEST_F(VersionFilesTest, ASavedModelNeedsNoWeights) {
  Write("1/saved_model.pb");
  Write("1/variables/variables.index");
  EXPECT_EQ(Find("1"), "graph");
  Write("2/saved_model.pbtxt");
  EXPECT_EQ(Find("2"), "graph");
}

TEST_F(VersionFilesTest, OneCheckpointInAFolder) {
  Write("1/variables/variables.index");
  EXPECT_EQ(Find("1"), "1/variables/variables");
  Write("2/model.ckpt-20.index");
  Write("2/model.ckpt-20.data-00000-of-00001");
  Write("2/model.ckpt-20.meta");
  EXPECT_EQ(Find("2"), "2/model.ckpt-20");
}

TEST_F(VersionFilesTest, ASavedModelCopiedInPartIsNoCheckpoint) {
  Write("1/variables/variables.index");
  Write("1/fingerprint.pb");
  EXPECT_EQ(StatusOf("1").code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(StatusOf("1").message()), HasSubstr("copied here in part"));
}

TEST_F(VersionFilesTest, OfSeveralCheckpointsTheStateNamesOne) {
  Write("1/ckpt-1.index");
  Write("1/ckpt-2.index");
  EXPECT_EQ(StatusOf("1").code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(StatusOf("1").message()),
              AllOf(HasSubstr(Path("1")), HasSubstr("'ckpt-1', 'ckpt-2'")));
  Write("1/checkpoint", "model_checkpoint_path: 'ckpt-3'");
  EXPECT_EQ(StatusOf("1").code(), StatusCode::kFailedPrecondition) << "it is not there";
  Write("1/checkpoint", "model_checkpoint_path: '/train/ckpt-1'");
  EXPECT_EQ(Find("1"), "1/ckpt-1");
}

TEST_F(VersionFilesTest, ThePrefixOfACheckpoint) {
  Write("ckpt-7.index");
  EXPECT_EQ(Find("ckpt-7"), "ckpt-7");
  EXPECT_EQ(StatusOf("ckpt").code(), StatusCode::kNotFound);
}

TEST_F(VersionFilesTest, WhatIsNoVersion) {
  fs::create_directories(root_ / "1");
  EXPECT_THAT(std::string(StatusOf("1").message()),
              HasSubstr("does not appear to contain a SavedModel bundle"));
  Write("2/export.meta");
  EXPECT_EQ(StatusOf("2").code(), StatusCode::kUnimplemented);
}

TEST_F(VersionFilesTest, MemoryIsThatOfTheFilesInUse) {
  Write("1/a", std::string(1000, 'x'));
  Write("1/variables/variables.data-00000-of-00001", std::string(500, 'x'));
  auto estimate = EstimateVersionMemory(Path("1"));
  EXPECT_EQ(estimate->mapped, 500);
  EXPECT_EQ(estimate->heap, 1000 + 900);

  Write("ckpt-1.index", std::string(100, 'x'));
  Write("ckpt-1.data-00000-of-00002", std::string(200, 'x'));
  Write("ckpt-1.data-00001-of-00002", std::string(300, 'x'));
  Write("ckpt-10.data-00000-of-00001", std::string(5000, 'x'));
  estimate = EstimateVersionMemory(Path("ckpt-1"));
  EXPECT_EQ(estimate->mapped, 500);
  EXPECT_EQ(estimate->heap, 100 + 360);

  // Deployments share files between versions by links, also to directories.
  fs::create_directories(Path("2"));
  Write("2/b", std::string(10, 'x'));
  fs::create_directory_symlink(Path("1"), Path("2/linked"));
  fs::create_directory_symlink(Path("2"), Path("2/itself"));
  estimate = EstimateVersionMemory(Path("2"));
  EXPECT_EQ(estimate->mapped, 500);
  EXPECT_EQ(estimate->heap, 10 + 1000 + 906);

  EXPECT_EQ(EstimateVersionMemory(Path("1/a")).status(),
            absl::FailedPreconditionError(Path("1/a") + "; Not a directory"));
  EXPECT_EQ(EstimateVersionMemory(Path("absent")).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tessera::serving
