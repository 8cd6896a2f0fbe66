#include "runtime/checkpoint/checkpoint_reader.h"

#include <stdlib.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_index.h"
#include "runtime/checkpoint/checkpoint_writer.h"

namespace tessera {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckpointReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/checkpoint_XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    prefix_ = directory_ + "/model";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string IndexPath() const { return prefix_ + ".index"; }
  std::string DataPath() const { return prefix_ + ".data-00000-of-00001"; }

  // Without the syncs of an atomic write, which would take most of the tests' time.
  static void Overwrite(const std::string& path, absl::string_view contents) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  }

  // A checkpoint of one tensor of each kind, one of them partitioned.
  void WriteSample() {
    CheckpointWriter writer = *CheckpointWriter::Create(prefix_);
    ASSERT_TRUE(writer.Add("float", Tensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6})).ok());
    ASSERT_TRUE(writer.Add("string", Tensor::Vector<std::string>({"a", "", "ccc"})).ok());
    ASSERT_TRUE(writer.Add("empty", *Tensor::Allocate(DType::kFloat, {0, 4})).ok());
    ASSERT_TRUE(writer.Add("scalar", Tensor::Scalar(int64_t{7})).ok());
    for (const char* slice : {"0,1:-", "1,2:0,1", "1,2:1,1"}) {
      const TensorSlice box = *TensorSlice::Parse(slice)->Within({3, 2});
      Tensor part = *Tensor::Allocate(DType::kInt32, box.shape());
      int i = 0;
      for (int64_t r = 0; r < box.length[0]; ++r) {
        for (int64_t c = 0; c < box.length[1]; ++c) {
          part.flat<int32_t>()[i++] =
              static_cast<int32_t>(10 * (box.start[0] + r) + box.start[1] + c);
        }
      }
      ASSERT_TRUE(writer.AddSlice("split", {3, 2}, *TensorSlice::Parse(slice), part).ok());
    }
    ASSERT_TRUE(writer.Finish().ok());
  }

  // All tensors as text; the first error otherwise.
  absl::StatusOr<std::map<std::string, std::string>> ReadAll() const {
    auto reader = CheckpointReader::Open(prefix_);
    if (!reader.ok()) return reader.status();
    std::map<std::string, std::string> all;
    for (const std::string& name : (*reader)->TensorNames()) {
      const auto tensor = (*reader)->Read(name);
      if (!tensor.ok()) return tensor.status();
      all[name] = tensor->ToString();
    }
    return all;
  }

  // A checkpoint whose index is `entries` and whose data file is `data`.
  void WriteRaw(const std::map<std::string, CheckpointIndexEntry>& entries, const std::string& data,
                const CheckpointHeader& header = {}) {
    Overwrite(DataPath(), data);
    ASSERT_TRUE(WriteCheckpointIndex(prefix_, header, entries).ok());
  }

  static CheckpointIndexEntry Entry(DType dtype, Shape shape, absl::string_view bytes,
                                    int64_t offset = 0) {
    CheckpointIndexEntry entry;
    entry.stored.dtype = dtype;
    entry.stored.shape = std::move(shape);
    entry.stored.offset = offset;
    entry.stored.size = static_cast<int64_t>(bytes.size());
    entry.stored.crc = Crc32c(bytes);
    return entry;
  }

  // The error of reading the only tensor "t" of such a checkpoint.
  absl::Status ReadRaw(const CheckpointIndexEntry& entry, const std::string& data) {
    WriteRaw({{"t", entry}}, data);
    auto reader = CheckpointReader::Open(prefix_);
    return reader.ok() ? (*reader)->Read("t").status() : reader.status();
  }

  std::string directory_;
  std::string prefix_;
};

TEST_F(CheckpointReaderTest, TensorsComeBack) {
  WriteSample();
  EXPECT_THAT(*ReadAll(), ElementsAre(std::pair("empty", "float[0,4] []"),
                                      std::pair("float", "float[2,3] [[1 2 3] [4 5 6]]"),
                                      std::pair("scalar", "int64[] 7"),
                                      std::pair("split", "int32[3,2] [[0 1] [10 11] [20 21]]"),
                                      std::pair("string", "string[3] [\"a\" \"\" \"ccc\"]")));
  const auto reader = *CheckpointReader::Open(prefix_);
  EXPECT_TRUE(reader->Contains("float"));
  EXPECT_FALSE(reader->Contains("flo"));
  EXPECT_FALSE(reader->Contains(""));
  EXPECT_TRUE(reader->Find("split")->is_partitioned);
  EXPECT_EQ(reader->Find("split")->shape, (Shape{3, 2}));
  EXPECT_EQ(reader->Find("float")->dtype, DType::kFloat);
}

TEST_F(CheckpointReaderTest, TensorsAliasTheFileAndOutliveTheReader) {
  WriteSample();
  auto reader = *CheckpointReader::Open(prefix_);
  const Tensor a = *reader->Read("float");
  const Tensor b = *reader->Read("float");
  EXPECT_EQ(a.raw(), b.raw());
  EXPECT_TRUE(a.IsAligned());
  EXPECT_FALSE(a.CanWriteInPlace());
  reader.reset();
  EXPECT_THAT(a.flat<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(CheckpointReaderTest, SlicesOfWholeTensors) {
  WriteSample();
  const auto reader = *CheckpointReader::Open(prefix_);
  const auto read = [&](const char* name, const char* slice) {
    const auto tensor = reader->ReadSlice(name, *TensorSlice::Parse(slice));
    return tensor.ok() ? tensor->ToString() : tensor.status().ToString();
  };
  EXPECT_EQ(read("float", "-:-"), "float[2,3] [[1 2 3] [4 5 6]]");
  EXPECT_EQ(read("float", "1,1:-"), "float[1,3] [[4 5 6]]");
  EXPECT_EQ(read("float", "-:1,2"), "float[2,2] [[2 3] [5 6]]");
  EXPECT_EQ(read("string", "1,2"), "string[2] [\"\" \"ccc\"]");
  EXPECT_EQ(read("scalar", ""), "int64[] 7");
  EXPECT_EQ(reader->ReadSlice("float", *TensorSlice::Parse("1,1:-"))->raw(),
            reader->Read("float")->raw() + 12);
  EXPECT_EQ(reader->ReadSlice("float", *TensorSlice::Parse("1,2:-")).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(reader->ReadSlice("float", *TensorSlice::Parse("-")).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(CheckpointReaderTest, SlicesOfPartitionedTensors) {
  WriteSample();
  const auto reader = *CheckpointReader::Open(prefix_);
  const auto read = [&](const char* slice) {
    return reader->ReadSlice("split", *TensorSlice::Parse(slice))->ToString();
  };
  EXPECT_EQ(read("0,1:-"), "int32[1,2] [[0 1]]");
  EXPECT_EQ(read("1,2:1,1"), "int32[2,1] [[11] [21]]");
  EXPECT_EQ(read("0,2:1,1"), "int32[2,1] [[1] [11]]");
  // A stored slice is aliased.
  EXPECT_FALSE(reader->ReadSlice("split", *TensorSlice::Parse("1,2:1,1"))->CanWriteInPlace());
}

TEST_F(CheckpointReaderTest, MissingThingsAreNamed) {
  const absl::Status none = CheckpointReader::Open(prefix_).status();
  EXPECT_EQ(none.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.message()), HasSubstr(IndexPath()));

  WriteSample();
  const auto reader = *CheckpointReader::Open(prefix_);
  const absl::Status unknown = reader->Read("nope").status();
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("'nope'"));
  EXPECT_THAT(std::string(unknown.message()), HasSubstr(prefix_));

  ASSERT_TRUE(RemoveFile(DataPath()).ok());
  const absl::Status no_data = (*CheckpointReader::Open(prefix_))->Read("float").status();
  EXPECT_EQ(no_data.code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(no_data.message()), HasSubstr(DataPath()));
  EXPECT_THAT(std::string(no_data.message()), HasSubstr("'float'"));
}

TEST_F(CheckpointReaderTest, EveryFlippedByteOfTheDataIsNoticed) {
  WriteSample();
  const auto expected = *ReadAll();
  const std::string good = *ReadFile(DataPath());
  int harmless = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 0x10;
    Overwrite(DataPath(), bad);
    const auto read = ReadAll();
    if (read.ok()) {
      EXPECT_EQ(*read, expected);
      ++harmless;
    } else {
      EXPECT_EQ(read.status().code(), StatusCode::kDataLoss) << read.status();
      EXPECT_THAT(std::string(read.status().message()), HasSubstr(DataPath()));
    }
  }
  // Six numeric tensors at multiples of 64 bytes, and the strings.
  EXPECT_EQ(harmless, static_cast<int>(good.size()) - (24 + 8 + 8 + 8 + 8 + 3 + 4 + 4));
}

TEST_F(CheckpointReaderTest, EveryFlippedByteOfTheIndexIsNoticedOrHarmless) {
  WriteSample();
  const auto expected = *ReadAll();
  const std::string good = *ReadFile(IndexPath());
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 0x04;
    Overwrite(IndexPath(), bad);
    const auto read = ReadAll();
    if (read.ok()) {
      EXPECT_EQ(*read, expected);
    } else {
      EXPECT_EQ(read.status().code(), StatusCode::kDataLoss) << read.status();
      EXPECT_THAT(std::string(read.status().message()), HasSubstr(IndexPath()));
    }
  }
}

TEST_F(CheckpointReaderTest, TruncatedFilesAreNoticed) {
  WriteSample();
  const std::string index = *ReadFile(IndexPath());
  for (size_t size = 0; size < index.size(); size += 7) {
    Overwrite(IndexPath(), index.substr(0, size));
    EXPECT_EQ(ReadAll().status().code(), StatusCode::kDataLoss) << size;
  }
  Overwrite(IndexPath(), index);
  const std::string data = *ReadFile(DataPath());
  for (size_t size = 0; size < data.size(); size += 7) {
    Overwrite(DataPath(), data.substr(0, size));
    EXPECT_EQ(ReadAll().status().code(), StatusCode::kDataLoss) << size;
  }
}

TEST_F(CheckpointReaderTest, EntriesThatLieAreRefused) {
  const std::string data(16, '\1');
  const CheckpointIndexEntry good = Entry(DType::kFloat, {4}, data);
  EXPECT_TRUE(ReadRaw(good, data).ok());

  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const int64_t offset : {int64_t{1}, int64_t{-1}, int64_t{16}, kMax, -kMax}) {
    CheckpointIndexEntry entry = good;
    entry.stored.offset = offset;
    EXPECT_EQ(ReadRaw(entry, data).code(), StatusCode::kDataLoss) << offset;
  }
  for (const int64_t size : {int64_t{0}, int64_t{12}, int64_t{20}, int64_t{-16}, kMax}) {
    CheckpointIndexEntry entry = good;
    entry.stored.size = size;
    EXPECT_EQ(ReadRaw(entry, data).code(), StatusCode::kDataLoss) << size;
  }
  for (const Shape& shape : {Shape{3}, Shape{kMax / 4}, Shape{1 << 30, 1 << 30}}) {
    CheckpointIndexEntry entry = good;
    entry.stored.shape = shape;
    EXPECT_EQ(ReadRaw(entry, data).code(), StatusCode::kDataLoss) << shape.ToString();
    entry.stored.dtype = DType::kString;
    EXPECT_EQ(ReadRaw(entry, data).code(), StatusCode::kDataLoss) << shape.ToString();
  }
  for (const int shard : {-1, 1, 1 << 30}) {
    CheckpointIndexEntry entry = good;
    entry.shard = shard;
    EXPECT_EQ(ReadRaw(entry, data).code(), StatusCode::kDataLoss) << shard;
  }
  for (const DType dtype : {DType::kInvalid, DType::kResource, static_cast<DType>(77)}) {
    CheckpointIndexEntry entry = good;
    entry.stored.dtype = dtype;
    EXPECT_EQ(ReadRaw(entry, data).code(), StatusCode::kUnimplemented);
  }
}

TEST_F(CheckpointReaderTest, StringsThatLieAreRefused) {
  const auto read = [&](const std::string& lengths, const std::string& bytes) {
    // Of lengths below 128, given as one byte each.
    uint32_t crc = 0;
    for (const char c : lengths) crc = ExtendCrc32c(crc, std::string({c, 0, 0, 0}));
    const uint32_t masked = MaskCrc32c(crc);
    const std::string sum(reinterpret_cast<const char*>(&masked), 4);
    CheckpointIndexEntry entry = Entry(DType::kString, {2}, lengths + sum + bytes);
    entry.stored.crc = ExtendCrc32c(crc, sum + bytes);
    return ReadRaw(entry, lengths + sum + bytes);
  };
  EXPECT_TRUE(read("\1\2", "abb").ok());
  EXPECT_EQ(read("\1\3", "abb").code(), StatusCode::kDataLoss);
  EXPECT_EQ(read("\1\1", "abb").code(), StatusCode::kDataLoss);
  EXPECT_EQ(read("\x7f\x7f", "abb").code(), StatusCode::kDataLoss);
}

TEST_F(CheckpointReaderTest, PartitionsThatLieAreRefused) {
  const std::string data(16, '\1');
  const TensorSlice first = *TensorSlice::Parse("0,2"), second = *TensorSlice::Parse("2,2");
  CheckpointIndexEntry whole = Entry(DType::kFloat, {4}, "");
  whole.slices = {first, second};
  const CheckpointIndexEntry half = Entry(DType::kFloat, {2}, data.substr(8));
  const auto read = [&](const std::map<std::string, CheckpointIndexEntry>& entries) {
    WriteRaw(entries, data);
    return (*CheckpointReader::Open(prefix_))->Read("t").status();
  };
  const std::string k1 = SliceKey("t", first), k2 = SliceKey("t", second);
  EXPECT_TRUE(read({{"t", whole}, {k1, half}, {k2, half}}).ok());
  EXPECT_EQ(read({{"t", whole}, {k1, half}}).code(), StatusCode::kDataLoss);

  // Slices that leave a gap, or are there twice instead of covering all.
  CheckpointIndexEntry bad = whole;
  bad.slices = {first};
  EXPECT_EQ(read({{"t", bad}, {k1, half}}).code(), StatusCode::kDataLoss);
  bad.slices = {first, first};
  EXPECT_EQ(read({{"t", bad}, {k1, half}}).code(), StatusCode::kDataLoss);
  // Slices that add up to the whole, but overlap and leave a gap.
  bad.slices = {first, *TensorSlice::Parse("1,2")};
  EXPECT_EQ(read({{"t", bad}, {k1, half}, {SliceKey("t", bad.slices[1]), half}}).code(),
            StatusCode::kDataLoss);
  // A slice of another type or shape, or one that is partitioned itself.
  CheckpointIndexEntry odd = half;
  odd.stored.dtype = DType::kInt32;
  EXPECT_EQ(read({{"t", whole}, {k1, half}, {k2, odd}}).code(), StatusCode::kDataLoss);
  odd = Entry(DType::kFloat, {1}, data.substr(12));
  EXPECT_EQ(read({{"t", whole}, {k1, half}, {k2, odd}}).code(), StatusCode::kDataLoss);
  odd = half;
  odd.slices = {first};
  EXPECT_EQ(read({{"t", whole}, {k1, half}, {k2, odd}}).code(), StatusCode::kDataLoss);
  // A slice that does not fit the whole.
  bad.slices = {first, *TensorSlice::Parse("3,2")};
  WriteRaw({{"t", bad}}, data);
  EXPECT_EQ(CheckpointReader::Open(prefix_).status().code(), StatusCode::kDataLoss);
}

TEST_F(CheckpointReaderTest, AWholeOfHugeShapeTakesNoMemory) {
  CheckpointIndexEntry whole = Entry(DType::kFloat, {int64_t{1} << 40}, "");
  whole.slices = {*TensorSlice::Parse("0,2")};
  WriteRaw({{"t", whole}}, "");
  EXPECT_EQ((*CheckpointReader::Open(prefix_))->Read("t").status().code(), StatusCode::kDataLoss);
}

TEST_F(CheckpointReaderTest, TheOtherByteOrderIsRead) {
  const std::string floats("\x3f\x80\0\0\xc0\0\0\0", 8);
  const std::string complexes("\x3f\x80\0\0\xc0\0\0\0", 8);
  std::string strings("\1\1", 2);
  const std::string lengths("\0\0\0\1\0\0\0\1", 8);
  const uint32_t masked = __builtin_bswap32(MaskCrc32c(Crc32c(lengths)));
  const std::string sum(reinterpret_cast<const char*>(&masked), 4);
  CheckpointIndexEntry string_entry = Entry(DType::kString, {2}, strings + sum + "ab", 16);
  string_entry.stored.crc = Crc32c(lengths + sum + "ab");
  CheckpointHeader header;
  header.is_foreign_endian = true;
  WriteRaw({{"c", Entry(DType::kComplex64, {}, complexes, 8)},
            {"f", Entry(DType::kFloat, {2}, floats)},
            {"s", string_entry}},
           floats + complexes + strings + sum + "ab", header);
  EXPECT_THAT(*ReadAll(),
              ElementsAre(std::pair("c", "complex64[] (1,-2)"), std::pair("f", "float[2] [1 -2]"),
                          std::pair("s", "string[2] [\"a\" \"b\"]")));
}

TEST_F(CheckpointReaderTest, UnalignedTensorsAreCopied) {
  const std::string data = std::string("x") + std::string("\0\0\x80\x3f", 4);
  WriteRaw({{"t", Entry(DType::kFloat, {}, data.substr(1), 1)}}, data);
  const Tensor t = *(*CheckpointReader::Open(prefix_))->Read("t");
  EXPECT_EQ(t.scalar<float>(), 1.0f);
  EXPECT_TRUE(t.CanWriteInPlace());
}

TEST_F(CheckpointReaderTest, ManyThreadsRead) {
  WriteSample();
  const auto reader = *CheckpointReader::Open(prefix_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        for (const std::string& name : reader->TensorNames()) {
          ASSERT_TRUE(reader->Read(name).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Checkpoints that TensorFlow wrote: those of tests/data, and of the shared folder if it is there.
std::vector<std::string> RecordedPrefixes() {
  namespace fs = std::filesystem;
  std::vector<fs::path> roots = {"tests/data"};
  const char* shared = std::getenv("TESSERA_SHARED");
  // The files here are links to the repository's, beside which the folder lies.
  std::error_code error;
  const fs::path repository = fs::canonical("tests/data/README.md", error).parent_path() / "../..";
  const fs::path folder = shared != nullptr ? fs::path(shared) : repository / "../shared";
  for (const char* name : {"models", "checkpoints"}) {
    if (fs::is_directory(folder / name, error)) roots.push_back(folder / name);
  }
  std::vector<std::string> prefixes;
  for (const fs::path& root : roots) {
    for (const auto& file : fs::recursive_directory_iterator(
             root, fs::directory_options::follow_directory_symlink, error)) {
      if (file.path().extension() == ".index") {
        prefixes.push_back(fs::path(file.path()).replace_extension().string());
      }
    }
  }
  return prefixes;
}

TEST_F(CheckpointReaderTest, TensorFlowsCheckpointsAreReadAndRewritten) {
  const std::vector<std::string> prefixes = RecordedPrefixes();
  EXPECT_GE(prefixes.size(), 10u);
  for (const std::string& prefix : prefixes) {
    const auto reader = CheckpointReader::Open(prefix);
    ASSERT_TRUE(reader.ok()) << reader.status();
    CheckpointWriter writer = *CheckpointWriter::Create(prefix_);
    const std::vector<std::string> names = (*reader)->TensorNames();
    EXPECT_FALSE(names.empty()) << prefix;
    for (const std::string& name : names) {
      const auto tensor = (*reader)->Read(name);
      ASSERT_TRUE(tensor.ok()) << tensor.status();
      EXPECT_EQ(tensor->shape(), (*reader)->Find(name)->shape);
      ASSERT_TRUE(writer.Add(name, *tensor).ok());
    }
    ASSERT_TRUE(writer.Finish().ok());
    const auto copy = *CheckpointReader::Open(prefix_);
    EXPECT_EQ(copy->TensorNames(), names);
    for (const std::string& name : names) {
      const Tensor a = *(*reader)->Read(name), b = *copy->Read(name);
      if (a.dtype() == DType::kString) {
        EXPECT_EQ(a.flat<std::string>(), b.flat<std::string>());
      } else {
        EXPECT_EQ(absl::string_view(a.raw(), a.size_bytes()),
                  absl::string_view(b.raw(), b.size_bytes()));
      }
    }
  }
}

}  // namespace
}  // namespace tessera
