#include "serving/frontend/json/json_document.h"

#include <cmath>
#include <limits>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;

absl::Status Parse(absl::string_view number, JsonDocument* document) {
  return ParseJsonObject(absl::StrCat("{\"n\": [", number, "]}"), document, JsonDialect::kExact);
}

double ExactNumber(absl::string_view number) {
  JsonDocument document;
  const absl::Status status = Parse(number, &document);
  EXPECT_TRUE(status.ok()) << number << ": " << status;
  return status.ok() ? document["n"][0].GetDouble() : -1;
}

TEST(JsonMemoryTest, ALackOfMemoryThrows) {
  const size_t too_much = std::numeric_limits<size_t>::max() / 4;
  JsonMemory memory;
  EXPECT_THROW(memory.Malloc(too_much), std::bad_alloc);
  void* kept = memory.Malloc(8);
  EXPECT_THROW(memory.Realloc(kept, 8, too_much), std::bad_alloc);
  EXPECT_EQ(memory.Realloc(kept, 8, 0), nullptr);
  EXPECT_EQ(memory.Malloc(0), nullptr);
  JsonPool pool;
  EXPECT_THROW(pool.Malloc(too_much), std::bad_alloc);
}

TEST(ExactJsonTest, NumbersAreTheNearestDoubles) {
  EXPECT_EQ(ExactNumber("0.1"), 0.1);
  EXPECT_EQ(ExactNumber("5e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(ExactNumber("2.2250738585072011e-308"), 2.2250738585072011e-308);
  EXPECT_EQ(ExactNumber("1.7976931348623157e308"), std::numeric_limits<double>::max());
  EXPECT_EQ(ExactNumber("9007199254740993"), 9007199254740992.0);
  EXPECT_EQ(ExactNumber("36893488147419103232"), std::ldexp(1, 65)) << "no integer of 64 bits";
  EXPECT_EQ(ExactNumber("1e-999"), 0);
}

TEST(ExactJsonTest, ZeroMayHaveAnExponentAndManyDecimals) {
  EXPECT_EQ(ExactNumber("0e+300"), 0);
  EXPECT_TRUE(std::signbit(ExactNumber("-0e+300")));
  EXPECT_EQ(ExactNumber(absl::StrCat("0.", std::string(900, '0'))), 0);
}

TEST(ExactJsonTest, IntegersStayIntegers) {
  JsonDocument document;
  ASSERT_TRUE(Parse("1, -1, 9223372036854775807, 18446744073709551615, 1.0", &document).ok());
  const JsonValue& numbers = document["n"];
  EXPECT_TRUE(numbers[0].IsInt());
  EXPECT_EQ(numbers[1].GetInt64(), -1);
  EXPECT_EQ(numbers[2].GetInt64(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(numbers[3].GetUint64(), std::numeric_limits<uint64_t>::max());
  EXPECT_FALSE(numbers[4].IsInt());
}

TEST(ExactJsonTest, NoNumbersAndInfinitiesHaveNames) {
  EXPECT_TRUE(std::isnan(ExactNumber("NaN")));
  EXPECT_EQ(ExactNumber("-Infinity"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(ExactNumber("Inf"), std::numeric_limits<double>::infinity());
}

TEST(ExactJsonTest, NumbersThatNoDoubleHoldsAreErrors) {
  JsonDocument document;
  for (const char* number : {"1e309", "-1e400", "1e99999999999"}) {
    EXPECT_THAT(std::string(Parse(number, &document).message()), HasSubstr("too big")) << number;
  }
}

TEST(ExactJsonTest, NothingMayFollowTheObject) {
  JsonDocument document;
  EXPECT_TRUE(ParseJsonObject("{} \n", &document, JsonDialect::kExact).ok());
  EXPECT_FALSE(ParseJsonObject("{} {}", &document, JsonDialect::kExact).ok());
}

}  // namespace
}  // namespace tessera::serving
