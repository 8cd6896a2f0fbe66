#include "serving/frontend/json/json_predict_request.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

TEST(JsonPredictRequestTest, InputsWithADefaultMayBeLeftOut) {
  const Types types = {{"i", DType::kInt32}, {"s", DType::kString, /*has_default=*/true}};
  for (const char* json : {R"({"inputs": {"i": 1}})", R"({"instances": [{"i": 1}, {"i": 2}]})"}) {
    const absl::StatusOr<PredictBody> body = Decode(json, types);
    ASSERT_TRUE(body.ok()) << body.status();
    ASSERT_EQ(body->inputs.size(), 1) << json;
    EXPECT_EQ(body->inputs[0].first, "i");
  }
  const absl::StatusOr<PredictBody> both = Decode(R"({"inputs": {"i": 1, "s": "a"}})", types);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->inputs.size(), 2);
  EXPECT_THAT(std::string(Decode(R"({"inputs": {"s": "a"}})", types).status().message()),
              HasSubstr("Missing named input: i"));
}

TEST(JsonPredictRequestTest, RowsHaveAnInputWithADefaultAllOrNone) {
  const Types types = {{"i", DType::kInt32}, {"s", DType::kString, /*has_default=*/true}};
  for (const char* json : {R"({"instances": [{"i": 1, "s": "a"}, {"i": 2}]})",
                           R"({"instances": [{"i": 1}, {"i": 2, "s": "a"}]})"}) {
    EXPECT_THAT(std::string(Decode(json, types).status().message()),
                HasSubstr("element: 1 of 'instances' list"))
        << json;
  }
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

}  // namespace
}  // namespace tessera::serving
