#include "runtime/optimize/fold_batch_norm.h"

#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

constexpr double kTolerance = 1e-6;
const FoldBatchNormPass kFold;
const AttrMap kConv = {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}};

Endpoint BatchNorm(PassTestGraph& g, const Endpoint& x, bool training = false) {
  Node* node = g.OpNode("FusedBatchNormV3",
                        {x, g.Const(Tensor::Vector<float>({1, 2, -1, 0.5})),
                         g.Const(Tensor::Vector<float>({0.5, 0, 1, 2})),
                         g.Const(Tensor::Vector<float>({4, -3, 2, 0})),
                         g.Const(Tensor::Vector<float>({1, 4, 0.25, 9}))},
                        {{"U", DType::kFloat}, {"is_training", training}, {"epsilon", 0.001f}});
  return {node, 0};
}

TEST(FoldBatchNormTest, BatchNormGoesIntoWeightsAndBias) {
  for (const bool with_bias : {false, true}) {
    for (const char* op : {"Conv2D", "DepthwiseConv2dNative"}) {
      SCOPED_TRACE(absl::StrCat(op, with_bias ? " with bias" : ""));
      PassTestGraph g;
      const Shape filter =
          absl::string_view(op) == "Conv2D" ? Shape{2, 2, 2, 4} : Shape{2, 2, 2, 2};
      Endpoint y = g.Op(op, {g.Arg(DType::kFloat), g.Const(Ramp(filter, 0.25f))}, kConv);
      if (with_bias) y = g.Op("BiasAdd", {y, g.Const(Ramp({4}, 1))});
      g.Result(BatchNorm(g, y));
      EXPECT_TRUE(g.ExpectSameResults(kFold, {Ramp({1, 3, 3, 2}, 0.5f)}, kTolerance));
      EXPECT_EQ(g.CountOf("FusedBatchNormV3"), 0);
      EXPECT_EQ(g.CountOf("BiasAdd"), 1);
      EXPECT_EQ(g.CountOf(op), 1);
      EXPECT_EQ(g.CountOf("_ScaleWeights"), absl::string_view(op) == "Conv2D" ? 1 : 0);
    }
  }
}

TEST(FoldBatchNormTest, OneScaleForTwoProducts) {
  PassTestGraph g;
  const Endpoint conv =
      g.Op("Conv2D", {g.Arg(DType::kFloat), g.Const(Ramp({2, 2, 2, 4}, 0.25f))}, kConv);
  const Endpoint once = g.Op("Mul", {conv, g.Const(Ramp({4}, -0.5f))});
  g.Result(BatchNorm(g, g.Op("BiasAdd", {once, g.Const(Ramp({4}, 1))})));
  EXPECT_TRUE(g.ExpectSameResults(kFold, {Ramp({1, 3, 3, 2}, 0.5f)}, kTolerance));
  EXPECT_EQ(g.CountOf("Mul"), 0);
  EXPECT_EQ(g.CountOf("FusedBatchNormV3"), 0);
  EXPECT_EQ(g.CountOf("_ScaleWeights"), 1);
}

TEST(FoldBatchNormTest, ConvolutionsThatShareAFilterHaveAScaleEach) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), filter = g.Const(Ramp({2, 2, 2, 4}, 0.25f));
  for (const float step : {-0.5f, 3.f}) {
    g.Result(g.Op("Mul", {g.Op("Conv2D", {x, filter}, kConv), g.Const(Ramp({4}, step))}));
  }
  EXPECT_TRUE(g.ExpectSameResults(kFold, {Ramp({1, 3, 3, 2}, 0.5f)}, kTolerance));
  EXPECT_EQ(g.CountOf("_ScaleWeights"), 2);
  EXPECT_EQ(g.CountOf("Const"), 3) << "the filter and two scales";
}

TEST(FoldBatchNormTest, AProductWithAChannelVectorGoesIntoWeights) {
  PassTestGraph g;
  const Endpoint conv =
      g.Op("Conv2D", {g.Arg(DType::kFloat), g.Const(Ramp({1, 1, 2, 4}, 0.25f))}, kConv);
  const Endpoint scaled = g.Op("Mul", {conv, g.Const(Ramp({1, 1, 1, 4}, -0.5f))});
  g.Result(g.Op("AddV2", {scaled, g.Const(Ramp({4}, 2))}));
  EXPECT_TRUE(g.ExpectSameResults(kFold, {Ramp({1, 3, 3, 2}, 0.5f)}, kTolerance));
  EXPECT_EQ(g.CountOf("Mul"), 0);
  EXPECT_EQ(g.CountOf("AddV2"), 1) << "the addition is a bias already";
}

TEST(FoldBatchNormTest, ThreadsShareTheRowsOfLargeWeights) {
  PassTestGraph g;
  ThreadPool pool({.name = "test", .num_threads = 3});
  g.item.pool = &pool;
  const Endpoint product =
      g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({40, 1024}, 0.001f))});
  g.Result(g.Op("Mul", {product, g.Const(Ramp({1024}, 0.5f))}));
  EXPECT_TRUE(g.ExpectSameResults(kFold, {Ramp({2, 40}, 0.01f)}, kTolerance));
  EXPECT_EQ(g.CountOf("Mul"), 0);
}

TEST(FoldBatchNormTest, TheBiasBeforeAProductIsScaledToo) {
  PassTestGraph g;
  const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({2, 3}, 1))});
  const Endpoint biased = g.Op("AddV2", {product, g.Const(Ramp({3}, 2))});
  g.Result(g.Op("Mul", {g.Const(Ramp({3}, 0.5f)), biased}));
  EXPECT_TRUE(g.ExpectSameResults(kFold, {Ramp({2, 2}, 1)}, kTolerance));
  EXPECT_EQ(g.CountOf("Mul"), 0);
}

TEST(FoldBatchNormTest, LeavesWhatItCannotFold) {
  {
    PassTestGraph g;  // statistics of the batch
    const Endpoint conv =
        g.Op("Conv2D", {g.Arg(DType::kFloat), g.Const(Ramp({1, 1, 2, 4}, 1))}, kConv);
    g.Result(BatchNorm(g, conv, /*training=*/true));
    EXPECT_FALSE(g.Apply(kFold));
  }
  {
    PassTestGraph g;  // weights that vary
    const Endpoint conv = g.Op("Conv2D", {g.Arg(DType::kFloat), g.Arg(DType::kFloat)}, kConv);
    g.Result(BatchNorm(g, conv));
    EXPECT_FALSE(g.Apply(kFold));
  }
  {
    PassTestGraph g;  // another user of the product
    const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({2, 3}, 1))});
    g.Result(g.Op("Mul", {product, g.Const(Ramp({3}, 1))}));
    g.Result(product);
    EXPECT_FALSE(g.Apply(kFold));
  }
  {
    PassTestGraph g;  // a node that waits for the product, and for which the factor's user waits
    const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({2, 3}, 1))});
    const Endpoint between = g.Op("Neg", {g.Const(Ramp({3}, 1))});
    g.graph.AddControlEdge(product.node, between.node);
    const Endpoint scaled = g.Op("Mul", {product, g.Const(Ramp({3}, 1))});
    g.graph.AddControlEdge(between.node, scaled.node);
    g.Result(scaled);
    EXPECT_FALSE(g.Apply(kFold));
  }
  {
    PassTestGraph g;  // a factor that is no channel vector
    const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({2, 3}, 1))});
    g.Result(g.Op("Mul", {product, g.Const(Ramp({2, 3}, 1))}));
    EXPECT_FALSE(g.Apply(kFold));
  }
  {
    PassTestGraph g;  // channels before rows and columns
    AttrMap first = kConv;
    first.emplace("data_format", "NCHW");
    const Endpoint conv =
        g.Op("Conv2D", {g.Arg(DType::kFloat), g.Const(Ramp({1, 1, 2, 4}, 1))}, first);
    g.Result(g.Op("Mul", {conv, g.Const(Ramp({4}, 1))}));
    EXPECT_FALSE(g.Apply(kFold));
  }
  {
    PassTestGraph g;  // no floats
    const auto doubles = [](const Shape& shape) {
      return Tensor::Zeros(DType::kDouble, shape).value();
    };
    const Endpoint conv =
        g.Op("Conv2D", {g.Arg(DType::kDouble), g.Const(doubles({1, 1, 2, 4}))}, kConv);
    g.Result(g.Op("Mul", {conv, g.Const(doubles({4}))}));
    EXPECT_FALSE(g.Apply(kFold));
  }
  {
    PassTestGraph g;  // channels in the weights' first dimension
    const Endpoint product =
        g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({3, 2}, 1))}, {{"transpose_b", true}});
    g.Result(g.Op("Mul", {product, g.Const(Ramp({3}, 1))}));
    EXPECT_FALSE(g.Apply(kFold));
  }
}

}  // namespace
}  // namespace tessera
