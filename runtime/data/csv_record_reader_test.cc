#include "runtime/data/csv_record_reader.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Records(const std::string& text, const CsvDialect& dialect = {}) {
  const auto bytes = ByteSource::Of(text, Compression::kNone);
  std::vector<std::string> records;
  std::string record;
  while (ReadCsvRecord(*bytes, dialect, &record).value()) records.push_back(record);
  return records;
}

TEST(CsvRecordReaderTest, LinesAreRecords) {
  EXPECT_THAT(Records(""), ElementsAre());
  EXPECT_THAT(Records("1,2\r\n\n3"), ElementsAre("1,2", "", "3"));
}

TEST(CsvRecordReaderTest, QuotedFieldsMayHoldLineEnds) {
  EXPECT_THAT(Records("1,\"a\nb\",2\n\"\r\n\"\r\n3\n"),
              ElementsAre("1,\"a\nb\",2", "\"\r\n\"", "3"));
  EXPECT_THAT(Records("\"\"\"\n\"\"\",x\n\"\",y"), ElementsAre("\"\"\"\n\"\"\",x", "\"\",y"));
  EXPECT_THAT(Records("a;\"b\nc\"\n", {.delimiter = ';'}), ElementsAre("a;\"b\nc\""));
  EXPECT_THAT(Records("\"a\nb"), ElementsAre("\"a\nb"));
}

TEST(CsvRecordReaderTest, QuotesElsewhereOpenNoField) {
  EXPECT_THAT(Records("5\" pipe\n6\n"), ElementsAre("5\" pipe", "6"));
  EXPECT_THAT(Records("\"a\"b\"\n1\n"), ElementsAre("\"a\"b\"", "1"));
  EXPECT_THAT(Records("a,\"b\n", {.delimiter = ';'}), ElementsAre("a,\"b"));
  EXPECT_THAT(Records("\"a\nb\"\n", {.quotes = false}), ElementsAre("\"a", "b\""));
}

TEST(CsvRecordReaderTest, AQuoteThatDoesNotEndIsToldWithoutReadingTheWholeFile) {
  const std::string text = "\"" + std::string(size_t{300} << 20, '\n') + "\"\n";
  const auto bytes = ByteSource::Of(text, Compression::kNone);
  std::string record;
  EXPECT_EQ(ReadCsvRecord(*bytes, {}, &record).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
