#include "runtime/optimize/fuse_embedding.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr double kTolerance = 1e-6;
constexpr int kColumns = 5;
const FuseEmbeddingPass kFuse;

// A look-up in a constant table of `rows` rows.
Endpoint LookUp(PassTestGraph& g, const Endpoint& indices, int rows = 4, int columns = kColumns,
                const std::string& name = "lookup") {
  const DType type = indices.node->output_type(0);
  return g.Op("GatherV2",
              {g.Const(Ramp({rows, columns}, 0.37f)), indices, g.Const(Tensor::Scalar<int32_t>(0))},
              {{"Tparams", DType::kFloat}, {"Tindices", type}, {"Taxis", DType::kInt32}}, name);
}

Endpoint Add(PassTestGraph& g, const Endpoint& a, const Endpoint& b) {
  return g.Op("AddV2", {a, b});
}

template <typename Index>
Tensor Indices(const Shape& shape, Index limit = 4) {
  Tensor tensor = Tensor::Allocate(DTypeOf<Index>, shape).value();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.flat<Index>()[i] = static_cast<Index>(i * 7 % limit);
  }
  return tensor;
}

TEST(FuseEmbeddingTest, WordsSegmentsAndPositionsAddUp) {
  PassTestGraph g;
  const Endpoint words = LookUp(g, g.Arg(DType::kInt32));
  const Endpoint segments = LookUp(g, g.Arg(DType::kInt64), 2);
  const Endpoint positions = g.Arg(DType::kFloat);
  g.Result(Add(g, Add(g, words, positions), segments));
  for (const Shape& shape : {Shape{3, kColumns}, Shape{2, 3, kColumns}, Shape{2, 1, 1}, Shape{1},
                             Shape{}, Shape{kColumns}, Shape{7, 2, 3, 1}}) {
    SCOPED_TRACE(shape.ToString());
    g.ExpectSameResults(kFuse,
                        {Indices<int32_t>({2, 3}), Indices<int64_t>({1, 3}, 2), Ramp(shape, 0.1f)},
                        kTolerance);
    EXPECT_EQ(g.CountOf("_EmbeddingSum"), 1);
    EXPECT_EQ(g.CountOf("GatherV2") + g.CountOf("AddV2"), 0);
  }
}

TEST(FuseEmbeddingTest, AnyRankOfIndices) {
  for (const Shape& shape : {Shape{}, Shape{6}, Shape{0}, Shape{2, 0, 3}, Shape{2, 3, 2, 2}}) {
    SCOPED_TRACE(shape.ToString());
    PassTestGraph g;
    g.Result(Add(g, LookUp(g, g.Arg(DType::kInt64)), g.Const(Ramp({kColumns}, 1))));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Indices<int64_t>(shape)}, kTolerance));
    EXPECT_EQ(g.CountOf("_EmbeddingSum"), 1);
  }
}

TEST(FuseEmbeddingTest, ScalesOfLookUpsAreTakenIn) {
  PassTestGraph g;
  const Endpoint words = LookUp(g, g.Arg(DType::kInt32));
  const Endpoint scaled = g.Op("Mul", {g.Const(Tensor::Scalar(2.236f)), words});
  g.Result(Add(g, g.Arg(DType::kFloat), scaled));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Indices<int32_t>({2, 3}), Ramp({2, 3, kColumns}, 0.1f)},
                                  kTolerance));
  EXPECT_EQ(g.CountOf("_EmbeddingSum"), 1);
  EXPECT_EQ(g.CountOf("Mul"), 0);
}

TEST(FuseEmbeddingTest, ShapesOfLookUpsComeFromTheirIndices) {
  for (const DType type : {DType::kInt32, DType::kInt64}) {
    PassTestGraph g;
    const Endpoint words = LookUp(g, g.Arg(DType::kInt32));
    const Endpoint shape = g.Op("Shape", {words}, {{"out_type", type}});
    const Endpoint zeros = g.Op("Fill", {shape, g.Const(Tensor::Scalar(3.0f))},
                                {{"T", DType::kFloat}, {"index_type", type}});
    g.Result(Add(g, words, zeros));
    g.Result(shape);
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Indices<int32_t>({2, 3})}, 0));
    EXPECT_EQ(g.CountOf("_EmbeddingSum"), 1);
    EXPECT_EQ(g.CountOf("GatherV2"), 0);
  }
}

TEST(FuseEmbeddingTest, IndicesOutOfRangeAreBlamedOnTheirLookUp) {
  for (const int32_t index : {4, -1}) {
    PassTestGraph g;
    const Endpoint words = LookUp(g, g.Arg(DType::kInt32), 4, kColumns, "words");
    g.Result(Add(g, words, g.Arg(DType::kFloat)));
    const std::vector<Tensor> args = {Tensor::Vector<int32_t>({0, index}), Ramp({kColumns}, 1)};
    const absl::Status before = g.Run(args).status();
    ASSERT_TRUE(g.Apply(kFuse));
    const absl::Status after = g.Run(args).status();
    EXPECT_EQ(after.code(), before.code());
    EXPECT_THAT(before.message(), HasSubstr("{{node words}} indices[1] = "));
    EXPECT_THAT(after.message(), HasSubstr(before.message()));
  }
}

TEST(FuseEmbeddingTest, WhatIsWantedInBetweenStays) {
  PassTestGraph g;
  const Endpoint words = LookUp(g, g.Arg(DType::kInt32));
  g.Result(words);
  g.Result(Add(g, words, g.Arg(DType::kFloat)));
  const Endpoint twice = LookUp(g, g.Arg(DType::kInt32));
  g.Result(Add(g, twice, twice));
  EXPECT_FALSE(g.Apply(kFuse));
}

TEST(FuseEmbeddingTest, OtherLookUpsStay) {
  PassTestGraph g;
  const Endpoint indices = g.Arg(DType::kInt32);
  const Endpoint fed = g.Arg(DType::kFloat);
  const auto gather = [&](const Endpoint& table, int32_t axis) {
    return g.Op(
        "GatherV2", {table, indices, g.Const(Tensor::Scalar(axis))},
        {{"Tparams", DType::kFloat}, {"Tindices", DType::kInt32}, {"Taxis", DType::kInt32}});
  };
  g.Result(Add(g, gather(fed, 0), fed));                          // a table nobody knows
  g.Result(Add(g, gather(g.Const(Ramp({4, 5}, 1)), 1), fed));     // columns
  g.Result(Add(g, gather(g.Const(Ramp({4, 5, 6}, 1)), 0), fed));  // matrices
  g.Result(Add(g, gather(g.Const(Ramp({4, 1}, 1)), 0), fed));     // one column repeats
  EXPECT_FALSE(g.Apply(kFuse));
}

TEST(FuseEmbeddingTest, TablesOfOtherWidthsStayApart) {
  PassTestGraph g;
  const Endpoint wide = LookUp(g, g.Arg(DType::kInt32), 4, 6);
  const Endpoint narrow = LookUp(g, g.Arg(DType::kInt32), 4, 3);
  g.Result(Add(g, wide,
               g.Op("ConcatV2", {narrow, narrow, g.Const(Tensor::Scalar<int32_t>(-1))},
                    {{"N", 2}, {"Tidx", DType::kInt32}})));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Indices<int32_t>({4}), Indices<int32_t>({4})}, 0));
  EXPECT_EQ(g.CountOf("GatherV2"), 1);
}

}  // namespace
}  // namespace tessera
