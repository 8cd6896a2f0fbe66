#include "serving/frontend/json/json_response.h"

#include <cstdlib>
#include <limits>

#include "Eigen/Core"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Rows(std::vector<NamedOutput> outputs) {
  std::string text;
  const absl::Status status = AppendPredictResponse(PredictLayout::kRow, outputs, &text);
  return status.ok() ? text : status.ToString();
}
std::string Columns(std::vector<NamedOutput> outputs) {
  std::string text;
  const absl::Status status = AppendPredictResponse(PredictLayout::kColumnar, outputs, &text);
  return status.ok() ? text : status.ToString();
}

TEST(JsonResponseTest, RowsOfOneOutputStandOnOneLine) {
  EXPECT_EQ(Rows({{"y", Tensor::Vector<float>({2.5, 3})}}),
            "{\n    \"predictions\": [2.5, 3.0\n    ]\n}");
  EXPECT_EQ(Rows({{"y", Tensor::Of<int32_t>({2, 1, 2}, {1, 2, 3, 4})}}),
            "{\n    \"predictions\": [[[1, 2]], [[3, 4]]\n    ]\n}");
  EXPECT_EQ(Rows({{"y", Tensor::Vector<bool>({true, false})}}),
            "{\n    \"predictions\": [true, false\n    ]\n}");
}

TEST(JsonResponseTest, RowsOfSeveralOutputsAreObjects) {
  EXPECT_EQ(Rows({{"d", Tensor::Vector<double>({8, 9})},
                  {"s_bytes", Tensor::Of<std::string>({2, 1}, {"hello", "tf"})}}),
            R"({
    "predictions": [
        {
            "d": 8.0,
            "s_bytes": [{
                    "b64": "aGVsbG8="
                }]
        },
        {
            "d": 9.0,
            "s_bytes": [{
                    "b64": "dGY="
                }]
        }
    ]
})");
}

TEST(JsonResponseTest, BytesOfOneOutput) {
  EXPECT_EQ(Rows({{"y_bytes", Tensor::Vector<std::string>({"a", std::string("\0\xff", 2)})}}),
            R"({
    "predictions": [{
            "b64": "YQ=="
        }, {
            "b64": "AP8="
        }
    ]
})");
}

TEST(JsonResponseTest, NoRowsAndNoElements) {
  EXPECT_EQ(Rows({{"y", Tensor::Of<float>({0, 2}, {})}}), "{\n    \"predictions\": []\n}");
  EXPECT_EQ(Rows({{"a", Tensor::Of<float>({0, 2}, {})}, {"b", Tensor::Of<float>({0}, {})}}),
            "{\n    \"predictions\": []\n}");
  EXPECT_EQ(Rows({{"y", Tensor::Of<float>({2, 0}, {})}}),
            "{\n    \"predictions\": [[], []\n    ]\n}");
  EXPECT_EQ(Columns({{"y", Tensor::Of<float>({0}, {})}}), "{\n    \"outputs\": []\n}");
}

TEST(JsonResponseTest, RowsNeedOneFirstDimension) {
  EXPECT_THAT(Rows({{"y", Tensor::Scalar(1.0f)}}), HasSubstr("has no shape information"));
  EXPECT_THAT(Rows({{"a", Tensor::Vector<float>({1, 2})}, {"b", Tensor::Vector<float>({1})}}),
              HasSubstr("Tensor name: b has inconsistent batch size: 1 expecting: 2"));
  EXPECT_THAT(Rows({{"a", Tensor::Of<float>({0, 2}, {})}, {"b", Tensor::Vector<float>({1})}}),
              HasSubstr("inconsistent batch size"));
  EXPECT_THAT(Rows({}), HasSubstr("INVALID_ARGUMENT: Cannot convert empty tensor map"));
}

TEST(JsonResponseTest, ColumnsHaveAnElementALine) {
  EXPECT_EQ(Columns({{"y", Tensor::Of<float>({2, 1}, {1, 2})}}),
            R"({
    "outputs": [
        [
            1.0
        ],
        [
            2.0
        ]
    ]
})");
  EXPECT_EQ(Columns({{"y", Tensor::Scalar(3.0f)}}), "{\n    \"outputs\": 3.0\n}");
  EXPECT_EQ(Columns({{"a", Tensor::Vector<int64_t>({1, 2})}, {"s", Tensor::Scalar("x")}}),
            R"({
    "outputs": {
        "a": [
            1,
            2
        ],
        "s": "x"
    }
})");
}

TEST(JsonResponseTest, NarrowTypes) {
  EXPECT_EQ(Rows({{"y", Tensor::Vector<uint16_t>({0, 65535})}}),
            "{\n    \"predictions\": [0, 65535\n    ]\n}");
  EXPECT_EQ(Rows({{"y", Tensor::Vector<Eigen::half>({Eigen::half(0.1f), Eigen::half(-2.0f),
                                                     Eigen::half(65504.0f), Eigen::half(1e9f)})}}),
            "{\n    \"predictions\": [0.0999755859, -2.0, 65504.0, Infinity\n    ]\n}");
  EXPECT_EQ(Columns({{"y", Tensor::Scalar(Eigen::bfloat16(0.5f))}}), "{\n    \"outputs\": 0.5\n}");
}

TEST(JsonResponseTest, NarrowNumbersReadBackAsTheSame) {
  std::vector<Eigen::half> values;
  for (int bits = 0; bits < 0x7c00; ++bits) {
    values.push_back(Eigen::numext::bit_cast<Eigen::half>(static_cast<uint16_t>(bits)));
  }
  const std::string text = Rows({{"y", Tensor::Vector<Eigen::half>(values)}});
  const char* p = text.c_str() + text.find('[') + 1;
  for (const Eigen::half value : values) {
    char* end;
    ASSERT_EQ(Eigen::half(std::strtof(p, &end)), value);
    p = end + 1;
  }
}

TEST(JsonResponseTest, StringsThatAreNoUtf8AreBase64) {
  EXPECT_EQ(Columns({{"y", Tensor::Vector<std::string>({"\xC3\xA9", "\xFF"})}}),
            R"({
    "outputs": [
        "é",
        {
            "b64": "/w=="
        }
    ]
})");
}

TEST(JsonResponseTest, TypesWithoutJsonFormAreRefused) {
  for (const DType dtype : {DType::kComplex64, DType::kQint8}) {
    const Tensor tensor = *Tensor::Zeros(dtype, {2});
    const std::string message =
        "INVALID_ARGUMENT: Failed to write JSON value for tensor type: " + DTypeName(dtype);
    EXPECT_THAT(Rows({{"y", tensor}}), StartsWith(message));
    EXPECT_THAT(Columns({{"y", tensor}}), StartsWith(message));
    EXPECT_THAT(Rows({{"y", tensor}, {"z", tensor}}), StartsWith(message));
  }
}

TEST(JsonResponseTest, LongOutputsAreWhole) {
  std::vector<int32_t> values(100'000);
  std::string expected = "{\n    \"predictions\": [";
  for (int i = 0; i < 100'000; ++i) {
    values[i] = i;
    expected += (i == 0 ? "" : ", ") + std::to_string(i);
  }
  expected += "\n    ]\n}";
  EXPECT_EQ(Rows({{"y", Tensor::Vector<int32_t>(values)}}), expected);
}

TEST(JsonResponseTest, StringsAreEscaped) {
  EXPECT_EQ(JsonErrorBody("a\"b\\c\n/é\xff"), "{\n    \"error\": \"a\\\"b\\\\c\\n/é\uFFFD\"\n}");
}

TEST(JsonResponseTest, Classify) {
  ClassifyResult result;
  result.labels = Tensor::Of<std::string>({2, 2}, {"car", "bike", "car", "bike"});
  result.scores = Tensor::Of<float>({2, 2}, {0.2, 0.7, 0.7, 0.1});
  result.num_examples = 2;
  result.num_classes = 2;
  std::string text;
  ASSERT_TRUE(AppendClassifyResponse(result, &text).ok());
  EXPECT_EQ(text,
            "{\n    \"results\": [[[\"car\", 0.2], [\"bike\", 0.7]], [[\"car\", 0.7], [\"bike\", "
            "0.1]]\n    ]\n}");
  result.num_examples = 0;
  EXPECT_EQ(AppendClassifyResponse(result, &text).code(), absl::StatusCode::kInvalidArgument);
}

TEST(JsonResponseTest, Regress) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  RegressResult result;
  result.values = Tensor::Vector<float>({0.2, kInfinity, 1, -kInfinity, 0.0f * kInfinity});
  std::string text;
  ASSERT_TRUE(AppendRegressResponse(result, &text).ok());
  EXPECT_EQ(text, "{\n    \"results\": [0.2, Infinity, 1.0, -Infinity, NaN]\n}");
  result.values = Tensor::Of<float>({0}, {});
  EXPECT_EQ(AppendRegressResponse(result, &text).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera::serving
