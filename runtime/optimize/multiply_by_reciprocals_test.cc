#include "runtime/optimize/multiply_by_reciprocals.h"

#include <limits>

#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

TEST(MultiplyByReciprocalsTest, AQuotientIsTheProductThatGrapplerMakesOfIt) {
  PassTestGraph g;
  g.Result(g.Op("RealDiv", {g.Arg(DType::kFloat), g.Const(Tensor::Scalar(0.05f))}));
  EXPECT_TRUE(g.Apply(MultiplyByReciprocalsPass()));
  EXPECT_EQ(g.CountOf("RealDiv"), 0);
  const auto results = g.Run({Tensor::Vector<float>({-19.6f, 0.15f})});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ((*results)[0].flat<float>()[0], -19.6f * (1 / 0.05f));
  EXPECT_EQ((*results)[0].flat<float>()[1], 0.15f * (1 / 0.05f));
  EXPECT_FALSE(g.Apply(MultiplyByReciprocalsPass()));
}

TEST(MultiplyByReciprocalsTest, PowersOfTwoAndZerosGiveTheSame) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  PassTestGraph g;
  g.Result(g.Op("RealDiv",
                {g.Arg(DType::kFloat), g.Const(Tensor::Vector<float>({4, 0, -0.5f, kInfinity}))}));
  g.Result(g.Op("Div", {g.Arg(DType::kFloat), g.Const(Tensor::Scalar(0.0f))}));
  g.Result(g.Op("Xdivy", {g.Arg(DType::kFloat), g.Const(Tensor::Scalar(0.0f))}));
  const Tensor x = Tensor::Vector<float>({0, 1, -3, kInfinity});
  EXPECT_TRUE(g.ExpectSameResults(MultiplyByReciprocalsPass(), {x, x, x}));
  EXPECT_EQ(g.CountOf("Mul"), 2);
  EXPECT_EQ(g.CountOf("MulNoNan"), 1);
}

TEST(MultiplyByReciprocalsTest, OtherQuotientsStay) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), one = g.Const(Tensor::Scalar(1.0f));
  g.Result(g.Op("RealDiv", {one, x}));
  g.Result(g.Op("RealDiv", {one, one}));
  g.Result(g.Op("Div", {g.Arg(DType::kInt32), g.Const(Tensor::Scalar(3))}));
  g.Result(g.Op("DivNoNan", {x, one}));
  EXPECT_FALSE(g.Apply(MultiplyByReciprocalsPass()));
}

}  // namespace
}  // namespace tessera
