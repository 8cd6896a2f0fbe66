#include "runtime/data/record_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "runtime/base/tf_record.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string FileOf(const std::vector<std::string>& records) {
  std::string file;
  for (const std::string& record : records) AppendTfRecord(record, &file);
  return file;
}

// The records up to the end or the first error, which comes last, as text.
std::vector<std::string> ReadAll(ByteSource& source) {
  std::vector<std::string> found;
  std::string record;
  while (true) {
    const absl::StatusOr<bool> more = ReadRecord(source, &record);
    if (!more.ok()) found.push_back(more.status().ToString());
    if (!more.ok() || !*more) return found;
    found.push_back(record);
  }
}
std::vector<std::string> ReadAll(absl::string_view file,
                                 Compression compression = Compression::kNone) {
  return ReadAll(*ByteSource::Of(file, compression));
}

std::string Deflated(const std::string& bytes, Compression compression) {
  z_stream stream = {};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED,
               compression == Compression::kGzip ? 15 + 16 : 15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(RecordFileTest, RecordsComeBackAsTheyWereWritten) {
  const std::string large(100'000, 'x');
  EXPECT_THAT(ReadAll(FileOf({"one", "", large})), ElementsAre("one", "", large));
  EXPECT_THAT(ReadAll(""), ElementsAre());
}

TEST(RecordFileTest, CompressedFilesHoldTheSame) {
  for (const Compression compression : {Compression::kZlib, Compression::kGzip}) {
    const std::string large(100'000, 'x');
    EXPECT_THAT(ReadAll(Deflated(FileOf({"one", large}), compression), compression),
                ElementsAre("one", large));
  }
}

TEST(RecordFileTest, GzipMembersFollowEachOther) {
  const std::string file =
      Deflated(FileOf({"one"}), Compression::kGzip) + Deflated(FileOf({"two"}), Compression::kGzip);
  EXPECT_THAT(ReadAll(file, Compression::kGzip), ElementsAre("one", "two"));
}

TEST(RecordFileTest, EveryCutIsFound) {
  const std::string file = FileOf({"one", "two"});
  const size_t first = FileOf({"one"}).size();
  for (size_t size = first + 1; size < file.size(); ++size) {
    EXPECT_THAT(
        ReadAll(file.substr(0, size)),
        ElementsAre("one", HasSubstr(absl::StrCat("DATA_LOSS: truncated record at ", first))))
        << size;
  }
  const std::string compressed = Deflated(file, Compression::kGzip);
  for (size_t size = 1; size < compressed.size(); ++size) {
    const auto found = ReadAll(compressed.substr(0, size), Compression::kGzip);
    ASSERT_FALSE(found.empty()) << size;
    EXPECT_THAT(found.back(), HasSubstr("DATA_LOSS")) << size;
  }
}

TEST(RecordFileTest, EveryFlippedBitIsFound) {
  const std::string file = FileOf({"one"});
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string damaged = file;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_THAT(ReadAll(damaged), ElementsAre(HasSubstr("DATA_LOSS"))) << bit;
  }
}

TEST(RecordFileTest, AClaimedLengthTakesNoMemory) {
  std::string file = FileOf({"one"});
  // The frame of a record of 2^62 bytes, with the right checksum of its length.
  const std::string length("\0\0\0\0\0\0\0\x40", 8);
  std::string frame;
  AppendTfRecord(length, &frame);
  file += length + frame.substr(8 + 4 + 8);
  file += "and so on";
  EXPECT_THAT(ReadAll(file), ElementsAre("one", HasSubstr("truncated record at 19")));
}

TEST(ByteSourceTest, LinesMayLackTheirLastEnd) {
  const auto source = ByteSource::Of("one\n\nlast", Compression::kNone);
  std::vector<std::string> lines;
  std::string line;
  while (*source->ReadLine(&line)) lines.push_back(line);
  EXPECT_THAT(lines, ElementsAre("one", "", "last"));
  EXPECT_EQ(source->position(), 9);
}

TEST(ByteSourceTest, SkippingPastTheEndTellsHowMuchThereWas) {
  const auto source = ByteSource::Of("0123456789", Compression::kNone);
  EXPECT_EQ(*source->Skip(4), 4);
  EXPECT_EQ(*source->Peek(), '4');
  EXPECT_EQ(*source->Skip(100), 6);
  EXPECT_EQ(*source->Peek(), -1);
}

TEST(ByteSourceTest, MissingFilesAndDirectoriesAreNamed) {
  EXPECT_THAT(ByteSource::Open("/no/such/file", Compression::kNone).status().ToString(),
              ::testing::AllOf(HasSubstr("NOT_FOUND"), HasSubstr("/no/such/file")));
  EXPECT_EQ(ByteSource::Open(::testing::TempDir(), Compression::kNone).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(CompressionFromName("LZ4").status().ToString(), HasSubstr("LZ4"));
}

}  // namespace
}  // namespace tessera
