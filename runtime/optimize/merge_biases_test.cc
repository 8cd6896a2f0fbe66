#include "runtime/optimize/merge_biases.h"

#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

constexpr double kTolerance = 1e-6;
const MergeBiasesPass kMerge;
const AttrMap kConv = {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}};

TEST(MergeBiasesTest, TwoAdditionsBecomeOne) {
  for (const char* second : {"BiasAdd", "AddV2", "Add", "Sub"}) {
    SCOPED_TRACE(second);
    PassTestGraph g;
    const Endpoint conv =
        g.Op("Conv2D", {g.Arg(DType::kFloat), g.Const(Ramp({1, 1, 2, 4}, 0.25f))}, kConv);
    const Endpoint biased = g.Op("BiasAdd", {conv, g.Const(Ramp({4}, 1))});
    const Shape shape = absl::string_view(second) == "BiasAdd" ? Shape{4} : Shape{1, 1, 1, 4};
    g.Result(g.Op(second, {biased, g.Const(Ramp(shape, -3))}));
    EXPECT_TRUE(g.ExpectSameResults(kMerge, {Ramp({1, 3, 3, 2}, 0.5f)}, kTolerance));
    EXPECT_EQ(g.CountOf("BiasAdd"), 1);
    EXPECT_EQ(g.graph.num_nodes(), 6);
  }
}

TEST(MergeBiasesTest, AfterAConvolutionOfScaledWeightsToo) {
  PassTestGraph g;
  const Endpoint filter = g.Op("_ScaleWeights", {g.Const(Ramp({1, 1, 2, 2}, 0.25f)),
                                                 g.Const(Tensor::Vector<double>({2, -0.5}))});
  const Endpoint conv = g.Op("Conv2D", {g.Arg(DType::kFloat), filter}, kConv);
  const Endpoint biased = g.Op("AddV2", {conv, g.Const(Ramp({2}, 1))});
  g.Result(g.Op("AddV2", {biased, g.Const(Ramp({2}, -3))}));
  EXPECT_TRUE(g.ExpectSameResults(kMerge, {Ramp({1, 3, 3, 2}, 0.5f)}, kTolerance));
  EXPECT_EQ(g.CountOf("BiasAdd"), 1);
  EXPECT_EQ(g.CountOf("AddV2"), 0);
}

TEST(MergeBiasesTest, LeavesWhatIsNoSecondBias) {
  {
    PassTestGraph g;  // the first one is wanted
    const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({2, 3}, 1))});
    const Endpoint biased = g.Op("BiasAdd", {product, g.Const(Ramp({3}, 1))});
    g.Result(g.Op("AddV2", {biased, g.Const(Ramp({3}, 1))}));
    g.Result(biased);
    EXPECT_FALSE(g.Apply(kMerge));
  }
  for (const Shape& other : {Shape{2, 3}, Shape{}, Shape{2, 1}}) {
    PassTestGraph g;  // no vector of the channels
    const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({2, 3}, 1))});
    const Endpoint biased = g.Op("BiasAdd", {product, g.Const(Ramp({3}, 1))});
    g.Result(g.Op("AddV2", {biased, g.Const(Ramp(other, 1))}));
    EXPECT_FALSE(g.Apply(kMerge)) << other.ToString();
  }
  {
    PassTestGraph g;  // a value a row, of as many rows as there are channels
    const Endpoint conv =
        g.Op("Conv2D", {g.Arg(DType::kFloat), g.Const(Ramp({1, 1, 2, 4}, 0.25f))}, kConv);
    const Endpoint biased = g.Op("BiasAdd", {conv, g.Const(Ramp({4}, 1))});
    g.Result(g.Op("BiasAdd", {biased, g.Const(Ramp({4}, -3))}, {{"data_format", "NCHW"}}));
    EXPECT_FALSE(g.Apply(kMerge));
  }
  {
    PassTestGraph g;  // vector less sum
    const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({2, 3}, 1))});
    const Endpoint biased = g.Op("BiasAdd", {product, g.Const(Ramp({3}, 1))});
    g.Result(g.Op("Sub", {g.Const(Ramp({3}, 1)), biased}));
    EXPECT_FALSE(g.Apply(kMerge));
  }
}

}  // namespace
}  // namespace tessera
