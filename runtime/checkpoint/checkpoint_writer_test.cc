#include "runtime/checkpoint/checkpoint_writer.h"

#include <stdlib.h>

#include <filesystem>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_index.h"
#include "runtime/checkpoint/checkpoint_reader.h"

namespace tessera {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CheckpointWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/checkpoint_XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  // Writes a checkpoint with one tensor.
  std::string WriteOne(const std::string& checkpoint, const std::string& name, float value) {
    CheckpointWriter writer = *CheckpointWriter::Create(Path(checkpoint));
    EXPECT_TRUE(writer.Add(name, Tensor::Scalar(value)).ok());
    EXPECT_TRUE(writer.Finish().ok());
    return Path(checkpoint);
  }
  std::string WriteSlice(const std::string& checkpoint, const char* slice,
                         std::initializer_list<float> values) {
    CheckpointWriter writer = *CheckpointWriter::Create(Path(checkpoint));
    EXPECT_TRUE(
        writer.AddSlice("s", {4}, *TensorSlice::Parse(slice), Tensor::Vector<float>(values)).ok());
    EXPECT_TRUE(writer.Finish().ok());
    return Path(checkpoint);
  }

  std::string directory_;
};

TEST_F(CheckpointWriterTest, NothingIsLeftWithoutFinish) {
  {
    CheckpointWriter writer = *CheckpointWriter::Create(Path("m"));
    ASSERT_TRUE(writer.Add("a", Tensor::Scalar(1.0f)).ok());
  }
  EXPECT_THAT(*ListDirectory(directory_), IsEmpty());
}

TEST_F(CheckpointWriterTest, FilesAreTensorFlowsAndDirectoriesAreMade) {
  WriteOne("new/dir/m-100", "a", 1);
  EXPECT_THAT(*ListDirectory(Path("new/dir")),
              ElementsAre("m-100.data-00000-of-00001", "m-100.index"));
}

TEST_F(CheckpointWriterTest, BadNamesAndTypesAreRefused) {
  CheckpointWriter writer = *CheckpointWriter::Create(Path("m"));
  const Tensor t = Tensor::Scalar(1.0f);
  EXPECT_EQ(writer.Add("", t).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(writer.Add(absl::string_view("\0a", 2), t).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(writer.Add("a", t).ok());
  EXPECT_EQ(writer.Add("a", t).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(writer.Add("r", *Tensor::Allocate(DType::kResource, {})).code(),
            StatusCode::kUnimplemented);
  EXPECT_EQ(writer.Add("none", Tensor()).code(), StatusCode::kUnimplemented);
}

TEST_F(CheckpointWriterTest, BadSlicesAreRefused) {
  CheckpointWriter writer = *CheckpointWriter::Create(Path("m"));
  const Tensor two = Tensor::Vector<float>({1, 2});
  const TensorSlice first = *TensorSlice::Parse("0,2");
  ASSERT_TRUE(writer.AddSlice("s", {4}, first, two).ok());
  ASSERT_TRUE(writer.Add("whole", two).ok());
  for (const absl::Status& status :
       {writer.AddSlice("s", {4}, first, two),                       // twice
        writer.AddSlice("s", {5}, *TensorSlice::Parse("2,2"), two),  // another shape
        writer.AddSlice("s", {4}, *TensorSlice::Parse("2,1"), two),  // another size
        writer.AddSlice("s", {4}, *TensorSlice::Parse("3,2"), two),  // beyond the end
        writer.AddSlice("s", {4}, *TensorSlice::Parse("2,2"),
                        Tensor::Vector<int32_t>({1, 2})),  // another type
        writer.AddSlice("whole", {4}, first, two), writer.Add("s", two)}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
  }
}

TEST_F(CheckpointWriterTest, ASliceThatIsTheWholeIsStoredAsSuch) {
  CheckpointWriter writer = *CheckpointWriter::Create(Path("m"));
  ASSERT_TRUE(
      writer.AddSlice("s", {2}, *TensorSlice::Parse("0,2"), Tensor::Vector<float>({1, 2})).ok());
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_FALSE((*CheckpointReader::Open(Path("m")))->Find("s")->is_partitioned);
}

TEST_F(CheckpointWriterTest, ALargeFileHasAllBytesInTheirOrder) {
  Tensor large = *Tensor::Allocate(DType::kInt32, {(13 << 18) + 5});  // 13 MB and a little
  int32_t next = 0;
  for (int32_t& x : large.flat<int32_t>()) x = next++;
  CheckpointWriter writer = *CheckpointWriter::Create(Path("m"));
  ASSERT_TRUE(writer.Add("a", Tensor::Scalar(1.0f)).ok());
  ASSERT_TRUE(writer.Add("large", large).ok());
  ASSERT_TRUE(writer.Add("z", Tensor::Scalar(2.0f)).ok());
  ASSERT_TRUE(writer.Finish().ok());
  const auto reader = *CheckpointReader::Open(Path("m"));
  EXPECT_EQ(reader->Read("a")->scalar<float>(), 1);
  EXPECT_EQ(reader->Read("z")->scalar<float>(), 2);
  const absl::StatusOr<Tensor> read = reader->Read("large");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->flat<int32_t>(), large.flat<int32_t>());
}

TEST_F(CheckpointWriterTest, OverwritingReplacesTheCheckpoint) {
  WriteOne("m", "a", 1);
  WriteOne("m", "b", 2);
  const auto reader = *CheckpointReader::Open(Path("m"));
  EXPECT_THAT(reader->TensorNames(), ElementsAre("b"));
  EXPECT_EQ(reader->Read("b")->scalar<float>(), 2);
}

TEST_F(CheckpointWriterTest, MergingMovesTheDataOfAll) {
  const std::string a = WriteOne("tmp/part-0", "a", 1), b = WriteOne("tmp/part-1", "b", 2);
  const std::string s1 = WriteSlice("tmp/part-2", "0,2", {1, 2});
  const std::string s2 = WriteSlice("tmp/part-3", "2,2", {3, 4});
  ASSERT_TRUE(MergeCheckpoints({a, b, s1, s2}, Path("m")).ok());
  const auto reader = *CheckpointReader::Open(Path("m"));
  EXPECT_THAT(reader->TensorNames(), ElementsAre("a", "b", "s"));
  EXPECT_EQ(reader->Read("b")->scalar<float>(), 2);
  EXPECT_THAT(reader->Read("s")->flat<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(*ListDirectory(Path("tmp")), IsEmpty());
  EXPECT_TRUE(FileExists(Path("m.data-00003-of-00004")));

  // A merged checkpoint can be merged again.
  ASSERT_TRUE(MergeCheckpoints({Path("m"), WriteOne("c", "c", 3)}, Path("n")).ok());
  const auto again = *CheckpointReader::Open(Path("n"));
  EXPECT_EQ(again->Read("c")->scalar<float>(), 3);
  EXPECT_THAT(again->Read("s")->flat<float>(), ElementsAre(1, 2, 3, 4));
}

TEST_F(CheckpointWriterTest, MergingOneOntoItselfKeepsIt) {
  ASSERT_TRUE(MergeCheckpoints({WriteOne("m", "a", 1)}, Path("m")).ok());
  EXPECT_TRUE((*CheckpointReader::Open(Path("m")))->Read("a").ok());
}

TEST_F(CheckpointWriterTest, MergingWhatDoesNotFitChangesNothing) {
  const std::string a = WriteOne("a", "x", 1), b = WriteOne("b", "x", 2);
  const absl::Status twice = MergeCheckpoints({a, b}, Path("m"));
  EXPECT_EQ(twice.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(twice.message()), HasSubstr("'x'"));
  EXPECT_EQ(MergeCheckpoints({a, Path("none")}, Path("m")).code(), StatusCode::kNotFound);
  EXPECT_EQ(MergeCheckpoints({}, Path("m")).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(RemoveFile(b + ".data-00000-of-00001").ok());
  EXPECT_EQ(MergeCheckpoints({b}, Path("m")).code(), StatusCode::kDataLoss);
  EXPECT_TRUE((*CheckpointReader::Open(a))->Read("x").ok());
  EXPECT_FALSE(FileExists(Path("m.index")));
}

TEST_F(CheckpointWriterTest, MergingEntriesInFilesThatThereAreNotChangesNothing) {
  const std::string a = WriteOne("a", "a", 1), b = WriteOne("b", "b", 2);
  CheckpointIndexEntry entry;
  entry.stored.dtype = DType::kFloat;
  for (const int shard : {-1, 1, std::numeric_limits<int>::max()}) {
    entry.shard = shard;
    ASSERT_TRUE(WriteCheckpointIndex(b, CheckpointHeader(), {{"b", entry}}).ok());
    EXPECT_EQ(MergeCheckpoints({a, b}, Path("m")).code(), StatusCode::kDataLoss) << shard;
  }
  EXPECT_TRUE((*CheckpointReader::Open(a))->Read("a").ok());
}

}  // namespace
}  // namespace tessera
