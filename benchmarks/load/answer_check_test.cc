#include "benchmarks/load/answer_check.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensorflow_serving/apis/predict.pb.h"

namespace tessera::benchmarks {
namespace {

using ::testing::HasSubstr;

std::string Response(float value, int64_t version) {
  tensorflow::serving::PredictResponse response;
  if (version > 0) response.mutable_model_spec()->mutable_version()->set_value(version);
  auto& y = (*response.mutable_outputs())["y"];
  y.set_dtype(tensorflow::DT_FLOAT);
  y.mutable_tensor_shape()->add_dim()->set_size(1);
  y.add_float_val(value);
  return response.SerializeAsString();
}

TEST(ComparePredictResponsesTest, AVersionMustGiveItsOwnAnswer) {
  EXPECT_EQ(ComparePredictResponses(Response(2.5, 3), Response(2.5, 3)), "");
  EXPECT_EQ(ComparePredictResponses(Response(2.5, 3), Response(2.5, 0)), "");
  EXPECT_EQ(ComparePredictResponses(Response(2.5, 4), Response(2.5, 3)), "version 4, not 3");
  EXPECT_THAT(ComparePredictResponses(Response(2.6f, 3), Response(2.5, 3)), HasSubstr("'y'"));
}

TEST(ComparePredictResponsesTest, OutputsAndWhatIsNoAnswerAreSeen) {
  tensorflow::serving::PredictResponse empty;
  EXPECT_EQ(ComparePredictResponses(empty.SerializeAsString(), Response(1, 0)), "0 outputs, not 1");
  EXPECT_EQ(ComparePredictResponses("\x01\x02", Response(1, 0)), "no PredictResponse");
}

TEST(CompareJsonTest, SaysWhereNumbersDiffer) {
  EXPECT_EQ(CompareJson(R"({"predictions": [2.500001, 3]})", R"({"predictions":[2.5,3.0]})"), "");
  EXPECT_EQ(CompareJson(R"({"predictions": [2.5, 4]})", R"({"predictions": [2.5, 3]})"),
            "/predictions/1: 4, not 3");
  EXPECT_EQ(CompareJson(R"({"predictions": [2.5]})", R"({"predictions": [2.5, 3]})"),
            "/predictions: 1 elements, not 2");
  EXPECT_EQ(CompareJson(R"({"outputs": 1})", R"({"predictions": 1})"), "/predictions: missing");
  EXPECT_EQ(CompareJson(R"({"y": "a"})", R"({"y": "b"})"), "/y: another value");
  EXPECT_EQ(CompareJson("", "{}"), "no JSON");
}

TEST(AnswerCheckTest, AnyOfTheRightAnswersWillDo) {
  AnswerCheck check(CompareJson, {{"[1]", "[2]"}, {}});
  EXPECT_EQ(check.Difference(0, "[1]"), "");
  EXPECT_EQ(check.Difference(0, "[ 2 ]"), "");
  EXPECT_EQ(check.Difference(0, "[ 2 ]"), "");
  EXPECT_EQ(check.Difference(0, "[3]"), "/0: 3, not 2");
  EXPECT_EQ(check.Difference(0, "[3]"), "/0: 3, not 2");
  EXPECT_EQ(check.Difference(1, "what you like"), "");
}

}  // namespace
}  // namespace tessera::benchmarks
