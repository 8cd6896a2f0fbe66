#include "runtime/checkpoint/checkpoint_v1.h"

#include <stdlib.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"

namespace tessera {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

class CheckpointV1Test : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/v1_XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return JoinPath(folder_, name); }
  static TensorPart Part(const char* place, std::initializer_list<float> values) {
    return {"s", *ShapeAndSlice::Parse(place), Tensor::Vector<float>(values)};
  }
  absl::StatusOr<Tensor> Read(const std::string& pattern, const std::string& place) const {
    auto reader = CheckpointV1Reader::Open(Path(pattern));
    if (!reader.ok()) return reader.status();
    std::optional<ShapeAndSlice> parsed;
    if (!place.empty()) parsed = *ShapeAndSlice::Parse(place);
    return (*reader)->Read("s", DType::kFloat, parsed);
  }

  std::string folder_;
};

TEST_F(CheckpointV1Test, SlicesOfSeveralFilesAreJoined) {
  ASSERT_TRUE(WriteCheckpointV1(Path("c-0"), {Part("5 0,2", {1, 2})}).ok());
  ASSERT_TRUE(WriteCheckpointV1(Path("c-1"), {Part("5 2,2", {3, 4}), Part("5 4,1", {5})}).ok());
  EXPECT_THAT(Read("c-?", "")->flat<float>(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Read("c-*", "5 1,3")->flat<float>(), ElementsAre(2, 3, 4));
  EXPECT_EQ(Read("c-0", "").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(Read("c-?", "6 0,2").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Read("d-?", "").status().code(), StatusCode::kNotFound);
}

TEST_F(CheckpointV1Test, BadPartsAreRefused) {
  const TensorPart first = Part("5 0,2", {1, 2});
  for (const TensorPart& second : {first, Part("6 2,2", {3, 4}), Part("5 2,2", {3})}) {
    EXPECT_EQ(WriteCheckpointV1(Path("c"), {first, second}).code(), StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(FileExists(Path("c")));
}

TEST_F(CheckpointV1Test, ACutOrSpoiltFileIsRefused) {
  ASSERT_TRUE(WriteCheckpointV1(Path("c"), {Part("2 -", {1, 2})}).ok());
  const std::string file = *ReadFile(Path("c"));
  for (size_t i = 0; i < file.size(); ++i) {
    ASSERT_TRUE(WriteFileAtomically(Path("d"), file.substr(0, i)).ok());
    EXPECT_FALSE(Read("d", "").ok()) << i;
    std::string spoilt = file;
    spoilt[i] ^= 0x20;
    ASSERT_TRUE(WriteFileAtomically(Path("d"), spoilt).ok());
    const auto tensor = Read("d", "");  // padding of the footer may be anything
    if (tensor.ok()) {
      EXPECT_THAT(tensor->flat<float>(), ElementsAre(1, 2)) << i;
    }
  }
}

}  // namespace
}  // namespace tessera
