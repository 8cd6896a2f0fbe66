#include "runtime/optimize/fuse_layer_norm.h"

#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

constexpr double kTolerance = 2e-6;
const FuseLayerNormPass kFuse;

struct Options {
  bool with_neg = false;  // beta + (-mean) * scale instead of beta - mean * scale
  int32_t axis = -1;
  Shape parameters = {40};
};

Endpoint LayerNorm(PassTestGraph& g, const Endpoint& x, const Options& options = {}) {
  const AttrMap mean_attrs = {{"keep_dims", true}, {"Tidx", DType::kInt32}};
  const Endpoint axis = g.Const(Tensor::Vector<int32_t>({options.axis}));
  const Endpoint gamma = g.Const(Ramp(options.parameters, 0.1f));
  const Endpoint beta = g.Const(Ramp(options.parameters, -0.2f));
  const Endpoint mean = g.Op("Mean", {x, axis}, mean_attrs);
  const Endpoint variance = g.Op("Mean", {g.Op("SquaredDifference", {x, mean}), axis}, mean_attrs);
  const Endpoint root = g.Op("Rsqrt", {g.Op("AddV2", {variance, g.Const(Tensor::Scalar(0.001f))})});
  const Endpoint scale = g.Op("Mul", {root, gamma});
  const Endpoint shift = options.with_neg
                             ? g.Op("AddV2", {g.Op("Mul", {g.Op("Neg", {mean}), scale}), beta})
                             : g.Op("Sub", {beta, g.Op("Mul", {mean, scale})});
  return g.Op("AddV2", {g.Op("Mul", {x, scale}), shift});
}

// (x - mean) * rsqrt(variance + epsilon) * gamma + beta.
Endpoint CentredLayerNorm(PassTestGraph& g, const Endpoint& x, bool squares_difference,
                          bool scales_first) {
  const AttrMap mean_attrs = {{"keep_dims", true}, {"Tidx", DType::kInt32}};
  const Endpoint axis = g.Const(Tensor::Vector<int32_t>({-1}));
  const Endpoint gamma = g.Const(Ramp({40}, 0.1f)), beta = g.Const(Ramp({40}, -0.2f));
  const Endpoint mean = g.Op("Mean", {x, axis}, mean_attrs), centred = g.Op("Sub", {x, mean});
  const Endpoint squares =
      squares_difference ? g.Op("SquaredDifference", {mean, x}) : g.Op("Square", {centred});
  const Endpoint variance = g.Op("Mean", {squares, axis}, mean_attrs);
  const Endpoint root = g.Op("Rsqrt", {g.Op("AddV2", {variance, g.Const(Tensor::Scalar(0.001f))})});
  const Endpoint product = scales_first ? g.Op("Mul", {centred, g.Op("Mul", {gamma, root})})
                                        : g.Op("Mul", {g.Op("Mul", {centred, root}), gamma});
  return g.Op("AddV2", {beta, product});
}

// Numbers without order, so that every row differs.
Tensor Scattered(const Shape& shape) {
  Tensor tensor = Ramp(shape, 1);
  for (float& x : tensor.flat<float>()) x = static_cast<float>(static_cast<int>(x) * 37 % 101) / 9;
  return tensor;
}

TEST(FuseLayerNormTest, BothFormsBecomeOneNode) {
  const Options kCases[] = {{}, {.with_neg = true}, {true, 2, {1, 1, 40}}, {false, 2, {1, 1, 40}}};
  for (const Options& options : kCases) {
    PassTestGraph g;
    g.Result(LayerNorm(g, g.Arg(DType::kFloat), options));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Scattered({2, 3, 40})}, kTolerance));
    EXPECT_EQ(g.CountOf("_LayerNorm"), 1);
    EXPECT_EQ(g.CountOf("Mean"), 0);
  }
}

TEST(FuseLayerNormTest, TheMeanMayBeTakenOffFirst) {
  for (const bool squares_difference : {false, true}) {
    for (const bool scales_first : {false, true}) {
      PassTestGraph g;
      const Endpoint a = g.Arg(DType::kFloat), b = g.Arg(DType::kFloat);
      g.Result(CentredLayerNorm(g, g.Op("AddV2", {a, b}), squares_difference, scales_first));
      EXPECT_TRUE(
          g.ExpectSameResults(kFuse, {Scattered({2, 3, 40}), Ramp({2, 3, 40}, 0.1f)}, kTolerance));
      EXPECT_EQ(g.Only("_LayerNorm")->num_inputs(), 4);
      EXPECT_EQ(g.CountOf("Mean") + g.CountOf("Sub") + g.CountOf("AddV2"), 0);
    }
  }
}

TEST(FuseLayerNormTest, ParametersThatBroadcastInAnotherWayStay) {
  struct {
    std::vector<int64_t> x;
    Options options;
  } const kCases[] = {
      {{2, 3, 5, 40}, {.axis = 2, .parameters = {1, 1, 40}}},
      {{5, 1}, {}},
      {{5, 40}, {.parameters = {1, 1, 40}}},
  };
  for (const auto& c : kCases) {
    PassTestGraph g;
    const Endpoint shape = g.Const(Tensor::Vector<int64_t>(c.x));
    const Endpoint x = g.Op("Reshape", {g.Arg(DType::kFloat), shape}, {{"Tshape", DType::kInt64}});
    g.Result(LayerNorm(g, x, c.options));
    EXPECT_FALSE(g.ExpectSameResults(kFuse, {Scattered(Shape(c.x))}));
  }
}

TEST(FuseLayerNormTest, ParametersOfAHigherRankThanAnUnknownInputRaiseIt) {
  for (const bool sums : {false, true}) {
    PassTestGraph g;
    const Endpoint a = g.Arg(DType::kFloat), b = g.Arg(DType::kFloat);
    const Endpoint x = sums ? g.Op("AddV2", {a, b}) : a;
    g.Result(LayerNorm(g, x, {.parameters = {1, 1, 40}}));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Scattered({5, 40}), Ramp({1, 40}, 0.1f)}, kTolerance));
    EXPECT_EQ(g.CountOf("_LayerNorm"), 1);
  }
}

TEST(FuseLayerNormTest, WithoutRowsThereIsNothingToNormalise) {
  for (const bool sums : {false, true}) {
    PassTestGraph g;
    const Endpoint a = g.Arg(DType::kFloat), b = g.Arg(DType::kFloat);
    g.Result(LayerNorm(g, sums ? g.Op("AddV2", {a, b}) : a));
    EXPECT_TRUE(g.ExpectSameResults(
        kFuse, {Tensor::Of<float>({0, 3, 40}, {}), Tensor::Of<float>({0, 3, 40}, {})}));
  }
}

TEST(FuseLayerNormTest, AnotherMeanThanThatOfTheVarianceStays) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), other = g.Arg(DType::kFloat);
  const AttrMap mean_attrs = {{"keep_dims", true}, {"Tidx", DType::kInt32}};
  const Endpoint axis = g.Const(Tensor::Vector<int32_t>({-1}));
  const Endpoint mean = g.Op("Mean", {x, axis}, mean_attrs);
  const Endpoint variance = g.Op("Mean", {g.Op("SquaredDifference", {x, mean}), axis}, mean_attrs);
  const Endpoint root = g.Op("Rsqrt", {g.Op("AddV2", {variance, g.Const(Tensor::Scalar(0.001f))})});
  const Endpoint product =
      g.Op("Mul", {g.Op("Mul", {g.Op("Sub", {x, other}), root}), g.Const(Ramp({40}, 0.1f))});
  g.Result(g.Op("AddV2", {product, g.Const(Ramp({40}, 1))}));
  EXPECT_FALSE(g.ExpectSameResults(kFuse, {Scattered({2, 3, 40}), Ramp({2, 3, 1}, 0.1f)}));
}

TEST(FuseLayerNormTest, ASumBeforeItIsTakenIn) {
  PassTestGraph g;
  const Endpoint a = g.Arg(DType::kFloat), b = g.Arg(DType::kFloat);
  g.Result(LayerNorm(g, g.Op("AddV2", {a, b})));
  EXPECT_TRUE(
      g.ExpectSameResults(kFuse, {Scattered({2, 3, 40}), Ramp({2, 3, 40}, 0.1f)}, kTolerance));
  EXPECT_EQ(g.CountOf("AddV2"), 0);
  EXPECT_EQ(g.Only("_LayerNorm")->num_inputs(), 4);
}

TEST(FuseLayerNormTest, ASumThatBroadcastsIsTheSame) {
  PassTestGraph g;
  const Endpoint a = g.Arg(DType::kFloat), b = g.Arg(DType::kFloat);
  g.Result(LayerNorm(g, g.Op("AddV2", {a, b})));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Scattered({3, 40}), Ramp({2, 1, 40}, 0.1f)}, kTolerance));
}

TEST(FuseLayerNormTest, ASumThatOthersUseStays) {
  PassTestGraph g;
  const Endpoint sum = g.Op("AddV2", {g.Arg(DType::kFloat), g.Arg(DType::kFloat)});
  g.Result(LayerNorm(g, sum));
  g.Result(sum);
  EXPECT_TRUE(
      g.ExpectSameResults(kFuse, {Scattered({2, 3, 40}), Ramp({2, 3, 40}, 0.1f)}, kTolerance));
  EXPECT_EQ(g.CountOf("AddV2"), 1);
  EXPECT_EQ(g.Only("_LayerNorm")->num_inputs(), 3);
}

TEST(FuseLayerNormTest, AnotherAxisIsNoLayerNorm) {
  for (const int32_t axis : {0, 1}) {
    PassTestGraph g;
    g.Result(LayerNorm(g, g.Arg(DType::kFloat), {.axis = axis}));
    EXPECT_FALSE(g.ExpectSameResults(kFuse, {Scattered({3, 40})}, kTolerance));
  }
}

}  // namespace
}  // namespace tessera
