#include "runtime/optimize/hoist_reshapes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/fuse_post_ops.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

constexpr double kTolerance = 1e-6;
const HoistReshapesPass kHoist;

Endpoint Product(PassTestGraph& g) {
  return g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({3, 4}, 0.25f))});
}

Endpoint Reshape(PassTestGraph& g, const Endpoint& x, const Endpoint& shape) {
  return g.Op("Reshape", {x, shape}, {{"Tshape", DType::kInt32}});
}

TEST(HoistReshapesTest, BiasAndActivationGoBeforeTheReshape) {
  PassTestGraph g;
  const Endpoint shape = g.Op("ConcatV2",
                              {g.Arg(DType::kInt32), g.Const(Tensor::Vector<int32_t>({4})),
                               g.Const(Tensor::Scalar<int32_t>(0))},
                              {{"N", 2}});
  const Endpoint biased = g.Op("AddV2", {Reshape(g, Product(g), shape), g.Const(Ramp({4}, -2))});
  g.Result(g.Op("Relu", {biased}));
  const std::vector<Tensor> args = {Tensor::Vector<int32_t>({2, 3}), Ramp({6, 3}, 0.5f)};
  EXPECT_TRUE(g.ExpectSameResults(kHoist, args, kTolerance));
  EXPECT_TRUE(g.ExpectSameResults(FusePostOpsPass(), args, kTolerance));
  EXPECT_THAT(g.Only("_FusedMatMul")->attr<std::vector<std::string>>("fused_ops").value(),
              testing::ElementsAre("BiasAdd", "Relu"));
  EXPECT_EQ(g.CountOf("Reshape"), 1);
}

TEST(HoistReshapesTest, ABiasOfAnotherDimensionStays) {
  for (const bool known : {true, false}) {
    PassTestGraph g;
    const Endpoint shape =
        known ? g.Const(Tensor::Vector<int32_t>({2, 4, 3})) : g.Arg(DType::kInt32);
    // Four columns become the middle dimension: three values are no bias of the product.
    g.Result(g.Op("AddV2", {Reshape(g, Product(g), shape), g.Const(Ramp({known ? 3 : 4}, 1))}));
    EXPECT_FALSE(g.Apply(kHoist));
  }
}

TEST(HoistReshapesTest, ABiasOfTheSecondDimensionStays) {
  PassTestGraph g;
  const Endpoint reshaped = Reshape(g, Product(g), g.Const(Tensor::Vector<int32_t>({-1, 4, 4})));
  g.Result(g.Op("BiasAdd", {reshaped, g.Const(Ramp({4}, 1))}, {{"data_format", "NCHW"}}));
  EXPECT_FALSE(g.Apply(kHoist));
}

// A convolution over series of 3 channels by a filter of 2 points, as tf.nn.conv1d writes it.
Endpoint Series(PassTestGraph& g, int64_t channels, const std::string& format = "NHWC") {
  const Endpoint images = g.Op("ExpandDims", {g.Arg(DType::kFloat), g.Const(Tensor::Scalar(-3))},
                               {{"Tdim", DType::kInt32}});
  const Endpoint product = g.Op("Conv2D", {images, g.Const(Ramp({1, 2, 3, channels}, 0.25f))},
                                {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
                                 {"padding", std::string("VALID")},
                                 {"data_format", format}});
  return g.Op("Squeeze", {product}, {{"squeeze_dims", std::vector<int64_t>{-3}}});
}

TEST(HoistReshapesTest, BiasAndActivationGoBeforeTheSqueezeOfASeries) {
  for (const bool as_bias_add : {false, true}) {
    PassTestGraph g;
    const Endpoint biased =
        g.Op(as_bias_add ? "BiasAdd" : "AddV2", {Series(g, 4), g.Const(Ramp({4}, -2))});
    g.Result(g.Op("Relu", {biased}));
    const std::vector<Tensor> args = {Ramp({2, 5, 3}, 0.5f)};
    EXPECT_TRUE(g.ExpectSameResults(kHoist, args, kTolerance));
    EXPECT_TRUE(g.ExpectSameResults(FusePostOpsPass(), args, kTolerance));
    EXPECT_THAT(g.Only("_FusedConv2D")->attr<std::vector<std::string>>("fused_ops").value(),
                testing::ElementsAre("BiasAdd", "Relu"));
    EXPECT_EQ(g.CountOf("Squeeze"), 1);
  }
}

TEST(HoistReshapesTest, ABiasOfOneChannelOrOfOtherDimensionsStaysBehindTheSqueeze) {
  PassTestGraph one;
  one.Result(one.Op("AddV2", {Series(one, 1), one.Const(Ramp({1}, 1))}));
  EXPECT_FALSE(one.Apply(kHoist));
  PassTestGraph other;
  other.Result(other.Op("AddV2", {Series(other, 4, "NCHW"), other.Const(Ramp({4}, 1))}));
  EXPECT_FALSE(other.Apply(kHoist));
}

TEST(HoistReshapesTest, WhatOthersUseStays) {
  PassTestGraph g;
  const Endpoint reshaped = Reshape(g, Product(g), g.Const(Tensor::Vector<int32_t>({2, -1, 4})));
  g.Result(g.Op("Relu", {reshaped}));
  g.Result(reshaped);
  EXPECT_FALSE(g.Apply(kHoist));
}

TEST(HoistReshapesTest, ReshapesOfOtherThingsStay) {
  PassTestGraph g;
  g.Result(g.Op("Relu",
                {Reshape(g, g.Arg(DType::kFloat), g.Const(Tensor::Vector<int32_t>({2, -1, 4})))}));
  EXPECT_FALSE(g.Apply(kHoist));
}

}  // namespace
}  // namespace tessera
