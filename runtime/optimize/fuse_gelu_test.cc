#include "runtime/optimize/fuse_gelu.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/fuse_post_ops.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

constexpr double kTolerance = 1e-6;
const FuseGeluPass kFuse;

Endpoint Number(PassTestGraph& g, double value) {
  return g.Const(Tensor::Scalar(static_cast<float>(value)));
}

bool IsApproximate(const PassTestGraph& g) {
  return g.Only("_Gelu")->attr<bool>("approximate").value();
}

TEST(FuseGeluTest, ErfcForm) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint gate = g.Op("Erfc", {g.Op("Mul", {g.Op("Neg", {x}), Number(g, M_SQRT1_2)})});
  g.Result(g.Op("Mul", {g.Op("Mul", {Number(g, 0.5), x}), gate}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({5, 7}, 0.25f)}, kTolerance));
  EXPECT_FALSE(IsApproximate(g));
  EXPECT_EQ(g.CountOf("Erfc"), 0);
}

TEST(FuseGeluTest, ErfFormInAnotherOrder) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint erf = g.Op("Erf", {g.Op("RealDiv", {x, Number(g, M_SQRT2)})});
  const Endpoint gate = g.Op("AddV2", {Number(g, 1), erf});
  g.Result(g.Op("Mul", {x, g.Op("Mul", {gate, Number(g, 0.5)})}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({5, 7}, -0.25f)}, kTolerance));
  EXPECT_FALSE(IsApproximate(g));
}

TEST(FuseGeluTest, TanhForm) {
  for (const bool by_power : {true, false}) {
    PassTestGraph g;
    const Endpoint x = g.Arg(DType::kFloat);
    const Endpoint cube =
        by_power ? g.Op("Pow", {x, Number(g, 3)}) : g.Op("Mul", {x, g.Op("Mul", {x, x})});
    const Endpoint sum = g.Op("AddV2", {x, g.Op("Mul", {Number(g, 0.044715), cube})});
    const Endpoint tanh = g.Op("Tanh", {g.Op("Mul", {Number(g, std::sqrt(M_2_PI)), sum})});
    const Endpoint gate = g.Op("AddV2", {Number(g, 1), tanh});
    g.Result(g.Op("Mul", {g.Op("Mul", {Number(g, 0.5), x}), gate}));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({5, 7}, 0.1f)}, 2e-6));
    EXPECT_TRUE(IsApproximate(g));
  }
}

TEST(FuseGeluTest, AMatrixOfOneElementWouldAddADimension) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint half = g.Const(Tensor::Of<float>({1, 1}, {0.5f}));
  const Endpoint gate = g.Op("Erfc", {g.Op("Mul", {g.Op("Neg", {x}), Number(g, M_SQRT1_2)})});
  g.Result(g.Op("Mul", {g.Op("Mul", {half, x}), gate}));
  EXPECT_FALSE(g.Apply(kFuse));
}

TEST(FuseGeluTest, IsThenTakenIntoAProduct) {
  PassTestGraph g;
  const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({3, 64}, 0.01f))});
  const Endpoint x = g.Op("BiasAdd", {product, g.Const(Ramp({64}, -0.1f))});
  const Endpoint gate = g.Op("Erfc", {g.Op("Mul", {x, Number(g, -M_SQRT1_2)})});
  g.Result(g.Op("Mul", {g.Op("Mul", {Number(g, 0.5), x}), gate}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({40, 3}, 0.05f)}, kTolerance));
  EXPECT_TRUE(g.ExpectSameResults(FusePostOpsPass(), {Ramp({40, 3}, 0.05f)}, 1e-5));
  EXPECT_THAT(g.Only("_FusedMatMul")->attr<std::vector<std::string>>("fused_ops").value(),
              testing::ElementsAre("BiasAdd", "GeluExact"));
}

TEST(FuseGeluTest, WhatThePiecesWaitForIsAwaited) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  Node* const first = g.Arg(DType::kBool).node;
  Node* const second = g.Arg(DType::kBool).node;
  const Endpoint scaled = g.Op("Mul", {x, Number(g, -M_SQRT1_2)});
  const Endpoint gate = g.Op("Erfc", {scaled});
  g.graph.AddControlEdge(first, scaled.node);
  g.graph.AddControlEdge(second, gate.node);
  g.Result(g.Op("Mul", {g.Op("Mul", {Number(g, 0.5), x}), gate}));
  EXPECT_TRUE(g.Apply(kFuse));
  EXPECT_THAT(g.Only("_Gelu")->control_inputs(), testing::UnorderedElementsAre(first, second));
}

TEST(FuseGeluTest, OtherConstantsAreNoGelu) {
  const struct {
    double half, root;
  } kCases[] = {{0.25, M_SQRT1_2}, {0.5, 0.7}, {-0.5, M_SQRT1_2}, {0.5, -M_SQRT1_2}};
  for (const auto& c : kCases) {
    PassTestGraph g;
    const Endpoint x = g.Arg(DType::kFloat);
    const Endpoint gate = g.Op("Erfc", {g.Op("Mul", {g.Op("Neg", {x}), Number(g, c.root)})});
    g.Result(g.Op("Mul", {g.Op("Mul", {Number(g, c.half), x}), gate}));
    EXPECT_FALSE(g.Apply(kFuse)) << c.half << " " << c.root;
  }
  PassTestGraph g;  // of two different values
  const Endpoint gate = g.Op("Erfc", {g.Op("Mul", {g.Arg(DType::kFloat), Number(g, -M_SQRT1_2)})});
  g.Result(g.Op("Mul", {g.Op("Mul", {Number(g, 0.5), g.Arg(DType::kFloat)}), gate}));
  EXPECT_FALSE(g.Apply(kFuse));
}

}  // namespace
}  // namespace tessera
