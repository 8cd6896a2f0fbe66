#include "serving/frontend/json/json_numeric_body.h"

#include <bit>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "serving/frontend/json/json_predict_request.h"

namespace tessera::serving {
namespace {

using Types = std::vector<InputType>;

auto Finder(const Types& types) {
  return
      [&types](absl::string_view) -> absl::StatusOr<absl::Span<const InputType>> { return types; };
}

// What both ways make of a body: equal tensors, or no short way.
void ExpectSameByBothWays(absl::string_view json, const Types& types, bool expect_short_way) {
  PredictBody quick, thorough;
  const bool is_short = DecodeNumericBody(json, Finder(types), &quick);
  EXPECT_EQ(is_short, expect_short_way) << json.substr(0, 200);
  if (!is_short) return;
  ASSERT_TRUE(DecodePredictBodyByDocument(json, Finder(types), &thorough).ok())
      << json.substr(0, 200);
  EXPECT_EQ(quick.signature_name, thorough.signature_name);
  EXPECT_EQ(quick.layout, thorough.layout);
  ASSERT_EQ(quick.inputs.size(), thorough.inputs.size());
  for (size_t i = 0; i < quick.inputs.size(); ++i) {
    EXPECT_EQ(quick.inputs[i].first, thorough.inputs[i].first);
    const Tensor& a = quick.inputs[i].second;
    const Tensor& b = thorough.inputs[i].second;
    ASSERT_EQ(a.dtype(), b.dtype());
    ASSERT_EQ(a.shape(), b.shape());
    ASSERT_EQ(absl::string_view(a.raw(), a.size_bytes()),
              absl::string_view(b.raw(), b.size_bytes()))
        << json.substr(0, 200) << "\n"
        << a.ToString() << "\n"
        << b.ToString();
  }
}

TEST(JsonNumericBodyTest, TakesArraysOfNumbers) {
  const Types types = {{"x", DType::kFloat}};
  for (const char* json : {
           R"({"instances": [1, 2.5, -0.0, -0]})",
           R"({"instances": [[[1],[2]],[[3],[4]]]} trailing)",
           R"( { "inputs" : [ [ 1 , 2 ] , [ 3 , 4 ] ] } )",
           R"({"inputs": {"x": [1, 2]}})",
           R"({"signature_name": "a", "instances": [1]})",
           R"({"instances": [1], "signature_name": "b"})",
           R"({"instances": [[[[[[[[1]]]]]]]]})",
           R"({"instances": [1],,,,,,)",
           "{\"instances\": [1], \"signature_name\": \"\xff\"}",
       }) {
    const bool is_json = absl::string_view(json).find(",,") == absl::string_view::npos;
    ExpectSameByBothWays(json, types, is_json);
  }
  ExpectSameByBothWays(R"({"inputs": {"b": [1, 2], "a": [[3]]}})",
                       {{"a", DType::kInt64}, {"b", DType::kDouble}}, true);
}

TEST(JsonNumericBodyTest, LeavesTheUnusual) {
  const Types types = {{"x", DType::kInt32}};
  for (const char* json : {
           "",
           "{",
           "{}",
           R"({"instances": 1})",
           R"({"instances": []})",
           R"({"instances": [[], []]})",
           R"({"instances": [1.0]})",
           R"({"instances": [2147483648]})",
           R"({"instances": ["1"]})",
           R"({"instances": [1, [2]]})",
           R"({"instances": [[1], 2]})",
           R"({"instances": [[1] [2]]})",
           R"({"instances": [[1, 2], [3]]})",
           R"({"instances": [1,]})",
           R"({"instances": [,1]})",
           R"({"instances": [[1],]})",
           R"({"instances": [[[[[[[[[1]]]]]]]]]})",
           R"({"instances": [1]]})",
           R"({"instances": [{"x": 1}]})",
           R"({"instances": [1], "instances": [1]})",
           R"({"instances": [1], "inputs": [1]})",
           R"({"instances": [1], "other": 1})",
           R"({"instances": [1], "signature_name": "a)",
           R"({"signature_name": "a", "signature_name": "b", "instances": [1]})",
           R"({"signature_name": "\u0061", "instances": [1]})",
           R"({"signature_name": "a"})",
           R"({"inputs": {"x": [1], "x": [1]}})",
           R"({"inputs": {"y": [1]}})",
           R"({"inputs": {}})",
           R"({"instances": {"x": [1]}})",
           R"({"instances": [1], "signature_name": "a", "c": "\"signature_name\": \"b\""})",
       }) {
    ExpectSameByBothWays(json, types, false);
  }
}

TEST(JsonNumericBodyTest, NameAtTheEndIsTheOneThatTypes) {
  std::string asked;
  const Types types = {{"x", DType::kFloat}};
  const auto find = [&](absl::string_view name) -> absl::StatusOr<absl::Span<const InputType>> {
    asked = std::string(name);
    return types;
  };
  PredictBody body;
  EXPECT_TRUE(DecodeNumericBody(R"({"instances": [1], "signature_name": "late"})", find, &body));
  EXPECT_EQ(asked, "late");
  // In what is ignored it counts for nothing.
  EXPECT_FALSE(DecodeNumericBody(R"({"instances": [1]} "signature_name": "later"})", find, &body));
  EXPECT_EQ(asked, "later");
}

TEST(JsonNumericBodyTest, NumbersAreRapidJsonsBitForBit) {
  std::mt19937_64 random(3);
  const Types types = {{"x", DType::kDouble}};
  std::uniform_int_distribution<int> digits(1, 25), style(0, 5), exponent(-330, 320), digit(0, 9);
  char text[64];
  for (int round = 0; round < 200; ++round) {
    std::string json = "{\"instances\": [";
    for (int i = 0; i < 1000; ++i) {
      if (i > 0) json += ",";
      switch (style(random)) {
        case 0: {  // any double, in full
          const double value = std::bit_cast<double>(random());
          std::snprintf(text, sizeof(text), "%.17g", std::isfinite(value) ? value : 1.0);
          json += text;
          break;
        }
        case 1:
          std::snprintf(text, sizeof(text), "%.*f", digits(random) % 20,
                        std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -60));
          json += text;
          break;
        case 2:
          json += std::to_string(static_cast<int64_t>(random()) / 10 >> digits(random) * 2);
          break;
        case 3: {  // leading zeros, and any number of digits
          json += random() % 2 ? "0." : "-3.";
          for (int k = digits(random) / 3; k > 0; --k) json += '0';
          for (int k = digits(random); k > 0; --k) json += static_cast<char>('0' + digit(random));
          break;
        }
        case 4: {
          json += static_cast<char>('1' + digit(random) % 9);
          for (int k = digits(random) % 12; k > 0; --k)
            json += static_cast<char>('0' + digit(random));
          json += '.';
          for (int k = digits(random); k > 0; --k) json += static_cast<char>('0' + digit(random));
          absl::StrAppend(&json, random() % 2 ? "e" : "E", std::min(exponent(random), 290));
          break;
        }
        default:
          std::snprintf(text, sizeof(text), "%.9g",
                        std::ldexp(static_cast<double>(random() >> 40), -24));
          json += text;
      }
    }
    json += "]}";
    ASSERT_NO_FATAL_FAILURE(ExpectSameByBothWays(json, types, true));
  }
}

// Short numbers are read in blocks, which stop short of the end of the text.
std::string EndOfBlocks() { return "]}" + std::string(100, ' '); }

TEST(JsonNumericBodyTest, ShortNumbersAmongOthersAreReadAsTheyStand) {
  std::mt19937_64 random(5);
  const char* const kCommas[] = {",", ", ", " ,", ",  ", " , ", ",\n", ",\t "};
  const char* const kOthers[] = {
      "-0",   "-0.00", "0.0",           "1e2",     "1.25e-3",
      "-9E5", "0.5",   "-1234567.2500", "0.1e-07", "0.12345678901234567"};
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kInt8, DType::kInt32,
                            DType::kInt64, DType::kUint8, DType::kUint32, DType::kUint64}) {
    const bool is_floating = dtype == DType::kFloat || dtype == DType::kDouble;
    const bool is_signed = dtype != DType::kUint32 && dtype != DType::kUint64;
    for (int round = 0; round < 200; ++round) {
      std::string json = "{\"instances\": [";
      for (int i = 0, count = 1 + random() % 80; i < count; ++i) {
        if (i > 0) json += random() % 4 ? kCommas[random() % 2] : kCommas[random() % 7];
        if (is_floating && random() % 8 == 0) {
          json += kOthers[random() % 10];
          continue;
        }
        if (is_signed && random() % 2) json += '-';
        absl::StrAppend(&json, random() >> (40 + random() % 24));
        if (is_floating && random() % 2) {
          json += '.';
          for (int digits = 1 + random() % 9; digits > 0; --digits) json += '0' + random() % 10;
        }
      }
      ASSERT_NO_FATAL_FAILURE(ExpectSameByBothWays(json + EndOfBlocks(), {{"x", dtype}}, true));
    }
  }
}

TEST(JsonNumericBodyTest, WhatIsNoNumberIsLeftWhereverItStands) {
  for (const char* wrong :
       {"-",     "--1",   "01",    "-01",  "1-",    "+1",    "x",
        "1x",    "\2601", "1\260", "",     "1;",    "1.",    "-1.",
        ".5",    "-.5",   ".",     "-.",   "00.5",  "-01.5", "1..5",
        "1.2.3", "1.5.",  "1.-5",  "1-.5", "-1-.5", "1 .5",  "1. 5",
        "- 1",   "1.5x",  "1.5-",  "+0.5", "1.x",   "1.e5",  "1.5e",
        "0.5+",  "1/5",   "1:5",   "1 5",  "0x1.8", "--0.5", "123456789.12345."}) {
    for (const char* before : {"", "1,", "0.25, ", "12, 3.5, -4, "}) {
      for (const char* after : {"", ",1", ", 12, 3.25, 4567, 89", "        "}) {
        ExpectSameByBothWays(absl::StrCat("{\"instances\": [", before, wrong, after, EndOfBlocks()),
                             {{"x", DType::kFloat}}, false);
      }
    }
  }
  // A byte that is zero is no digit.
  ExpectSameByBothWays(
      absl::StrCat("{\"instances\": [0.", absl::string_view("\0", 1), "5", EndOfBlocks()),
      {{"x", DType::kFloat}}, false);
}

TEST(JsonNumericBodyTest, ShortNumbersAreReadWhereverABlockOrTheTextEnds) {
  const Types types = {{"x", DType::kDouble}};
  for (const char* rows : {"[-0.57, 12.34, 5, -0, -0.0, 123456789.12345, 1.5e3, 0.125]",
                           "[[0.5,-12],[7,8.25],[-0.001,1234567890123456]]",
                           "[[-1234567.890123], [0.1], [123456789012345], [-12345678901234]]"}) {
    for (int spaces = 0; spaces <= 100; ++spaces) {
      ExpectSameByBothWays(absl::StrCat("{\"inputs\":", rows, "}", std::string(spaces, ' ')), types,
                           true);
    }
  }
  // One list, of numbers whose ends take each place in a block.
  for (const char* number : {"1", "-2", "0.5", "-0.57", "12.34567", "-1234567.89012", "12345678"}) {
    for (int width = 0; width < 16; ++width) {
      std::string json = absl::StrCat("{\"inputs\": [", std::string(width, '7'));
      if (width == 0) json += '0';
      for (int i = 0; i < 70; ++i) absl::StrAppend(&json, i % 9 == 8 ? "," : ", ", number);
      ASSERT_NO_FATAL_FAILURE(ExpectSameByBothWays(json + "]}", types, true));
    }
  }
}

TEST(JsonNumericBodyTest, ShortDecimalsAreRoundedExactly) {
  std::mt19937_64 random(6);
  const Types types = {{"x", DType::kDouble}};
  for (int round = 0; round < 200; ++round) {
    std::string json = "{\"inputs\": [";
    std::vector<double> expected;
    for (int i = 0; i < 1000; ++i) {
      const int digits = 2 + random() % 13, whole = 1 + random() % (digits - 1);
      std::string number;
      for (int k = 0; k < digits; ++k) number += '0' + random() % 10;
      if (whole > 1 && number[0] == '0') number[0] = '3';
      number.insert(whole, ".");
      if (digits < 14 && random() % 2) number.insert(0, "-");
      absl::StrAppend(&json, i > 0 ? ", " : "", number);
      expected.push_back(std::strtod(number.c_str(), nullptr));
    }
    PredictBody body;
    ASSERT_TRUE(DecodeNumericBody(json + EndOfBlocks(), Finder(types), &body));
    const absl::Span<const double> values = body.inputs[0].second.flat<double>();
    ASSERT_EQ(values.size(), expected.size());
    for (int i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint64_t>(values[i]), std::bit_cast<uint64_t>(expected[i])) << json;
    }
  }
}

TEST(JsonNumericBodyTest, LimitsOfTheShortNumbers) {
  const Types types = {{"x", DType::kDouble}};
  for (const char* number : {
           "9007199254740991.5",
           "9007199254740992.5",
           "900719924.99999999",
           "900719925.00000000",
           "0.9007199254740991",
           "0.90071992547409919",
           "0.900719925474099199",
           "123456789012345678",
           "123456789012345678.5",
           "1e308",
           "1.5e308",
           "10e308",
           "0.1e309",
           "9e308",
           "1e-308",
           "1e-309",
           "1e-9999",
           "0.00000000000000000000000000000000001",
           "99999999999999999e-5",
           "1e+5",
           "0e0",
           "0.0e-5",
           "0.0000000000000000",
           "1.7976931348623157e308",
           "4.9e-324",
           "2.5e-324",
       }) {
    ExpectSameByBothWays(absl::StrCat("{\"instances\": [", number, ",-", number, "]}"), types,
                         true);
  }
  for (const char* number : {"1234567890123456789", "1e309", "1e00005", "00", "1e+"}) {
    ExpectSameByBothWays(absl::StrCat("{\"instances\": [", number, "]}"), types, false);
  }
  // Of integers, whether read in a block or not.
  for (const std::string& end : {std::string("]}"), EndOfBlocks()}) {
    const auto check = [&](DType dtype, const char* number, bool fits) {
      ExpectSameByBothWays(absl::StrCat("{\"instances\": [", number, end), {{"x", dtype}}, fits);
    };
    for (const char* number : {"2147483647", "-2147483648", "0", "-0"}) {
      check(DType::kInt16, number, true);
      check(DType::kInt32, number, true);
      check(DType::kUint8, number, true);
    }
    for (const char* number : {"2147483648", "-2147483649", "0.5", "1.0", "1e0", "9999999999"}) {
      check(DType::kInt16, number, false);
      check(DType::kInt32, number, false);
      check(DType::kUint8, number, false);
    }
    check(DType::kUint32, "4294967295", true);
    check(DType::kUint32, "4294967296", false);
    check(DType::kUint32, "-1", false);
    check(DType::kUint64, "-1", false);
    for (const char* number : {"999999999999999", "-99999999999999", "-999999999999999",
                               "1000000000000000", "123456789012345678"}) {
      check(DType::kInt64, number, true);
      check(DType::kFloat, number, true);
      check(DType::kDouble, number, true);
    }
  }
}

}  // namespace
}  // namespace tessera::serving
