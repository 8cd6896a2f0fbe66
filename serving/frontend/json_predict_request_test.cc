#include "serving/frontend/json_predict_request.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serving/frontend/json_numeric_body.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Types = std::vector<InputType>;

auto Finder(const Types& types) {
  return
      [&types](absl::string_view) -> absl::StatusOr<absl::Span<const InputType>> { return types; };
}

absl::StatusOr<PredictBody> Decode(absl::string_view json, const Types& types) {
  PredictBody body;
  const absl::Status status = DecodePredictBody(json, Finder(types), &body);
  if (!status.ok()) return status;
  return body;
}

// "float[2] [1 2]" of the only input, or the error.
std::string DecodeOne(absl::string_view json, DType dtype) {
  const Types types = {{"x", dtype}};
  const auto body = Decode(json, types);
  if (!body.ok()) return body.status().ToString();
  return body->inputs[0].second.ToString();
}

std::string Nested(int levels) { return std::string(levels, '[') + "1" + std::string(levels, ']'); }

TEST(JsonPredictRequestTest, RowsStack) {
  EXPECT_EQ(DecodeOne(R"({"instances": [[1, 2], [3, 4], [5, 6]]})", DType::kInt32),
            "int32[3,2] [[1 2] [3 4] [5 6]]");
  EXPECT_EQ(DecodeOne(R"({"instances": [{"x": [1.5]}, {"x": [2]}]})", DType::kFloat),
            "float[2,1] [[1.5] [2]]");
  EXPECT_EQ(DecodeOne(R"({"instances": [[], []]})", DType::kFloat), "float[2,0] []");
}

TEST(JsonPredictRequestTest, ColumnsAreWhole) {
  EXPECT_EQ(DecodeOne(R"({"inputs": 5})", DType::kInt64), "int64[] 5");
  EXPECT_EQ(DecodeOne(R"({"inputs": {"x": [[1], [2]], "other": "y"}})", DType::kDouble),
            "double[2,1] [[1] [2]]");
  EXPECT_EQ(DecodeOne(R"({"inputs": []})", DType::kFloat), "float[0] []");
  EXPECT_EQ(DecodeOne(R"({"inputs": {"b64": "YQ=="}})", DType::kString),
            DecodeOne(R"({"inputs": "a"})", DType::kString));
}

TEST(JsonPredictRequestTest, SeveralInputs) {
  const Types types = {{"a", DType::kInt64}, {"b", DType::kString}};
  const auto body = Decode(
      R"({"signature_name": "s", "instances": [{"a": 1, "b": ["x"]}, {"b": ["y"], "a": 2}]})",
      types);
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ(body->layout, PredictLayout::kRow);
  EXPECT_EQ(body->signature_name, "s");
  ASSERT_EQ(body->inputs.size(), 2);
  EXPECT_EQ(body->inputs[0].first, "a");
  EXPECT_THAT(body->inputs[0].second.flat<int64_t>(), ElementsAre(1, 2));
  EXPECT_EQ(body->inputs[1].second.shape(), (Shape{2, 1}));
  EXPECT_THAT(body->inputs[1].second.flat<std::string>(), ElementsAre("x", "y"));
}

TEST(JsonPredictRequestTest, TypesAreChecked) {
  EXPECT_EQ(DecodeOne(R"({"instances": [1, 2.5, -0.0]})", DType::kFloat), "float[3] [1 2.5 -0]");
  EXPECT_EQ(DecodeOne(R"({"instances": [300, -1]})", DType::kUint8), "uint8[2] [44 255]");
  EXPECT_THAT(DecodeOne(R"({"instances": [1, 2.0]})", DType::kInt32),
              HasSubstr("JSON Value: 2.0 Type: Number is not of expected type: int32"));
  EXPECT_THAT(DecodeOne(R"({"instances": [2147483648]})", DType::kInt8), HasSubstr("int8"));
  EXPECT_THAT(DecodeOne(R"({"instances": [9223372036854775808]})", DType::kInt64),
              HasSubstr("int64"));
  EXPECT_EQ(DecodeOne(R"({"instances": [18446744073709551615]})", DType::kUint64),
            "uint64[1] [18446744073709551615]");
  EXPECT_THAT(DecodeOne(R"({"instances": [-1]})", DType::kUint32), HasSubstr("uint32"));
  EXPECT_THAT(DecodeOne(R"({"instances": ["1"]})", DType::kFloat), HasSubstr("Type: String"));
  EXPECT_THAT(DecodeOne(R"({"instances": [null]})", DType::kString), HasSubstr("Type: Null"));
  EXPECT_THAT(DecodeOne(R"({"instances": [1]})", DType::kBool), HasSubstr("type: bool"));
  EXPECT_THAT(DecodeOne(R"({"instances": [1]})", DType::kHalf),
              HasSubstr("INVALID_ARGUMENT: Failed to process element: 0 of 'instances' list. "
                        "Error: UNIMPLEMENTED: Conversion of JSON Value: 1 to type: half"));
  EXPECT_THAT(DecodeOne(R"({"inputs": [1]})", DType::kHalf), HasSubstr("UNIMPLEMENTED: "));
}

TEST(JsonPredictRequestTest, RowsNamesMustBeTheSignatures) {
  const Types types = {{"i", DType::kInt32}, {"s", DType::kString}};
  const auto error = [&](absl::string_view json) {
    return std::string(Decode(json, types).status().message());
  };
  EXPECT_THAT(error(R"({"instances": [{"i": 1}]})"), HasSubstr("keys must be equal to: i,s"));
  EXPECT_THAT(error(R"({"instances": [{"i": 1, "s": "a", "z": 1}]})"),
              HasSubstr("does not have named input: z"));
  EXPECT_THAT(error(R"({"instances": [{"i": 1, "i": 1}]})"), HasSubstr("keys must be equal to"));
  EXPECT_THAT(error(R"({"instances": [1]})"), HasSubstr("instances is a plain list"));
  EXPECT_THAT(error(R"({"inputs": [1]})"), HasSubstr("inputs is a plain value/list"));
  EXPECT_THAT(error(R"({"inputs": {"i": 1}})"), HasSubstr("Missing named input: s"));
  EXPECT_THAT(error(R"({"instances": [{"i": 1, "s": "a"}, [2]]})"),
              HasSubstr("Expecting object but got list at item 1"));
}

TEST(JsonPredictRequestTest, FirstOfEqualKeysCounts) {
  EXPECT_EQ(DecodeOne(R"({"instances": [{"x": 1, "x": 2}]})", DType::kInt32), "int32[1] [1]");
  EXPECT_EQ(DecodeOne(R"({"instances": [1], "instances": [2]})", DType::kInt32), "int32[1] [1]");
  EXPECT_EQ(DecodeOne(R"({"inputs": {"x": 1, "x": "a"}})", DType::kInt32), "int32[] 1");
}

TEST(JsonPredictRequestTest, RaggedListsAreRefused) {
  EXPECT_THAT(DecodeOne(R"({"instances": [[1, 2], [3, 4], [5, 6, 7]]})", DType::kInt32),
              HasSubstr("Expecting tensor size: 2 but got: 3"));
  EXPECT_THAT(DecodeOne(R"({"instances": [[[1, 2]], [[3], [4]]]})", DType::kInt32),
              HasSubstr("Expecting shape [1,2] but got: [2,1]"));
  EXPECT_THAT(DecodeOne(R"({"instances": [[[1, 2], [3]]]})", DType::kInt32),
              HasSubstr("Encountered list at unexpected size: 1 at level: 1 expected size: 2"));
  EXPECT_THAT(DecodeOne(R"({"instances": [[[1], 2]]})", DType::kInt32),
              HasSubstr("JSON Value: 2 found at incorrect level: 2 in the JSON DOM. Expected at "
                        "level: 2"));
  EXPECT_THAT(DecodeOne(R"({"instances": [[1, [2]]]})", DType::kInt32),
              HasSubstr("Encountered list at unexpected level: 1 expected < 1"));
  // The values of a row come before its size.
  EXPECT_THAT(DecodeOne(R"({"instances": [[1], [2, "a"]]})", DType::kInt32),
              HasSubstr("Type: String"));
}

TEST(JsonPredictRequestTest, ShapeOfFirstRowTakesNoMemoryForTheOthers) {
  // A first row of 10^5 numbers and 10^5 rows more would be 40 GB.
  std::string json = "{\"instances\": [[0";
  for (int i = 0; i < 100'000; ++i) json += ",0";
  json += "]";
  for (int i = 0; i < 100'000; ++i) json += ",1";
  EXPECT_THAT(DecodeOne(json + "]}", DType::kFloat),
              HasSubstr("element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Expecting tensor "
                        "size: 100001 but got: 1"));
}

TEST(JsonPredictRequestTest, OnlyTheFirstValueIsRead) {
  EXPECT_EQ(DecodeOne("\xEF\xBB\xBF \t\r\n{\"instances\": [1]} } garbage", DType::kInt32),
            "int32[1] [1]");
  EXPECT_EQ(DecodeOne(R"({"a": {"b": [1, "]"]}, "instances": [1], "c": null})", DType::kInt32),
            "int32[1] [1]");
}

TEST(JsonPredictRequestTest, NotFiniteNumbers) {
  EXPECT_EQ(DecodeOne(R"({"instances": [NaN, Infinity, -Infinity, Inf, -Inf]})", DType::kDouble),
            "double[5] [nan inf -inf inf -inf]");
  EXPECT_EQ(DecodeOne(R"({"instances": [1e300, -1e300, 1e-300]})", DType::kFloat),
            "float[3] [inf -inf 0]");
}

TEST(JsonPredictRequestTest, ErrorsOfTheTextComeBeforeThoseOfTheModel) {
  int calls = 0;
  const auto find = [&](absl::string_view) -> absl::StatusOr<absl::Span<const InputType>> {
    ++calls;
    return absl::NotFoundError("no such model");
  };
  PredictBody body;
  EXPECT_THAT(DecodePredictBody("zz", find, &body).ToString(), HasSubstr("JSON Parse error"));
  EXPECT_THAT(DecodePredictBody("{\"instances\": [1] zz", find, &body).ToString(),
              HasSubstr("JSON Parse error"));
  EXPECT_THAT(
      DecodePredictBody("{\"instances\": [1], \"signature_name\": 5}", find, &body).ToString(),
      HasSubstr("'signature_name' key must be a string value"));
  EXPECT_THAT(DecodePredictBody("{\"instances\": [\"a\"]}", find, &body).ToString(),
              HasSubstr("NOT_FOUND: no such model"));
  EXPECT_GT(calls, 0);
}

TEST(JsonPredictRequestTest, OtherErrorsOfTheBody) {
  EXPECT_THAT(DecodeOne("", DType::kFloat), HasSubstr("The document is empty"));
  EXPECT_THAT(DecodeOne("[1,2]", DType::kFloat), HasSubstr("JSON Value: [1, 2] Is not object"));
  EXPECT_THAT(DecodeOne("{}", DType::kFloat), HasSubstr("Missing 'inputs' or 'instances' key"));
  EXPECT_THAT(DecodeOne(R"({"inputs": [1], "instances": [1]})", DType::kFloat),
              HasSubstr("both 'inputs' and 'instances'"));
  EXPECT_THAT(DecodeOne(R"({"instances": []})", DType::kFloat), HasSubstr("No values"));
  EXPECT_THAT(DecodeOne(R"({"instances": {"x": [1]}})", DType::kFloat),
              HasSubstr("Expecting 'instances' to be an list/array"));
  EXPECT_THAT(DecodeOne(R"({"instances": [{"b64": "***"}]})", DType::kString),
              HasSubstr("Unable to base64 decode"));
  EXPECT_THAT(DecodeOne(R"({"instances": [[{"b64": "eA==", "k": 1}]]})", DType::kString),
              HasSubstr("not formatted correctly for base64"));
}

TEST(JsonPredictRequestTest, WhatIsNoJsonIsRefused) {
  for (const char* number : {"01", "+1", ".5", "1.", "1e", "1e400", "-", "--1", "0x1", "1_0", "nan",
                             "infinity", "Infinit", "N", "1 2", "'1'", "/* */1", "1,"}) {
    for (const char* key : {"instances", "inputs"}) {
      const std::string json = absl::StrCat("{\"", key, "\": [", number, "]}");
      EXPECT_THAT(DecodeOne(json, DType::kFloat), HasSubstr("JSON Parse error")) << json;
    }
  }
  EXPECT_THAT(DecodeOne("{\"instances\": [\"a\nb\"]}", DType::kString), HasSubstr("Parse error"));
  EXPECT_THAT(DecodeOne("{\"instances\": [\"\\ud800\"]}", DType::kString), HasSubstr("surrogate"));
}

TEST(JsonPredictRequestTest, InvalidUtf8Passes) {
  const Types types = {{"x", DType::kString}};
  const auto body = Decode("{\"\xff\": 1, \"instances\": [\"\xff\xc0\"]}", types);
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_THAT(body->inputs[0].second.flat<std::string>(), ElementsAre("\xff\xc0"));
}

TEST(JsonPredictRequestTest, EveryCutOfABodyIsRefused) {
  const std::string json =
      R"({"signature_name": "s", "instances": [[1.5, -2e-3], [NaN, 40]], "x": {"a": "\u00e9"}})";
  for (size_t size = 0; size < json.size(); ++size) {
    EXPECT_THAT(DecodeOne(json.substr(0, size), DType::kFloat), HasSubstr("JSON Parse error"));
  }
}

TEST(JsonPredictRequestTest, DeepNestingNeedsNoStack) {
  const std::string deep = Nested(500'000);
  std::string objects;
  for (int i = 0; i < 500'000; ++i) objects += "{\"x\":";
  objects += "1" + std::string(500'000, '}');
  EXPECT_EQ(DecodeOne(absl::StrCat("{\"o\":", deep, ",\"instances\":[1]}"), DType::kInt32),
            "int32[1] [1]");
  EXPECT_THAT(DecodeOne(absl::StrCat("{\"instances\":", deep, "}"), DType::kInt32),
              HasSubstr("nested deeper than the 253 levels"));
  EXPECT_THAT(DecodeOne(absl::StrCat("{\"inputs\":", deep, "}"), DType::kString),
              HasSubstr("nested deeper"));
  EXPECT_THAT(DecodeOne(absl::StrCat("{\"inputs\":", objects, "}"), DType::kInt32),
              HasSubstr("Type: Object"));
  EXPECT_THAT(DecodeOne(absl::StrCat("{\"signature_name\":", deep, "}"), DType::kInt32),
              HasSubstr("key must be a string value"));
  EXPECT_THAT(DecodeOne(absl::StrCat("{\"signature_name\":", objects, "}"), DType::kInt32),
              HasSubstr("key must be a string value"));
  EXPECT_THAT(DecodeOne(deep, DType::kInt32), HasSubstr("Is not object"));
  EXPECT_THAT(DecodeOne(std::string(500'000, '['), DType::kInt32), HasSubstr("Parse error"));
  EXPECT_THAT(DecodeOne(absl::StrCat("{\"instances\":", deep.substr(0, 900'000)), DType::kInt32),
              HasSubstr("Parse error"));
}

TEST(JsonPredictRequestTest, DeepestTensorThereIs) {
  const std::string json = absl::StrCat("{\"inputs\":", Nested(254), "}");
  const Types types = {{"x", DType::kInt32}};
  EXPECT_EQ(Decode(json, types)->inputs[0].second.rank(), 254);
  // Of rows, the list itself is one level.
  EXPECT_FALSE(Decode(absl::StrCat("{\"instances\":", Nested(256), "}"), types).ok());
  EXPECT_FALSE(Decode(absl::StrCat("{\"instances\":", Nested(255), "}"), types).ok());
  EXPECT_TRUE(Decode(absl::StrCat("{\"instances\":", Nested(254), "}"), types).ok());
}

TEST(JsonPredictRequestTest, MessagesQuoteLittle) {
  const std::string json =
      absl::StrCat("{\"instances\": [{\"", std::string(100'000, 'k'), "\": \"",
                   std::string(100'000, 'v'), "\", \"x\": 1}, 2], \"inputs\": [1]}");
  EXPECT_LT(DecodeOne(json, DType::kInt32).size(), 1000);
  EXPECT_LT(DecodeOne("[" + json + "]", DType::kInt32).size(), 400);
}

TEST(JsonPredictRequestTest, HugeExponentsAreZeroOrTooBig) {
  // Sums of these and of the digits behind the point exceed an int.
  for (const char* number : {"0.12345678901e-2147483639", "1e-99999999999999999999",
                             "0.00000000000001e-2147483647", "1E-2147483648", "0e-999999999"}) {
    EXPECT_EQ(DecodeOne(absl::StrCat("{\"instances\": [", number, "]}"), DType::kDouble),
              "double[1] [0]")
        << number;
  }
  for (const char* number : {"1e999999999", "0.1E+2147483648", "1e99999999999999999999"}) {
    EXPECT_THAT(DecodeOne(absl::StrCat("{\"instances\": [", number, "]}"), DType::kDouble),
                HasSubstr("Number too big to be stored in double"));
  }
  EXPECT_EQ(
      DecodeOne(R"({"a": "\"1e-2147483639", "instances": [1e-000000000001]})", DType::kDouble),
      "double[1] [0.1]");
  EXPECT_EQ(DecodeOne(R"({"b": 1e-2147483639, "instances": ["e-2147483639\\", "e-123456789012"]})",
                      DType::kString),
            DecodeOne(R"({"instances": ["e-2147483639\\", "e-123456789012"]})", DType::kString));
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

TEST(JsonNumericBodyTest, ShortIntegersAmongOthersAreReadAsTheyStand) {
  std::mt19937_64 random(5);
  // What is read in blocks stops short of the end.
  const std::string end = "]}" + std::string(100, ' ');
  const char* const kCommas[] = {",", ", ", " ,", ",  ", " , ", ",\n", ",\t "};
  const char* const kOthers[] = {"-0", "0.5", "1e2", "12345678", "-1234567.25"};
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kInt8, DType::kInt32,
                            DType::kInt64, DType::kUint8, DType::kUint32, DType::kUint64}) {
    const bool is_floating = dtype == DType::kFloat || dtype == DType::kDouble;
    const bool is_signed = dtype != DType::kUint32 && dtype != DType::kUint64;
    for (int round = 0; round < 200; ++round) {
      std::string json = "{\"instances\": [";
      for (int i = 0, count = 1 + random() % 40; i < count; ++i) {
        if (i > 0) json += random() % 4 ? kCommas[random() % 2] : kCommas[random() % 7];
        if (is_floating && random() % 8 == 0) {
          json += kOthers[random() % 5];
          continue;
        }
        if (is_signed && random() % 2) json += '-';
        absl::StrAppend(&json, random() >> (40 + random() % 24));
      }
      ASSERT_NO_FATAL_FAILURE(ExpectSameByBothWays(json + end, {{"x", dtype}}, true));
    }
  }
  // Wherever it stands, what is no number is left to the thorough way.
  for (const char* wrong :
       {"-", "--1", "01", "-01", "1-", "+1", "x", "1x", "\2601", "1\260", "", "1;"}) {
    for (const char* before : {"", "1,", "12, 3, -4, "}) {
      for (const char* after : {"", ",1", ", 12, 3, 4567, 89", "        "}) {
        ExpectSameByBothWays(absl::StrCat("{\"instances\": [", before, wrong, after, end),
                             {{"x", DType::kFloat}}, false);
      }
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
  for (const char* number : {"2147483647", "-2147483648", "0", "-0"}) {
    ExpectSameByBothWays(absl::StrCat("{\"instances\": [", number, "]}"), {{"x", DType::kInt16}},
                         true);
  }
}

}  // namespace
}  // namespace tessera::serving
