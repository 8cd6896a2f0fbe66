#include "serving/frontend/json/json_examples_request.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensorflow/core/example/example.pb.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The error of a body.
std::string Error(absl::string_view json) {
  ExamplesBody body;
  return DecodeExamplesBody(json, &body).ToString();
}

TEST(JsonExamplesRequestTest, KindsComeFromTheValues) {
  ExamplesBody body;
  const absl::Status status = DecodeExamplesBody(
      R"({"signature_name": "s", "examples": [
          {"t": ["a", {"b64": "/w=="}], "i": 20, "b": [true, 2], "f": [0.5, 1e1, NaN], "e": []},
          {}]})",
      &body);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(body.signature_name, "s");
  ASSERT_EQ(body.input.kind_case(), tensorflow::serving::Input::kExampleList);
  ASSERT_EQ(body.input.example_list().examples_size(), 2);
  const auto& features = body.input.example_list().examples(0).features().feature();
  EXPECT_THAT(features.at("t").bytes_list().value(), ElementsAre("a", "\xff"));
  EXPECT_THAT(features.at("i").int64_list().value(), ElementsAre(20));
  EXPECT_THAT(features.at("b").int64_list().value(), ElementsAre(1, 2));
  EXPECT_THAT(features.at("f").float_list().value(), ElementsAre(0.5f, 10.0f, ::testing::_));
  EXPECT_EQ(features.at("e").kind_case(), tensorflow::Feature::KIND_NOT_SET);
  EXPECT_TRUE(body.input.example_list().examples(1).features().feature().empty());
}

TEST(JsonExamplesRequestTest, AnyContextMakesTheListOneWithContext) {
  ExamplesBody body;
  ASSERT_TRUE(DecodeExamplesBody(R"({"context": {}, "examples": [{"a": 1}]})", &body).ok());
  ASSERT_EQ(body.input.kind_case(), tensorflow::serving::Input::kExampleListWithContext);
  EXPECT_EQ(body.input.example_list_with_context().examples_size(), 1);
  ASSERT_TRUE(DecodeExamplesBody(R"({"examples": [{"a": 1}], "context": {"c": "x"}})", &body).ok());
  EXPECT_EQ(body.input.example_list_with_context().context().features().feature().size(), 1);
}

TEST(JsonExamplesRequestTest, FirstOfEqualFeaturesCounts) {
  ExamplesBody body;
  ASSERT_TRUE(DecodeExamplesBody(R"({"examples": [{"a": 1, "a": [2, "x"]}]})", &body).ok());
  EXPECT_THAT(
      body.input.example_list().examples(0).features().feature().at("a").int64_list().value(),
      ElementsAre(1));
}

TEST(JsonExamplesRequestTest, RefusesWhatNoExampleIs) {
  EXPECT_THAT(Error("[]"), HasSubstr("Is not object"));
  EXPECT_THAT(Error("{}"), HasSubstr("key 'examples' is expected and was not found"));
  EXPECT_THAT(Error(R"({"examples": []})"), HasSubstr("list/array"));
  EXPECT_THAT(Error(R"({"examples": {"a": 1}})"), HasSubstr("list/array"));
  EXPECT_THAT(Error(R"({"examples": [[{"a": 1}]]})"),
              HasSubstr("Example must be JSON object but got JSON Array"));
  EXPECT_THAT(Error(R"({"context": 1})"), HasSubstr("Example must be JSON object"));
  EXPECT_THAT(Error(R"({"signature_name": 1, "context": 1})"), HasSubstr("signature_name"));
}

TEST(JsonExamplesRequestTest, RefusesWhatNoFeatureIs) {
  const auto error = [](absl::string_view feature) {
    return Error("{\"examples\": [{\"f\": " + std::string(feature) + "}]}");
  };
  EXPECT_THAT(error(R"([1, 1.0])"), HasSubstr("feature: f expecting type: int64"));
  EXPECT_THAT(error(R"(["x", 2])"), HasSubstr("feature: f expecting type: bytes"));
  EXPECT_THAT(error(R"([0.5, "x"])"), HasSubstr("feature: f expecting type: float"));
  EXPECT_THAT(error("null"), HasSubstr("f has element with unexpected JSON type: Null"));
  EXPECT_THAT(error("[[1]]"), HasSubstr("f has element with unexpected JSON type: Array"));
  EXPECT_THAT(error(R"({"a": 1})"), HasSubstr("unexpected JSON type: Object"));
  EXPECT_THAT(error("9223372036854775808"), HasSubstr("Only int64_t is supported"));
  EXPECT_THAT(error(R"({"b64": "***"})"), HasSubstr("Unable to base64 decode"));
}

TEST(JsonExamplesRequestTest, DeepNestingNeedsNoStack) {
  const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  EXPECT_THAT(Error("{\"examples\": " + deep + "}"), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Error("{\"examples\": [{\"a\": " + deep + "}]}"), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Error("{\"context\": " + deep + "}"), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_EQ(Error("{\"x\": " + deep + ", \"examples\": [{}]}"), "OK");
}

}  // namespace
}  // namespace tessera::serving
