#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/crc32c.h"
#include "runtime/checkpoint/table_format.h"
#include "runtime/checkpoint/table_reader.h"
#include "runtime/checkpoint/table_writer.h"
#include "snappy.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using Entries = std::map<std::string, std::string>;

std::string Write(const Entries& entries) {
  TableWriter writer;
  for (const auto& [key, value] : entries) writer.Add(key, value);
  return std::move(writer).Finish();
}

absl::StatusOr<Entries> Read(absl::string_view file) {
  Entries entries;
  const absl::Status status = ReadTable(file, [&](absl::string_view key, absl::string_view value) {
    entries.emplace(key, value);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return entries;
}

// A file of the given blocks, for tables that the writer does not write. The last one is the index;
// block i of the others is named by its entry "i".
class RawTable {
 public:
  // Of one entry without a shared prefix.
  static std::string Entry(absl::string_view key, absl::string_view value) {
    std::string entry;
    table::AppendVarint(0, &entry);
    table::AppendVarint(key.size(), &entry);
    table::AppendVarint(value.size(), &entry);
    entry.append(key.data(), key.size());
    return entry.append(value.data(), value.size());
  }
  static std::string Block(absl::string_view entries) {
    std::string block(entries);
    table::AppendLittleEndian(uint32_t{0}, &block);
    table::AppendLittleEndian(uint32_t{1}, &block);
    return block;
  }

  std::string Append(std::string block, char compression = 0) {
    std::string handle;
    table::AppendVarint(file_.size(), &handle);
    table::AppendVarint(block.size(), &handle);
    block.push_back(compression);
    const uint32_t crc = MaskCrc32c(Crc32c(block));
    file_ += block;
    table::AppendLittleEndian(crc, &file_);
    return handle;
  }

  // `index` holds entries.
  std::string Finish(absl::string_view index) {
    std::string footer = Append(Block(""));
    footer += Append(Block(index));
    footer.resize(table::kFooterSize - 8);
    table::AppendLittleEndian(table::kMagic, &footer);
    return file_ + footer;
  }

 private:
  std::string file_;
};

TEST(TableTest, EntriesComeBackInOrder) {
  Entries entries{{"", "header"}};
  for (int i = 0; i < 3000; ++i) {
    entries["layer/" + std::to_string(i % 37) + "/weight" + std::to_string(i)] =
        std::string(i % 50, 'v');
  }
  EXPECT_EQ(*Read(Write(entries)), entries);
  EXPECT_EQ(*Read(Write({})), Entries());
  EXPECT_EQ(*Read(Write({{"k", std::string(100000, 'v')}})),
            (Entries{{"k", std::string(100000, 'v')}}));
}

TEST(TableTest, CompressedBlocksAreRead) {
  const std::string block = RawTable::Block(RawTable::Entry("a", std::string(1000, 'x')));
  std::string compressed;
  snappy::Compress(block.data(), block.size(), &compressed);
  RawTable table;
  const std::string handle = table.Append(compressed, 1);
  EXPECT_EQ(*Read(table.Finish(RawTable::Entry("a", handle))),
            (Entries{{"a", std::string(1000, 'x')}}));
}

TEST(TableTest, EveryFlippedByteIsNoticedOrHarmless) {
  const Entries entries{{"", "h"}, {"a", "1"}, {"ab", "2"}, {"b", std::string(20, 'x')}};
  const std::string good = Write(entries);
  int harmless = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string bad = good;
      bad[i] ^= flip;
      const auto read = Read(bad);
      if (read.ok()) {
        EXPECT_EQ(*read, entries) << i;
        ++harmless;
      } else {
        EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << read.status();
      }
    }
  }
  // The meta index block, which is not read, and the footer's padding.
  EXPECT_LT(harmless, 3 * 60);
}

TEST(TableTest, EveryTruncationIsNoticed) {
  const std::string good = Write({{"", "h"}, {"a", "1"}});
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(Read(absl::string_view(good).substr(0, size)).status().code(),
              absl::StatusCode::kDataLoss)
        << size;
  }
}

TEST(TableTest, BlocksNamedTwiceAreRefused) {
  RawTable table;
  const std::string handle = table.Append(RawTable::Block(RawTable::Entry("a", "1")));
  const auto read = Read(table.Finish(RawTable::Entry("a", handle) + RawTable::Entry("b", handle)));
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("out of order"));
}

TEST(TableTest, AnIndexThatNamesItselfEnds) {
  // The handle of the block that holds this entry: offset 13 (after the empty meta block).
  RawTable table;
  std::string handle;
  table::AppendVarint(13, &handle);
  table::AppendVarint(RawTable::Block(RawTable::Entry("a", "xx")).size(), &handle);
  const auto read = Read(table.Finish(RawTable::Entry("a", handle)));
  // Read as data, the index block is one entry.
  EXPECT_EQ(*read, (Entries{{"a", handle}}));
}

TEST(TableTest, BlocksThatLieAreRefused) {
  const auto read_block = [](const std::string& block, char compression = 0) {
    RawTable table;
    const std::string handle = table.Append(block, compression);
    return Read(table.Finish(RawTable::Entry("z", handle))).status();
  };
  using absl::StatusCode;
  ASSERT_TRUE(read_block(RawTable::Block(RawTable::Entry("a", "1"))).ok());
  // A key that shares more than there is.
  EXPECT_EQ(read_block(RawTable::Block("\x05\x01\x01"
                                       "ab"))
                .code(),
            StatusCode::kDataLoss);
  // A value longer than the block.
  EXPECT_EQ(read_block(RawTable::Block(std::string("\0\x01\x7f"
                                                   "ab",
                                                   5)))
                .code(),
            StatusCode::kDataLoss);
  // Keys that do not ascend.
  EXPECT_EQ(read_block(RawTable::Block(RawTable::Entry("a", "") + RawTable::Entry("a", ""))).code(),
            StatusCode::kDataLoss);
  // More restart points than bytes.
  EXPECT_EQ(read_block("\xff\xff\xff\x7f").code(), StatusCode::kDataLoss);
  EXPECT_EQ(read_block("").code(), StatusCode::kDataLoss);
  // Compressed data that promises four gigabytes, and an unknown compression.
  EXPECT_EQ(read_block("\xff\xff\xff\xff\x0f", 1).code(), StatusCode::kDataLoss);
  EXPECT_EQ(read_block(RawTable::Block(""), 7).code(), StatusCode::kDataLoss);
}

TEST(TableTest, LongKeysThatSharePrefixesDoNotMultiply) {
  constexpr size_t kLength = 10'000;
  std::string entries = RawTable::Entry(std::string(kLength, 'k'), "");
  for (size_t i = 0; i < 1000; ++i) {  // each a byte longer than the one before
    table::AppendVarint(kLength + i, &entries);
    table::AppendVarint(1, &entries);
    table::AppendVarint(0, &entries);
    entries.push_back('k');
  }
  RawTable table;
  const std::string handle = table.Append(RawTable::Block(entries));
  size_t bytes = 0;
  const std::string file = table.Finish(RawTable::Entry("z", handle));
  const absl::Status status = ReadTable(file, [&](absl::string_view key, absl::string_view) {
    bytes += key.size();
    return absl::OkStatus();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_LE(bytes, 64 * file.size());
}

TEST(TableTest, ErrorsOfTheVisitorEndTheReading) {
  int calls = 0;
  const absl::Status status =
      ReadTable(Write({{"a", ""}, {"b", ""}}), [&](absl::string_view, absl::string_view) {
        ++calls;
        return absl::AbortedError("enough");
      });
  EXPECT_EQ(status.message(), "enough");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace tessera
