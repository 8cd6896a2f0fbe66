#include "serving/servables/saved_model/whole_version.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace tessera::serving {
namespace {

namespace fs = std::filesystem;

class WholeVersionTest : public ::testing::Test {
 protected:
  WholeVersionTest() {
    std::string pattern = JoinPath(::testing::TempDir(), "whole_XXXXXX");
    root_ = mkdtemp(pattern.data());
    version_ = root_ / "1";
    fs::copy("tests/data/digits/1", version_, fs::copy_options::recursive);
  }
  ~WholeVersionTest() override { fs::remove_all(root_); }

  bool IsWhole() const { return IsWholeVersion(version_); }
  // Whether the version would be whole with this file cut to each of some lengths.
  int CountWholeWhenCut(const std::string& file) {
    const fs::path path = version_ / file;
    const auto size = fs::file_size(path);
    int count = 0;
    for (int percent : {0, 1, 50, 99}) {
      const std::string whole = *ReadFile(path);
      fs::resize_file(path, size * percent / 100);
      count += IsWhole();
      std::ofstream(path, std::ios::binary) << whole;
    }
    return count;
  }

  fs::path root_, version_;
};

TEST_F(WholeVersionTest, AVersionWithAllItsBytesIsWhole) { EXPECT_TRUE(IsWhole()); }

TEST_F(WholeVersionTest, AVersionWithAFileCutShortIsNot) {
  for (const char* file :
       {"saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"}) {
    EXPECT_EQ(CountWholeWhenCut(file), 0) << file;
    EXPECT_TRUE(IsWhole()) << "restored";
  }
}

TEST_F(WholeVersionTest, APipeInAFilesPlaceHoldsNobodyUp) {
  fs::remove(version_ / "saved_model.pb");
  ASSERT_EQ(mkfifo((version_ / "saved_model.pb").c_str(), 0600), 0);
  EXPECT_FALSE(IsWhole());
}

TEST_F(WholeVersionTest, AVersionWithAFileMissingIsNot) {
  fs::rename(version_ / "variables", root_ / "variables");
  EXPECT_FALSE(IsWhole()) << "its graph restores variables";
  fs::rename(root_ / "variables", version_ / "variables");
  fs::remove(version_ / "saved_model.pb");
  EXPECT_FALSE(IsWhole()) << "the graph may be on its way";
  fs::create_directory(root_ / "2");
  EXPECT_FALSE(IsWholeVersion(root_ / "2"));
  EXPECT_FALSE(IsWholeVersion(root_ / "nowhere"));
}

TEST_F(WholeVersionTest, DataWithHolesAreStillBeingFilled) {
  const fs::path data = version_ / "variables/variables.data-00000-of-00001";
  const auto size = fs::file_size(data);
  fs::resize_file(data, 0);
  fs::resize_file(data, size);
  EXPECT_FALSE(IsWhole());
}

TEST_F(WholeVersionTest, NothingTellsWhetherAssetsAreWhole) {
  tensorflow::SavedModel model;
  ASSERT_TRUE(model.ParseFromString(*ReadFile(version_ / "saved_model.pb")));
  model.mutable_meta_graphs(0)->add_asset_file_def()->set_filename("words.txt");
  std::ofstream(version_ / "saved_model.pb", std::ios::binary) << model.SerializeAsString();
  EXPECT_FALSE(IsWhole());
}

}  // namespace
}  // namespace tessera::serving
