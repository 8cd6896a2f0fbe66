#include "runtime/optimize/fuse_attention.h"

#include "gtest/gtest.h"
#include "runtime/optimize/pass_test_graph.h"

namespace tessera {
namespace {

constexpr double kTolerance = 3e-6;
const FuseAttentionPass kFuse;

// Numbers without order, small enough for a softmax that is no maximum.
Tensor Scattered(const Shape& shape, int seed) {
  Tensor tensor = Ramp(shape, 1);
  for (float& x : tensor.flat<float>()) {
    x = static_cast<float>((static_cast<int>(x) + seed) * 37 % 101) / 101 - 0.5f;
  }
  return tensor;
}

Endpoint Swapped(PassTestGraph& g, const Endpoint& x, std::initializer_list<int32_t> order) {
  return g.Op("Transpose", {x, g.Const(Tensor::Vector<int32_t>(order))},
              {{"Tperm", DType::kInt32}});
}

Endpoint Scaled(PassTestGraph& g, const Endpoint& x) {
  return g.Op("Mul", {x, g.Const(Tensor::Scalar(0.7f))});
}

const Shape kQuery = {2, 5, 3, 8}, kKey = {2, 6, 3, 8}, kValue = {2, 6, 3, 4};

std::vector<Tensor> Args() {
  return {Scattered(kQuery, 1), Scattered(kKey, 2), Scattered(kValue, 3)};
}

TEST(FuseAttentionTest, BatchedProductsOfTransposes) {
  for (const bool adjoint : {true, false}) {
    PassTestGraph g;
    const Endpoint query = Swapped(g, g.Arg(DType::kFloat), {0, 2, 1, 3});
    const Endpoint k = g.Arg(DType::kFloat);
    const Endpoint key = adjoint ? Swapped(g, k, {0, 2, 1, 3}) : Swapped(g, k, {0, 2, 3, 1});
    const Endpoint value = Swapped(g, g.Arg(DType::kFloat), {0, 2, 1, 3});
    const Endpoint scores = g.Op("BatchMatMulV2", {query, key}, {{"adj_y", adjoint}});
    const Endpoint masked = g.Op("AddV2", {Scaled(g, scores), g.Arg(DType::kFloat)});
    const Endpoint mixed = g.Op("BatchMatMulV2", {g.Op("Softmax", {masked}), value});
    g.Result(Swapped(g, mixed, {0, 2, 1, 3}));
    for (const Shape& mask : {Shape{2, 1, 1, 6}, Shape{5, 6}, Shape{2, 3, 5, 1}, Shape{}}) {
      SCOPED_TRACE(mask.ToString());
      std::vector<Tensor> args = Args();
      args.push_back(Scattered(mask, 4));
      g.ExpectSameResults(kFuse, args, kTolerance);
      EXPECT_EQ(g.CountOf("_Attention"), 1);
      EXPECT_EQ(g.CountOf("Transpose"), 0);
    }
  }
}

TEST(FuseAttentionTest, Einsums) {
  const struct {
    const char* scores;
    bool key_first;
    const char* mix;
    bool value_first;
  } kCases[] = {{"BTNH,BSNH->BNTS", false, "BNTS,BSNH->BTNH", false},
                {"aecd,abcd->acbe", true, "acbe,aecd->abcd", false},
                {"BTNH,BSNH->BNTS", false, "BSNH,BNTS->BNTH", true}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.scores);
    PassTestGraph g;
    const Endpoint query = g.Arg(DType::kFloat), key = g.Arg(DType::kFloat),
                   value = g.Arg(DType::kFloat);
    const auto einsum = [&](const char* equation, bool swap, Endpoint a, Endpoint b) {
      if (swap) std::swap(a, b);
      return g.Op("Einsum", {a, b}, {{"equation", equation}, {"N", 2}});
    };
    const Endpoint scores = einsum(c.scores, c.key_first, query, key);
    const Endpoint weights = g.Op("Softmax", {Scaled(g, scores)});
    g.Result(einsum(c.mix, c.value_first, weights, value));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, Args(), kTolerance));
    EXPECT_EQ(g.CountOf("_Attention"), 1);
    EXPECT_EQ(g.CountOf("Einsum"), 0);
  }
}

TEST(FuseAttentionTest, KeysAndValuesOfOneHeadRepeat) {
  PassTestGraph g;
  const Endpoint query = Swapped(g, g.Arg(DType::kFloat), {0, 2, 1, 3});
  const Endpoint key = Swapped(g, g.Arg(DType::kFloat), {0, 2, 1, 3});
  const Endpoint value = Swapped(g, g.Arg(DType::kFloat), {0, 2, 1, 3});
  const Endpoint scores = g.Op("BatchMatMulV2", {query, key}, {{"adj_y", true}});
  g.Result(g.Op("BatchMatMulV2", {g.Op("Softmax", {scores}), value}));
  EXPECT_TRUE(g.ExpectSameResults(
      kFuse, {Scattered(kQuery, 1), Scattered({2, 6, 1, 8}, 2), Scattered({1, 6, 1, 4}, 3)},
      kTolerance));
  EXPECT_EQ(g.CountOf("_Attention"), 1);
}

TEST(FuseAttentionTest, ManyQueriesInBlocks) {
  PassTestGraph g;
  const Endpoint query = g.Arg(DType::kFloat), key = g.Arg(DType::kFloat),
                 value = g.Arg(DType::kFloat);
  const Endpoint scores = g.Op("Einsum", {query, key}, {{"equation", "BTNH,BSNH->BNTS"}, {"N", 2}});
  g.Result(g.Op("Einsum", {g.Op("Softmax", {scores}), value},
                {{"equation", "BNTS,BSNH->BTNH"}, {"N", 2}}));
  // 2 heads of 700 keys: 187 queries a block.
  EXPECT_TRUE(g.ExpectSameResults(
      kFuse,
      {Scattered({1, 400, 2, 8}, 1), Scattered({1, 700, 2, 8}, 2), Scattered({1, 700, 2, 4}, 3)},
      kTolerance));
}

TEST(FuseAttentionTest, WhatIsWantedInBetweenStays) {
  PassTestGraph g;
  const Endpoint scores = g.Op("Einsum", {g.Arg(DType::kFloat), g.Arg(DType::kFloat)},
                               {{"equation", "BTNH,BSNH->BNTS"}, {"N", 2}});
  const Endpoint weights = g.Op("Softmax", {scores});
  g.Result(
      g.Op("Einsum", {weights, g.Arg(DType::kFloat)}, {{"equation", "BNTS,BSNH->BTNH"}, {"N", 2}}));
  g.Result(weights);
  EXPECT_FALSE(g.Apply(kFuse));
}

TEST(FuseAttentionTest, OtherEquationsStay) {
  PassTestGraph g;  // sums over heads
  const Endpoint scores = g.Op("Einsum", {g.Arg(DType::kFloat), g.Arg(DType::kFloat)},
                               {{"equation", "BTNH,BSNH->BHTS"}, {"N", 2}});
  const Endpoint weights = g.Op("Softmax", {scores});
  g.Result(
      g.Op("Einsum", {weights, g.Arg(DType::kFloat)}, {{"equation", "BNTS,BSNH->BNHT"}, {"N", 2}}));
  EXPECT_FALSE(g.Apply(kFuse));
}

}  // namespace
}  // namespace tessera
