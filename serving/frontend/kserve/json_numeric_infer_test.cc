#include "serving/frontend/kserve/json_numeric_infer.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "serving/frontend/json/json_document.h"
#include "serving/frontend/kserve/json_infer.h"
#include "serving/frontend/kserve/json_tensor.h"

namespace tessera::serving {
namespace {

absl::StatusOr<Tensor> FromTree(absl::string_view list, DType dtype, const Shape& shape) {
  JsonDocument document;
  const absl::Status status =
      ParseJsonObject(absl::StrCat("{\"data\":", list, "}"), &document, JsonDialect::kExact);
  if (!status.ok()) return status;
  return TensorFromJson(dtype, shape, *FindMember(document, "data"));
}

// What both ways make of a list: the same bits, or no short way.
void ExpectSameByBothWays(absl::string_view list, DType dtype, const Shape& shape,
                          bool expect_short_way) {
  Tensor quick;
  EXPECT_EQ(TensorFromNumbers({list}, dtype, shape, &quick), expect_short_way) << list;
  if (!quick.has_value()) return;
  const absl::StatusOr<Tensor> thorough = FromTree(list, dtype, shape);
  ASSERT_TRUE(thorough.ok()) << list << thorough.status();
  EXPECT_EQ(quick.dtype(), dtype);
  EXPECT_EQ(quick.shape(), shape);
  EXPECT_EQ(absl::string_view(quick.raw(), quick.size_bytes()),
            absl::string_view(thorough->raw(), thorough->size_bytes()))
      << list << quick.ToString() << thorough->ToString();
}

TEST(JsonNumericInferTest, TakesFlatAndNestedLists) {
  ExpectSameByBothWays("[1, 2.5, -0.0, -0, 0.1, 1e-3]", DType::kFloat, {2, 3}, true);
  ExpectSameByBothWays("[[1, 2], [3 ,4]]", DType::kDouble, {2, 2}, true);
  ExpectSameByBothWays("[[[7]]]", DType::kInt64, {1, 1, 1}, true);
  ExpectSameByBothWays("[255, 0]", DType::kUint8, {2}, true);
  ExpectSameByBothWays("[65535]", DType::kUint16, {1}, true);
  ExpectSameByBothWays("[-128]", DType::kInt8, {1}, true);
}

TEST(JsonNumericInferTest, LeavesTheUnusualAndTheWrong) {
  for (const char* list :
       {"[]",     "[[], []]", "[NaN]",  "[1",      "[1,]",
        "[01]",   "[1.]",     "[.5]",   "[1e]",    "[+1]",
        "[1.e2]", "[-]",      "[inf]",  "[0x1]",   "[true]",
        "[1] ]",  "[1, 2]",   "[1e39]", "[1e400]", "[123456789012345678901234567890e300]"}) {
    ExpectSameByBothWays(list, DType::kFloat, {1}, false);
  }
  ExpectSameByBothWays("[1.0]", DType::kInt32, {1}, false);
  ExpectSameByBothWays("[256]", DType::kUint8, {1}, false);
  ExpectSameByBothWays("[-1]", DType::kUint8, {1}, false);
  ExpectSameByBothWays("[128]", DType::kInt8, {1}, false);
  ExpectSameByBothWays("[2147483648]", DType::kInt32, {1}, false);
  ExpectSameByBothWays("[[1, 2], [3, 4]]", DType::kFloat, {4, 1}, false);
  ExpectSameByBothWays("[[1], [2]]", DType::kFloat, {2}, false);
  ExpectSameByBothWays("[true]", DType::kBool, {1}, false);
  ExpectSameByBothWays("[1]", DType::kHalf, {1}, false);
}

TEST(JsonNumericInferTest, NumbersAreTheNearestOnes) {
  std::mt19937_64 random(7);
  std::uniform_int_distribution<int> digits(1, 25), style(0, 3);
  char text[64];
  for (const DType dtype : {DType::kDouble, DType::kFloat}) {
    for (int round = 0; round < 100; ++round) {
      std::string list = "[";
      for (int i = 0; i < 1000; ++i) {
        if (i > 0) list += random() % 2 ? "," : ", ";
        const int kind = style(random);
        if (kind == 0) {  // any number, in full
          const double any = std::bit_cast<double>(random());
          const double value =
              dtype == DType::kDouble ? any : std::bit_cast<float>(static_cast<uint32_t>(random()));
          std::snprintf(text, sizeof(text), "%.17g", std::isfinite(value) ? value : 1.0);
          // Zeros in the range of numbers that are too small take the general path.
          list += std::abs(value) > 1e-300 ? text : "0.5";
        } else if (kind == 1) {
          std::snprintf(text, sizeof(text), "%.*f", digits(random) % 20,
                        std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -60));
          list += text;
        } else if (kind == 2) {
          list += std::to_string(static_cast<int64_t>(random()) >> digits(random) * 2);
        } else {
          list += random() % 2 ? "0." : "-3.";
          for (int k = digits(random); k > 0; --k) list += static_cast<char>('0' + random() % 10);
        }
      }
      list += "]";
      ASSERT_NO_FATAL_FAILURE(ExpectSameByBothWays(list, dtype, {1000}, true));
    }
  }
}

bool IsNumeric(absl::string_view json) {
  InferRequest request;
  absl::InlinedVector<JsonNumbersText, 2> numbers;
  return ReadNumericInfer(json, &request, &numbers);
}

TEST(JsonNumericInferTest, ReadsRequests) {
  InferRequest request;
  absl::InlinedVector<JsonNumbersText, 2> numbers;
  ASSERT_TRUE(ReadNumericInfer(
      R"( {"id": "7", "inputs": [{"data": [[1, 2], [3, 4]], "shape": [2, 2], "datatype": "FP32",
          "name": "a"}, {"name": "b", "shape": [1], "datatype": "INT8", "data": [5]}],
          "outputs": [{"name": "y", "parameters": {"binary_data": false, "k": "v"}}],
          "parameters": {"binary_data_output": true}} )",
      &request, &numbers));
  EXPECT_EQ(request.id, "7");
  ASSERT_EQ(request.inputs.size(), 2);
  EXPECT_EQ(request.inputs[0].name, "a");
  EXPECT_EQ(request.inputs[0].datatype, "FP32");
  EXPECT_EQ(request.inputs[0].shape, (absl::InlinedVector<int64_t, 6>{2, 2}));
  EXPECT_EQ(numbers[0].text, "[[1, 2], [3, 4]]");
  EXPECT_EQ(request.inputs[1].name, "b");
  EXPECT_EQ(numbers[1].text, "[5]");
  ASSERT_EQ(request.outputs.size(), 1);
  EXPECT_EQ(request.outputs[0].name, "y");
  ASSERT_EQ(request.outputs[0].parameters.size(), 2);
  EXPECT_EQ(*BoolParameter(request.outputs[0].parameters, "binary_data"), false);
  EXPECT_EQ(*BoolParameter(request.parameters, "binary_data_output"), true);
}

TEST(JsonNumericInferTest, LeavesOtherRequests) {
  const std::string input = R"({"name": "a", "shape": [1], "datatype": "FP32", "data": [1]})";
  const auto with = [&](absl::string_view rest) {
    return absl::StrCat(R"({"inputs": [)", input, "]", rest);
  };
  EXPECT_TRUE(IsNumeric(with("}")));
  for (const char* rest :
       {"} x", "", ",}", R"(, "other": 1})", R"(, "id": "\u0061"})", R"(, "id": 1})",
        R"(, "id": "a", "id": "b"})", R"(, "inputs": []})", R"(, "parameters": {"a": 1}})",
        R"(, "parameters": {}})", R"(, "outputs": [{}]})", R"(, "outputs": []})"}) {
    EXPECT_FALSE(IsNumeric(with(rest))) << rest;
  }
  for (
      const char* text :
      {R"({"name": "a", "shape": [1], "datatype": "FP32"})",
       R"({"name": "a", "shape": [], "datatype": "FP32", "data": [1]})",
       R"({"name": "a", "shape": [1.5], "datatype": "FP32", "data": [1]})",
       R"({"name": "a", "shape": [1], "data": [1]})",
       R"({"shape": [1], "datatype": "FP32", "data": [1]})",
       R"({"name": "a", "shape": [1], "datatype": "FP32", "data": 1})",
       R"({"name": "a", "shape": [1], "datatype": "FP32", "data": ]1]})",
       R"({"name": "a", "shape": [1], "datatype": "BYTES", "data": ["]"]})",
       R"({"name": "a", "shape": [1], "datatype": "FP32", "data": [1], "data": [1]})",
       R"({"name": "a", "shape": [1], "datatype": "FP32", "data": [1], "parameters": {"a": true}})"}) {
    EXPECT_FALSE(IsNumeric(absl::StrCat(R"({"inputs": [)", text, "]}"))) << text;
  }
}

// The general path tells what is wrong in a list that was passed over.
TEST(JsonNumericInferTest, ErrorsAreThoseOfTheTree) {
  const auto elements = [](absl::string_view data) {
    JsonInferRequest request;
    const absl::Status status = request.Read(
        absl::StrCat(R"({"inputs": [{"name": "a", "shape": [2], "datatype": "FP32", "data": )",
                     data, "}]}"),
        std::nullopt, ModelInfo());
    EXPECT_TRUE(status.ok()) << status;
    return request.Elements(0, DType::kFloat, {2}).status().ToString();
  };
  EXPECT_NE(elements("[1, true]").find("the element true is no FP32"), std::string::npos);
  EXPECT_NE(elements("[1, 1e39]").find("is no FP32"), std::string::npos);
  EXPECT_NE(elements("[1, 2,]").find("JSON Parse error"), std::string::npos);
  EXPECT_NE(elements("[1, 2, 3]").find("where a list of 2 belongs"), std::string::npos);
  EXPECT_EQ(elements("[1, NaN]"), "OK");
}

}  // namespace
}  // namespace tessera::serving
