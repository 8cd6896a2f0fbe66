#include "tests/conformance/rounding_variables.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow_serving/apis/predict.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Tensor Floats(const std::vector<float>& values) { return Tensor::Vector<float>(values); }

// Finds them in a folder with these gradients.
RoundingVariables FindIn(const std::vector<std::pair<std::string, Tensor>>& gradients,
                         const char* info) {
  tensorflow::serving::PredictResponse response;
  for (const auto& [name, gradient] : gradients) {
    EXPECT_TRUE(TensorToProto(gradient, TensorProtoForm::kTensorContent,
                              &(*response.mutable_outputs())[name])
                    .ok());
  }
  const std::string folder = ::testing::TempDir();
  EXPECT_TRUE(
      WriteFileAtomically(JoinPath(folder, "grads_0.pb"), response.SerializeAsString()).ok());
  rapidjson::Document document;
  document.Parse(info);
  return RoundingVariables::Find(folder, document).value();
}

TEST(RoundingVariablesTest, AreThoseFarBelowTheLargestGradient) {
  EXPECT_THAT(FindIn({{"loss", Tensor::Scalar(3e9f)},
                      {"kernel", Floats({0.1f, -2})},
                      {"bias", Floats({1e-8f, -3e-7f})},
                      {"behind_zeros", Floats({0, 0})},
                      {"small", Floats({1e-8f, 3e-6f})}},
                     "{}")
                  .names(),
              ElementsAre("bias"));
  EXPECT_THAT(FindIn({{"a", Floats({0})}, {"b", Floats({0})}}, "{}").names(), IsEmpty());
}

TEST(RoundingVariablesTest, AreNamedByTheListOfTrainedVariablesInTf2) {
  const std::vector<std::pair<std::string, Tensor>> gradients = {{"grad_0", Floats({1})},
                                                                 {"grad_1", Floats({1e-9f})}};
  EXPECT_THAT(FindIn(gradients, R"({"trainable": ["dense/kernel", "dense/bias"]})").names(),
              ElementsAre("dense/bias"));
  EXPECT_THAT(FindIn(gradients, "{}").names(), IsEmpty());
}

TEST(RoundingVariablesTest, MayHaveAnyFiniteValuesAndOthersMayNot) {
  const RoundingVariables found =
      FindIn({{"kernel", Floats({1})}, {"bias", Floats({1e-9f, 0})}}, "{}");
  const Tensor want = Floats({1, 2});
  EXPECT_TRUE(found.Check("bias", Floats({3, 4}), want, 1e-2).ok());
  EXPECT_TRUE(found.Check("model/bias", Floats({3, 4}), want, 1e-2).ok());
  EXPECT_FALSE(found.Check("other_bias", Floats({3, 4}), want, 1e-2).ok());
  EXPECT_FALSE(found.Check("bias/Adam", Floats({3, 4}), want, 1e-2).ok());
  EXPECT_FALSE(found.Check("kernel", Floats({3, 4}), want, 1e-2).ok());
  EXPECT_FALSE(found.Check("bias", Floats({3}), want, 1e-2).ok());
  EXPECT_FALSE(
      found.Check("bias", Floats({3, std::numeric_limits<float>::infinity()}), want, 1e-2).ok());
  EXPECT_FALSE(
      found.Check("bias", Floats({std::numeric_limits<float>::quiet_NaN(), 3}), want, 1e-2).ok());
}

TEST(RoundingVariablesTest, HaveGradientsAsSmallAsTheRecordedOnes) {
  const RoundingVariables found = FindIn({{"grad_0", Floats({2})}, {"grad_1", Floats({1e-7f, 0})}},
                                         R"({"trainable": ["kernel", "bias"]})");
  const Tensor want = Floats({1e-7f, 0});
  EXPECT_TRUE(found.CheckGradient("grad_1", Floats({-1.9e-6f, 1e-6f}), want, 1e-4).ok());
  EXPECT_FALSE(found.CheckGradient("grad_1", Floats({0, 2.1e-6f}), want, 1e-4).ok());
  EXPECT_FALSE(found.CheckGradient("grad_1", Floats({0}), want, 1e-4).ok());
  EXPECT_FALSE(found.CheckGradient("grad_0", Floats({1}), Floats({2}), 1e-4).ok());
}

}  // namespace
}  // namespace tessera
