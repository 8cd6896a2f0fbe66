#include "runtime/kernels/parsing/csv_record.h"

#include <cmath>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

// The fields of a record, joined by '|', or the error's message.
std::string SplitOf(absl::string_view record, std::vector<int64_t> wanted = {},
                    bool quotes = true) {
  CsvFields fields;
  const absl::Status status = CsvSplitter(',', quotes).Split(record, wanted, &fields);
  if (!status.ok()) return std::string(status.message());
  std::vector<absl::string_view> values;
  for (size_t i = 0; i < fields.size(); ++i) values.push_back(fields[i]);
  return absl::StrJoin(values, "|");
}

TEST(CsvSplitterTest, FieldsMayBeQuotedAndEmpty) {
  EXPECT_EQ(SplitOf(""), "");
  EXPECT_EQ(SplitOf("a"), "a");
  EXPECT_EQ(SplitOf("a,,b,"), "a||b|");
  EXPECT_EQ(SplitOf(R"("a,b",c,"")"), "a,b|c|");
  EXPECT_EQ(SplitOf("\"one\ntwo\",3"), "one\ntwo|3");
  EXPECT_EQ(SplitOf(R"("say ""yes""",x,"""")"), R"(say "yes"|x|")");
  EXPECT_EQ(SplitOf(R"("""a""""b""",""",""")"), R"("a""b"|",")");
  EXPECT_EQ(SplitOf(R"("a",b"c)", {}, /*quotes=*/false), R"("a"|b"c)");
}

TEST(CsvSplitterTest, ReadsTheWantedFieldsAlone) {
  EXPECT_EQ(SplitOf("a,b,c,d", {1, 2}), "b|c");
  EXPECT_EQ(SplitOf(R"(a,"""b",c)", {1}), R"("b)");
  EXPECT_EQ(SplitOf("a,b,c\"", {0}), "a");  // what follows is not looked at
}

TEST(CsvSplitterTest, FieldsBehindTheLastWantedOneAreCheckedOnDemand) {
  const CsvSplitter splitter(',', /*quotes=*/true);
  for (const char* record : {"1,a\"b", "1,\"a\"b", "1,x,\"a", "1,a\rb"}) {
    CsvFields fields;
    EXPECT_TRUE(splitter.Split(record, {0}, &fields).ok()) << record;
    EXPECT_TRUE(
        absl::IsInvalidArgument(splitter.Split(record, {0}, &fields, CsvSplitter::Rest::kChecked)))
        << record;
  }
  CsvFields fields;
  ASSERT_TRUE(splitter.Split("1,\"a\"\"b\",c", {0}, &fields, CsvSplitter::Rest::kChecked).ok());
  ASSERT_EQ(fields.size(), 1u);
  EXPECT_EQ(fields[0], "1");
}

TEST(CsvSplitterTest, QuotesStandWhereTheyMay) {
  EXPECT_EQ(SplitOf("a,b\"c"), "an unquoted field must not hold quotes or line ends");
  for (const char* record : {"a\nb", "a\rb", "a,b\n", "a\r,b"}) {
    for (const bool quotes : {false, true}) {
      EXPECT_EQ(SplitOf(record, {}, quotes), "an unquoted field must not hold quotes or line ends");
    }
  }
  EXPECT_EQ(SplitOf("\"a"), "a quoted field must end with a quote");
  EXPECT_EQ(SplitOf("\"a\"\""), "a quoted field must end with a quote");
  EXPECT_EQ(SplitOf("\"a\"b"), "a quote within a quoted field must be escaped by another quote");
}

template <typename T>
void ExpectNumber(const std::string& text, T expected) {
  T value = -1;
  ASSERT_TRUE(ParseCsvField(text, &value)) << text;
  EXPECT_EQ(value, expected) << text;
  EXPECT_EQ(std::signbit(value), std::signbit(expected)) << text;
}

TEST(ParseCsvFieldTest, RoundsDecimalNumbersOnce) {
  for (int digits : {0, 1, 7, 12, 99, 123, 16777, 999999}) {
    for (int decimals = 0; decimals < 7; ++decimals) {
      for (const char* sign : {"", "-"}) {
        std::string text = std::to_string(digits);
        if (decimals > 0) {
          text.insert(0, std::max<int64_t>(0, decimals + 1 - static_cast<int64_t>(text.size())),
                      '0');
          text.insert(text.size() - decimals, ".");
        }
        text = sign + text;
        ExpectNumber(text, std::strtof(text.c_str(), nullptr));
        ExpectNumber(text, std::strtod(text.c_str(), nullptr));
      }
    }
  }
  for (const std::string text : {"5.", ".5", "+2", "1e3", "0.1234567", "123456.75", "16777217",
                                 "123456789012345.25", "0.000000000000001", " 3 ", "inf"}) {
    ExpectNumber(text, std::strtof(text.c_str(), nullptr));
    ExpectNumber(text, std::strtod(text.c_str(), nullptr));
  }
}

TEST(ParseCsvFieldTest, RefusesWhatIsNoNumber) {
  for (const std::string text : {"", "-", ".", "-.", "1.2.3", "1-", "--1", "a", "1a"}) {
    float single;
    double twice;
    EXPECT_FALSE(ParseCsvField(text, &single)) << text;
    EXPECT_FALSE(ParseCsvField(text, &twice)) << text;
  }
}

}  // namespace
}  // namespace tessera
