#include "runtime/optimize/hoist_slices.h"

#include <limits>

#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

constexpr double kTolerance = 1e-6;
constexpr int kTexts = 3, kTokens = 8, kWidth = 6;
const HoistSlicesPass kHoist;

using Ints = std::vector<int32_t>;

// Numbers without order, so that every row differs.
Tensor Scattered(const Shape& shape, int seed = 1) {
  Tensor tensor = Ramp(shape, 1);
  for (float& x : tensor.flat<float>()) {
    x = static_cast<float>(((static_cast<int>(x) + seed) * 37 % 101) - 50) / 40;
  }
  return tensor;
}

// Builds the parts of a transformer whose tokens are the rows of a matrix.
struct Layers : PassTestGraph {
  Endpoint IntConst(const Ints& values) { return Const(Tensor::Vector<int32_t>(values)); }

  Endpoint Reshape(const Endpoint& x, const Ints& shape) {
    return Op("Reshape", {x, IntConst(shape)}, {{"Tshape", DType::kInt32}});
  }
  // A matrix with a row for each token, of `texts` texts; -1: of any number.
  Endpoint Rows(int texts = -1) {
    return Reshape(Arg(DType::kFloat), {texts < 0 ? -1 : texts * kTokens, kWidth});
  }
  Endpoint Dense(const Endpoint& x, int columns = kWidth, int seed = 7) {
    return Op("MatMul", {x, Const(Scattered({kWidth, columns}, seed))});
  }
  Endpoint Reduce(const std::string& op, const Endpoint& x, const Ints& axes, bool keep_dims) {
    return Op(op, {x, IntConst(axes)}, {{"keep_dims", keep_dims}, {"Tidx", DType::kInt32}});
  }
  Endpoint Transpose(const Endpoint& x, const Ints& perm) {
    return Op("Transpose", {x, IntConst(perm)}, {{"Tperm", DType::kInt32}});
  }
  Endpoint Normalise(const Endpoint& x) {
    const Endpoint mean = Reduce("Mean", x, {-1}, true);
    const Endpoint variance = Reduce("Mean", Op("SquaredDifference", {x, mean}), {-1}, true);
    const Endpoint root =
        Op("Rsqrt", {Op("AddV2", {variance, Const(Tensor::Scalar<float>(0.1f))})});
    return Op("Mul", {Op("Sub", {x, mean}), root});
  }
  // One head or more, of two numbers each.
  Endpoint Attend(const Endpoint& x) {
    const auto split = [&](int seed) {
      return Transpose(Reshape(Dense(x, kWidth, seed), {-1, kTokens, 3, 2}), {0, 2, 1, 3});
    };
    const Endpoint scores = Op("BatchMatMulV2", {split(2), split(3)}, {{"adj_y", true}});
    const Endpoint mixed = Op("BatchMatMulV2", {Op("Softmax", {scores}), split(4)});
    return Reshape(Transpose(mixed, {0, 2, 1, 3}), {-1, kWidth});
  }
  // x[:, token] of rows of tokens.
  Endpoint Token(const Endpoint& rows, int token, int columns = kWidth) {
    return Op(
        "StridedSlice",
        {Reshape(rows, {-1, kTokens, columns}), IntConst({0, token}), IntConst({0, token + 1}),
         IntConst({1, 1})},
        {{"Index", DType::kInt32}, {"begin_mask", 1}, {"end_mask", 1}, {"shrink_axis_mask", 2}});
  }
  // The gradient of Token() of `kTexts` texts, as rows of tokens.
  Endpoint TokenGradient(const Endpoint& gradient, int token) {
    const Endpoint whole = Op("StridedSliceGrad",
                              {IntConst({kTexts, kTokens, kWidth}), IntConst({0, token}),
                               IntConst({0, token + 1}), IntConst({1, 1}), gradient},
                              {{"T", DType::kFloat},
                               {"Index", DType::kInt32},
                               {"begin_mask", 1},
                               {"end_mask", 1},
                               {"shrink_axis_mask", 2}});
    return Reshape(whole, {kTexts * kTokens, kWidth});
  }
  bool Hoists(const std::vector<Tensor>& args) {
    return ExpectSameResults(kHoist, args, kTolerance);
  }
  // The number of products whose left-hand side is a slice or comes from one.
  int SmallProducts() const {
    int count = 0;
    for (const Node* node : graph.nodes()) {
      count += node->IsOp("MatMul") && node->name().find("/rows") != std::string::npos;
    }
    return count;
  }
};

Tensor Tokens(int texts = kTexts) { return Scattered({texts * kTokens, kWidth}); }

TEST(HoistSlicesTest, OnlyTheRowsThatAreReadAreMultiplied) {
  for (const int token : {0, 5}) {
    Layers g;
    const Endpoint x = g.Rows(kTexts);
    const Endpoint hidden = g.Op("Relu", {g.Op("BiasAdd", {g.Dense(x), g.Const(Ramp({6}, 1))})});
    g.Result(g.Token(g.Normalise(g.Op("AddV2", {x, hidden})), token));
    EXPECT_TRUE(g.Hoists({Tokens()}));
    EXPECT_EQ(g.Only("MatMul")->input(0).node->op_name(), "StridedSlice") << token;
  }
}

TEST(HoistSlicesTest, FirstTokensOfAnyNumberOfTextsAreMultiplied) {
  for (const int texts : {0, 1, 4}) {
    Layers g;
    g.Result(g.Token(g.Dense(g.Rows()), 0));
    EXPECT_TRUE(g.Hoists({Tokens(texts)}));
    EXPECT_EQ(g.SmallProducts(), 1);
  }
}

TEST(HoistSlicesTest, AnotherTokenStaysIfAnOperandMayBeOneRow) {
  Layers g;
  const Endpoint x = g.Rows(kTexts), row = g.Reshape(g.Arg(DType::kFloat), {-1, kWidth});
  g.Result(g.Token(g.Dense(g.Op("AddV2", {x, row})), 5));
  EXPECT_TRUE(g.Hoists({Tokens(), Scattered({1, kWidth})}));
  EXPECT_EQ(g.Only("MatMul")->input(0).node->op_name(), "StridedSlice");
  EXPECT_EQ(g.Only("StridedSlice")->input(0).node->op_name(), "AddV2");
}

TEST(HoistSlicesTest, AttentionNeedsOneQueryAndAllKeysAndValues) {
  Layers g;
  g.Result(g.Token(g.Dense(g.Attend(g.Normalise(g.Rows()))), 0));
  EXPECT_TRUE(g.Hoists({Tokens()}));
  EXPECT_EQ(g.CountOf("MatMul"), 4);
  EXPECT_EQ(g.SmallProducts(), 2);  // by the weights of the query and after the attention
}

TEST(HoistSlicesTest, WhatIsNeededWholeIsNotComputedTwice) {
  Layers g;
  const Endpoint hidden = g.Dense(g.Rows());
  g.Result(g.Token(g.Dense(hidden), 0));
  g.Result(hidden);
  EXPECT_TRUE(g.Hoists({Tokens()}));
  EXPECT_EQ(g.CountOf("MatMul"), 2);
  EXPECT_EQ(g.SmallProducts(), 1);
}

TEST(HoistSlicesTest, SlicesOfSeveralTokensMoveOneByOne) {
  Layers g;
  const Endpoint hidden = g.Normalise(g.Rows(kTexts));
  g.Result(g.Token(g.Dense(hidden, kWidth, 1), 0));
  g.Result(g.Token(g.Dense(hidden, kWidth, 2), 3));
  EXPECT_TRUE(g.Hoists({Tokens()}));
  EXPECT_EQ(g.SmallProducts(), 2);
}

TEST(HoistSlicesTest, GraphsWithoutGainStay) {
  {
    Layers g;  // the product is a result itself
    const Endpoint hidden = g.Dense(g.Rows());
    g.Result(g.Token(hidden, 0));
    g.Result(hidden);
    EXPECT_FALSE(g.Apply(kHoist));
  }
  {
    Layers g;  // no product
    g.Result(g.Token(g.Normalise(g.Rows()), 0));
    EXPECT_FALSE(g.Apply(kHoist));
  }
  {
    Layers g;  // the rows are mixed before they are sliced
    g.Result(g.Token(g.Op("Cumsum", {g.Dense(g.Rows()), g.Const(Tensor::Scalar<int32_t>(0))}), 0));
    EXPECT_FALSE(g.Apply(kHoist));
  }
  {
    Layers g;  // more than one token is kept
    const Endpoint texts = g.Reshape(g.Dense(g.Rows()), {-1, kTokens, kWidth});
    g.Result(g.Op("StridedSlice",
                  {texts, g.IntConst({0, 1}), g.IntConst({0, 3}), g.IntConst({1, 1})},
                  {{"Index", DType::kInt32}, {"begin_mask", 1}, {"end_mask", 1}}));
    EXPECT_FALSE(g.Apply(kHoist));
  }
}

TEST(HoistSlicesTest, ASliceThatKeepsItsAxisMoves) {
  for (const int begin : {-kTokens, -2, 0}) {
    Layers g;
    const Endpoint texts = g.Reshape(g.Dense(g.Rows(kTexts)), {-1, kTokens, kWidth});
    g.Result(g.Op("StridedSlice",
                  {texts, g.IntConst({0, begin}), g.IntConst({0, begin + 1}), g.IntConst({1, 1})},
                  {{"Index", DType::kInt32}, {"begin_mask", 1}, {"end_mask", 1}}));
    EXPECT_TRUE(g.Hoists({Tokens()})) << begin;
    EXPECT_EQ(g.SmallProducts(), 1);
  }
}

TEST(HoistSlicesTest, GradientsOfOneTokenAreMultipliedByItsRows) {
  for (const int token : {0, 5}) {
    Layers g;
    const Endpoint x = g.Normalise(g.Rows(kTexts)), gradient = g.Arg(DType::kFloat);
    const Endpoint tanh = g.Op("Tanh", {x});
    const Endpoint back = g.Op("TanhGrad", {tanh, g.TokenGradient(gradient, token)});
    const Endpoint mean = g.Op(
        "RealDiv", {g.Reduce("Sum", back, {-1}, true), g.Const(Tensor::Scalar<float>(kWidth))});
    const Endpoint tiled =
        g.Op("Tile", {mean, g.IntConst({1, kWidth})}, {{"Tmultiples", DType::kInt32}});
    const Endpoint total = g.Op("AddN", {back, g.Op("Neg", {tiled})}, {{"N", 2}});
    g.Result(g.Op("MatMul", {x, total}, {{"transpose_a", true}}));
    g.Result(g.Op("MatMul", {total, x}, {{"transpose_a", true}}));
    g.Result(g.Op("BiasAddGrad", {total}));
    g.Result(g.Reduce("Sum", total, {0}, false));
    // The gradient of the layer before, which is needed whole.
    const Endpoint before =
        g.Op("MatMul", {total, g.Const(Scattered({kWidth, kWidth}))}, {{"transpose_b", true}});
    g.Result(g.Op("AddV2", {before, x}));
    EXPECT_TRUE(g.Hoists({Tokens(), Scattered({kTexts, kWidth}, 9)}));
    EXPECT_EQ(g.CountOf("MatMul"), 3);
    EXPECT_EQ(g.SmallProducts(), 3);
    EXPECT_EQ(g.CountOf("StridedSliceGrad"), 1);
  }
}

TEST(HoistSlicesTest, GradientsGoThroughAttention) {
  Layers g;
  const Endpoint x = g.Rows(kTexts), gradient = g.TokenGradient(g.Arg(DType::kFloat), 0);
  const auto split = [&](const Endpoint& rows) {
    return g.Transpose(g.Reshape(rows, {kTexts, kTokens, 3, 2}), {0, 2, 1, 3});
  };
  const Endpoint query = split(g.Dense(x, kWidth, 2)), key = split(g.Dense(x, kWidth, 3)),
                 value = split(g.Dense(x, kWidth, 4));
  const Endpoint softmax =
      g.Op("Softmax", {g.Op("BatchMatMulV2", {query, key}, {{"adj_y", true}})});
  const Endpoint mixed = split(gradient);
  const Endpoint to_softmax = g.Op("BatchMatMulV2", {mixed, value}, {{"adj_y", true}});
  const Endpoint sum = g.Reduce("Sum", g.Op("Mul", {to_softmax, softmax}), {-1}, true);
  const Endpoint scores = g.Op("Mul", {g.Op("Sub", {to_softmax, sum}), softmax});
  g.Result(g.Op("BatchMatMulV2", {softmax, mixed}, {{"adj_x", true}}));  // of the values
  g.Result(g.Op("BatchMatMulV2", {scores, query}, {{"adj_x", true}}));   // of the keys
  const Endpoint to_query = g.Reshape(
      g.Transpose(g.Op("BatchMatMulV2", {scores, key}), {0, 2, 1, 3}), {kTexts * kTokens, kWidth});
  g.Result(g.Op("MatMul", {x, to_query}, {{"transpose_a", true}}));
  EXPECT_TRUE(g.Hoists({Tokens(), Scattered({kTexts, kWidth}, 9)}));
  EXPECT_EQ(g.CountOf("StridedSliceGrad"), 0);
  EXPECT_EQ(g.SmallProducts(), 2);  // by the weights of the query, and their gradient
}

TEST(HoistSlicesTest, SumsOfGradientsOfSeveralTokensAreWhole) {
  Layers g;
  const Endpoint x = g.Rows(kTexts);
  const Endpoint sum = g.Op("AddV2", {g.TokenGradient(g.Arg(DType::kFloat), 0),
                                      g.TokenGradient(g.Arg(DType::kFloat), 2)});
  g.Result(g.Op("MatMul", {x, sum}, {{"transpose_a", true}}));
  EXPECT_FALSE(
      g.Hoists({Tokens(), Scattered({kTexts, kWidth}, 9), Scattered({kTexts, kWidth}, 4)}));
}

TEST(HoistSlicesTest, RowsThatNothingReadsMayHoldNaN) {
  Layers g;
  const Endpoint x = g.Rows(kTexts);
  g.Result(g.Op("MatMul", {x, g.TokenGradient(g.Arg(DType::kFloat), 0)}, {{"transpose_a", true}}));
  EXPECT_TRUE(g.Apply(kHoist));
  Tensor tokens = Tokens();
  tokens.flat<float>()[kWidth] = std::numeric_limits<float>::quiet_NaN();
  const auto results = g.Run({tokens, Scattered({kTexts, kWidth}, 9)});
  ASSERT_TRUE(results.ok()) << results.status();
  for (const float v : (*results)[0].flat<float>()) EXPECT_TRUE(std::isfinite(v));
}

}  // namespace
}  // namespace tessera
