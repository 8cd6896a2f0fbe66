#include "runtime/optimize/fuse_attention.h"

#include <limits>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/optimize/testing/pass_test_graph.h"

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

// A value of the same numbers whose rank is known: Reshape(x, [d0, d1, d2, d3]).
Endpoint WithRankFour(PassTestGraph& g, const Endpoint& x, const Shape& shape) {
  std::vector<int32_t> dims;
  for (int i = 0; i < 4; ++i) dims.push_back(static_cast<int32_t>(shape.dim(i)));
  return g.Op("Reshape", {x, g.Const(Tensor::Vector<int32_t>(dims))}, {{"Tshape", DType::kInt32}});
}

TEST(FuseAttentionTest, OperandsWithHeadsFirst) {
  // A query with rotary positions, a key in a cache, and a value as it was projected.
  enum Form { kAdjoint, kSwapped, kSwappedTwice };
  for (const Form form : {kAdjoint, kSwapped, kSwappedTwice}) {
    PassTestGraph g;
    const Endpoint query = g.Op("Neg", {WithRankFour(g, g.Arg(DType::kFloat), {2, 3, 5, 8})});
    Endpoint key = g.Op("ConcatV2",
                        {WithRankFour(g, g.Arg(DType::kFloat), {2, 3, 4, 8}), g.Arg(DType::kFloat),
                         g.Const(Tensor::Scalar<int32_t>(2))},
                        {{"N", 2}, {"Tidx", DType::kInt32}});
    if (form == kSwapped) key = Swapped(g, key, {0, 1, 3, 2});
    if (form == kSwappedTwice) {
      key = Swapped(g, Swapped(g, Swapped(g, key, {0, 2, 1, 3}), {0, 2, 1, 3}), {0, 1, 3, 2});
    }
    const Endpoint value = Swapped(g, g.Arg(DType::kFloat), {0, 2, 1, 3});
    const Endpoint scores = g.Op("BatchMatMulV2", {query, key}, {{"adj_y", form == kAdjoint}});
    g.Result(g.Op("BatchMatMulV2", {g.Op("Softmax", {Scaled(g, scores)}), value}));
    EXPECT_TRUE(g.ExpectSameResults(kFuse,
                                    {Scattered({2, 5, 3, 8}, 1), Scattered({2, 4, 3, 8}, 2),
                                     Scattered({2, 3, 2, 8}, 3), Scattered(kValue, 4)},
                                    kTolerance));
    EXPECT_EQ(g.CountOf("_Attention"), 1);
    EXPECT_EQ(g.CountOf("BatchMatMulV2"), 0);
  }
}

TEST(FuseAttentionTest, OperandsOfUnknownRankStay) {
  PassTestGraph g;
  const Endpoint query = WithRankFour(g, g.Arg(DType::kFloat), {2, 3, 5, 8});
  const Endpoint scores = g.Op("BatchMatMulV2", {query, g.Arg(DType::kFloat)}, {{"adj_y", true}});
  g.Result(g.Op("BatchMatMulV2", {g.Op("Softmax", {scores}), query}));
  EXPECT_FALSE(g.Apply(kFuse));
}

TEST(FuseAttentionTest, TheShapeOfTheOutputMayBeTaken) {
  for (const bool is_wanted : {false, true}) {
    PassTestGraph g;
    const Endpoint query = Swapped(g, g.Arg(DType::kFloat), {0, 2, 1, 3});
    const Endpoint key = Swapped(g, g.Arg(DType::kFloat), {0, 2, 1, 3});
    const Endpoint value = Swapped(g, g.Arg(DType::kFloat), {0, 2, 1, 3});
    const Endpoint scores = g.Op("BatchMatMulV2", {query, key}, {{"adj_y", true}});
    const Endpoint mixed = g.Op("BatchMatMulV2", {g.Op("Softmax", {scores}), value});
    g.Result(Swapped(g, mixed, {0, 2, 1, 3}));
    g.Result(g.Op("Shape", {mixed}, {{"out_type", DType::kInt64}}));
    if (is_wanted) g.Result(mixed);
    EXPECT_TRUE(g.ExpectSameResults(kFuse, Args(), kTolerance));
    EXPECT_EQ(g.CountOf("_Attention"), 1);
    EXPECT_EQ(g.CountOf("Transpose"), is_wanted ? 1 : 0);
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
  // 46 queries a block.
  EXPECT_TRUE(g.ExpectSameResults(
      kFuse,
      {Scattered({1, 400, 2, 8}, 1), Scattered({1, 700, 2, 8}, 2), Scattered({1, 700, 2, 4}, 3)},
      kTolerance));
}

Endpoint Scores(PassTestGraph& g, const Endpoint& query, const Endpoint& key) {
  return g.Op("Einsum", {query, key}, {{"equation", "BTNH,BSNH->BNTS"}, {"N", 2}});
}

Endpoint Mix(PassTestGraph& g, const Endpoint& logits, const Endpoint& value) {
  return g.Op("Einsum", {g.Op("Softmax", {logits}), value},
              {{"equation", "BNTS,BSNH->BTNH"}, {"N", 2}});
}

// A value everywhere where x is.
Endpoint FilledLike(PassTestGraph& g, const Endpoint& x, Tensor value) {
  const Endpoint shape = g.Op("Shape", {x}, {{"out_type", DType::kInt32}});
  const DType dtype = value.dtype();
  return g.Op("Fill", {shape, g.Const(std::move(value))},
              {{"T", dtype}, {"index_type", DType::kInt32}});
}

Endpoint SelectV2(PassTestGraph& g, const Endpoint& keep, const Endpoint& x, const Endpoint& y) {
  return g.Op("SelectV2", {keep, x, y}, {{"T", DType::kFloat}});
}

// True in two of three places, and nowhere in the last quarter.
Tensor Kept(const Shape& shape) {
  Tensor tensor = Tensor::Allocate(DType::kBool, shape).value();
  const int64_t size = tensor.num_elements();
  for (int64_t i = 0; i < size; ++i) tensor.flat<bool>()[i] = i % 3 != 1 && i <= size * 3 / 4;
  return tensor;
}

const Shape kKeeps[] = {{2, 1, 1, 6}, {5, 6}, {2, 3, 5, 6}, {2, 3, 5, 1}, {6}, {1}, {}};

TEST(FuseAttentionTest, SelectsScores) {
  for (const float masked : {-1e9f, -std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::lowest(), 0.5f}) {
    for (const bool with_everywhere : {false, true}) {
      for (const Shape& keep : kKeeps) {
        SCOPED_TRACE(keep.ToString());
        PassTestGraph g;
        const Endpoint query = g.Arg(DType::kFloat), key = g.Arg(DType::kFloat),
                       value = g.Arg(DType::kFloat), mask = g.Arg(DType::kBool);
        const Endpoint scores = Scaled(g, Scores(g, query, key));
        Endpoint kept = mask;
        if (with_everywhere) {
          kept = g.Op("LogicalAnd", {FilledLike(g, scores, Tensor::Scalar(true)), mask});
        }
        const Endpoint number = g.Const(Tensor::Scalar(masked));
        g.Result(Mix(g, SelectV2(g, kept, scores, number), value));
        std::vector<Tensor> args = Args();
        args.push_back(Kept(keep));
        EXPECT_TRUE(g.ExpectSameResults(kFuse, args, kTolerance));
        EXPECT_EQ(g.CountOf("_Attention"), 1);
        EXPECT_EQ(g.CountOf("SelectV2") + g.CountOf("LogicalAnd") + g.CountOf("Shape"), 0);
      }
    }
  }
}

TEST(FuseAttentionTest, SelectDropsNaNAndAdditionDoesNot) {
  PassTestGraph g;
  const Endpoint query = g.Arg(DType::kFloat), key = g.Arg(DType::kFloat),
                 value = g.Arg(DType::kFloat), keep = g.Arg(DType::kBool);
  const Endpoint bias = g.Arg(DType::kFloat);
  const Endpoint scores = g.Op("AddV2", {Scaled(g, Scores(g, query, key)), bias});
  g.Result(Mix(g, SelectV2(g, keep, scores, g.Const(Tensor::Scalar(-1e9f))), value));
  std::vector<Tensor> args = Args();
  args[1].flat<float>()[8 * 3] = std::numeric_limits<float>::quiet_NaN();  // key 1, which is masked
  args.push_back(Tensor::Vector<bool>({true, false, true, true, false, true}));
  args.push_back(Scattered({3, 5, 6}, 4));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, args, kTolerance));
  EXPECT_EQ(g.CountOf("_Attention"), 1);
  EXPECT_FALSE(std::isnan((*g.Run(args))[0].flat<float>()[0]));
  args[4].flat<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan((*g.Run(args))[0].flat<float>()[0]));
}

TEST(FuseAttentionTest, SelectOfTheOldKind) {
  for (const Shape& keep : {Shape{2, 3, 5, 6}, Shape{2}, Shape{}}) {
    SCOPED_TRACE(keep.ToString());
    PassTestGraph g;
    const Endpoint query = g.Arg(DType::kFloat), key = g.Arg(DType::kFloat),
                   value = g.Arg(DType::kFloat), mask = g.Arg(DType::kBool);
    const Endpoint scores = Scores(g, query, key);
    const Endpoint ones = FilledLike(g, scores, Tensor::Scalar(1.0f));
    const Endpoint padding = g.Op("Mul", {ones, g.Const(Tensor::Scalar(-4e9f))});
    g.Result(Mix(g, g.Op("Select", {mask, scores, padding}, {{"T", DType::kFloat}}), value));
    std::vector<Tensor> args = Args();
    args.push_back(Kept(keep));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, args, kTolerance));
    EXPECT_EQ(g.CountOf("_Attention"), 1);
  }
}

TEST(FuseAttentionTest, SeveralMasksAddUp) {
  PassTestGraph g;
  const Endpoint query = g.Arg(DType::kFloat), key = g.Arg(DType::kFloat),
                 value = g.Arg(DType::kFloat);
  const Endpoint masked = g.Op("AddV2", {g.Arg(DType::kFloat), Scaled(g, Scores(g, query, key))});
  g.Result(Mix(g, g.Op("AddV2", {masked, g.Const(Tensor::Scalar(1e-9f))}), value));
  std::vector<Tensor> args = Args();
  args.push_back(Scattered({2, 1, 5, 6}, 4));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, args, kTolerance));
  EXPECT_EQ(g.Only("_Attention")->num_inputs(), 5);
}

TEST(FuseAttentionTest, MasksMayRepeatOneQueryOrKey) {
  PassTestGraph g;
  const Endpoint query = g.Arg(DType::kFloat), key = g.Arg(DType::kFloat),
                 value = g.Arg(DType::kFloat), keep = g.Arg(DType::kBool);
  const Endpoint logits = SelectV2(g, keep, Scores(g, query, key), g.Const(Tensor::Scalar(-1e9f)));
  g.Result(Mix(g, logits, value));
  const Tensor one_query = Scattered({2, 1, 3, 8}, 1), one_key = Scattered({2, 1, 3, 8}, 2);
  const Tensor values = Scattered(kValue, 3), kept = Kept({2, 3, 5, 6});
  const auto plain = g.Run({one_query, one_key, values, kept});
  EXPECT_TRUE(
      g.ExpectSameResults(kFuse, {one_query, Scattered(kKey, 2), values, kept}, kTolerance));
  const auto fused = g.Run({one_query, one_key, values, kept});
  ASSERT_TRUE(plain.ok() && fused.ok()) << plain.status() << fused.status();
  for (int64_t i = 0; i < (*plain)[0].num_elements(); ++i) {
    EXPECT_NEAR((*plain)[0].flat<float>()[i], (*fused)[0].flat<float>()[i], kTolerance);
  }
}

TEST(FuseAttentionTest, QueriesOfOneImageRepeat) {
  PassTestGraph g;
  const Endpoint query = Swapped(g, g.Arg(DType::kFloat), {0, 2, 1, 3});
  const Endpoint key = Swapped(g, g.Arg(DType::kFloat), {0, 2, 1, 3});
  const Endpoint value = Swapped(g, g.Arg(DType::kFloat), {0, 2, 1, 3});
  const Endpoint scores = g.Op("BatchMatMulV2", {query, key}, {{"adj_y", true}});
  g.Result(g.Op("BatchMatMulV2", {g.Op("Softmax", {scores}), value}));
  EXPECT_TRUE(g.ExpectSameResults(
      kFuse, {Scattered({1, 5, 1, 8}, 1), Scattered(kKey, 2), Scattered(kValue, 3)}, kTolerance));
  EXPECT_EQ(g.CountOf("_Attention"), 1);
}

TEST(FuseAttentionTest, SelectedScoresThatAreWantedStay) {
  enum Wanted { kScores, kSelected, kShape };
  for (const Wanted wanted : {kScores, kSelected, kShape}) {
    PassTestGraph g;
    const Endpoint scores = Scores(g, g.Arg(DType::kFloat), g.Arg(DType::kFloat));
    const Endpoint value = g.Arg(DType::kFloat);
    const Endpoint everywhere = FilledLike(g, scores, Tensor::Scalar(true));
    const Endpoint keep = g.Op("LogicalAnd", {g.Arg(DType::kBool), everywhere});
    const Endpoint logits = SelectV2(g, keep, scores, g.Const(Tensor::Scalar(-1e9f)));
    g.Result(Mix(g, logits, value));
    g.Result(wanted == kScores ? scores : wanted == kSelected ? logits : everywhere.node->input(0));
    EXPECT_FALSE(g.Apply(kFuse));
  }
}

TEST(FuseAttentionTest, SelectBetweenOtherThingsStays) {
  PassTestGraph g;
  const Endpoint scores = Scores(g, g.Arg(DType::kFloat), g.Arg(DType::kFloat));
  g.Result(
      Mix(g, SelectV2(g, g.Arg(DType::kBool), scores, g.Arg(DType::kFloat)), g.Arg(DType::kFloat)));
  EXPECT_FALSE(g.Apply(kFuse));
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

TEST(FuseAttentionTest, SelectThatDropsScores) {
  for (const Shape& drop : kKeeps) {
    SCOPED_TRACE(drop.ToString());
    PassTestGraph g;
    const Endpoint query = g.Arg(DType::kFloat), key = g.Arg(DType::kFloat),
                   value = g.Arg(DType::kFloat), mask = g.Arg(DType::kBool);
    const Endpoint scores = Scaled(g, Scores(g, query, key));
    g.Result(Mix(g, SelectV2(g, mask, g.Const(Tensor::Scalar(-1e9f)), scores), value));
    std::vector<Tensor> args = Args();
    args.push_back(Kept(drop));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, args, kTolerance));
    EXPECT_EQ(g.CountOf("_Attention"), 1);
    EXPECT_EQ(g.CountOf("SelectV2"), 0);
  }
}

// Stands in for the kernel of a device that takes half.
class NoAttention : public OpKernel {
 public:
  explicit NoAttention(const KernelBuild&) {}
  absl::Status Compute(KernelContext&) override { return absl::UnimplementedError("a stand-in"); }
};
REGISTER_KERNEL("_Attention", kCpu, NoAttention).TypeConstraint<Eigen::half>("T");

Endpoint Cast(PassTestGraph& g, const Endpoint& x, DType from, DType to) {
  return g.Op("Cast", {x}, {{"SrcT", from}, {"DstT", to}, {"Truncate", false}});
}

TEST(FuseAttentionTest, ScoresOfHalfAreCastToFloat) {
  for (const bool cast_before_scale : {false, true}) {
    PassTestGraph g;
    const DType half = DType::kHalf;
    const Endpoint query = g.Arg(half), key = g.Arg(half), value = g.Arg(half);
    Endpoint logits = Scores(g, query, key);
    if (cast_before_scale) logits = Cast(g, logits, half, DType::kFloat);
    const Endpoint scale = cast_before_scale ? g.Const(Tensor::Scalar(0.5f))
                                             : g.Const(Tensor::Scalar(Eigen::half(0.5f)));
    logits = g.Op("Mul", {logits, scale});
    if (!cast_before_scale) logits = Cast(g, logits, half, DType::kFloat);
    logits = g.Op("AddV2", {logits, g.Arg(DType::kFloat)});
    const Endpoint weights = Cast(g, g.Op("Softmax", {logits}), DType::kFloat, half);
    g.Result(g.Op("Einsum", {weights, value}, {{"equation", "BNTS,BSNH->BTNH"}, {"N", 2}}));
    ASSERT_TRUE(g.Apply(kFuse));
    const Node* attention = g.Only("_Attention");
    EXPECT_EQ(*attention->attr<DType>("T"), half);
    EXPECT_EQ(*attention->attr<DType>("Tmask"), DType::kFloat);
    EXPECT_EQ(*attention->attr<float>("scale"), 0.5f);
    EXPECT_EQ(g.CountOf("Cast"), 0);
  }
}

TEST(FuseAttentionTest, BfloatWithoutAKernelStays) {
  PassTestGraph g;
  const Endpoint query = g.Arg(DType::kBfloat16), key = g.Arg(DType::kBfloat16),
                 value = g.Arg(DType::kBfloat16);
  g.Result(Mix(g, Scores(g, query, key), value));
  EXPECT_FALSE(g.Apply(kFuse));
}

TEST(FuseAttentionTest, FloatsWithWeightsOfHalfStay) {
  PassTestGraph g;
  const Endpoint query = g.Arg(DType::kFloat), key = g.Arg(DType::kFloat),
                 value = g.Arg(DType::kHalf);
  const Endpoint weights =
      Cast(g, g.Op("Softmax", {Scores(g, query, key)}), DType::kFloat, DType::kHalf);
  g.Result(g.Op("Einsum", {weights, value}, {{"equation", "BNTS,BSNH->BTNH"}, {"N", 2}}));
  EXPECT_FALSE(g.Apply(kFuse));
}

}  // namespace
}  // namespace tessera
