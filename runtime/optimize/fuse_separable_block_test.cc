#include "runtime/optimize/fuse_separable_block.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/absorb_scales.h"
#include "runtime/optimize/fuse_post_ops.h"
#include "runtime/optimize/fuse_residual.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

constexpr double kTolerance = 1e-6;
const FuseSeparableBlockPass kFuse;

AttrMap Window(int64_t stride, const char* padding = "SAME") {
  return {{"strides", Ints{1, stride, stride, 1}},
          {"padding", padding},
          {"dilations", Ints{1, 1, 1, 1}}};
}

// Values about zero, none like its neighbours.
Tensor Waves(const Shape& shape, float scale) {
  Tensor tensor = Ramp(shape, 0.7f);
  for (float& x : tensor.flat<float>()) x = scale * std::sin(x);
  return tensor;
}

// A convolution, a bias and, unless its name is empty, an activation.
Endpoint Layer(PassTestGraph& g, const char* op, const Endpoint& x, const Shape& filter,
               const AttrMap& window, const std::string& activation = "Relu6") {
  const bool is_depthwise = op == absl::string_view("DepthwiseConv2dNative");
  const int64_t channels = filter.dim(3) * (is_depthwise ? filter.dim(2) : 1);
  const Endpoint conv = g.Op(op, {x, g.Const(Waves(filter, 1))}, window);
  const Endpoint biased = g.Op("BiasAdd", {conv, g.Const(Waves({channels}, 0.3f))});
  return activation.empty() ? biased : g.Op(activation, {biased});
}
Endpoint Pointwise(PassTestGraph& g, const Endpoint& x, int64_t in, int64_t out,
                   const std::string& activation = "Relu6") {
  return Layer(g, "Conv2D", x, {1, 1, in, out}, Window(1), activation);
}
Endpoint Depthwise(PassTestGraph& g, const Endpoint& x, int64_t channels,
                   const AttrMap& window = Window(1), const std::string& activation = "Relu6") {
  return Layer(g, "DepthwiseConv2dNative", x, {3, 3, channels, 1}, window, activation);
}

const Tensor kImages = Waves({2, 5, 7, 3}, 2);

// The passes before, and then this one, of which alone equal results are expected.
bool FusedEqually(PassTestGraph& g, const Tensor& images = kImages) {
  g.Apply(FusePostOpsPass());
  g.Apply(FuseResidualPass());
  return g.ExpectSameResults(kFuse, {images}, kTolerance);
}

std::vector<std::string> OpsOf(const Node* node, const char* attr) {
  return node->attr<std::vector<std::string>>(attr).value();
}

TEST(FuseSeparableBlockTest, ADepthwiseConvolutionAndThePointwiseOneAfterIt) {
  for (const char* padding : {"SAME", "VALID"}) {
    for (const int64_t stride : {1, 2}) {
      SCOPED_TRACE(absl::StrCat(padding, " ", stride));
      PassTestGraph g;
      const Endpoint depthwise =
          Depthwise(g, g.Arg(DType::kFloat), 3, Window(stride, padding), "Relu");
      g.Result(Pointwise(g, depthwise, 3, 4));
      EXPECT_TRUE(FusedEqually(g));
      const Node* block = g.Only("_SeparableBlock");
      EXPECT_THAT(OpsOf(block, "expand_ops"), ElementsAre());
      EXPECT_THAT(OpsOf(block, "depthwise_ops"), ElementsAre("BiasAdd", "Relu"));
      EXPECT_THAT(OpsOf(block, "project_ops"), ElementsAre("BiasAdd", "Relu6"));
      EXPECT_EQ(g.graph.num_nodes(), 7) << "argument, four constants, block, result";
    }
  }
}

TEST(FuseSeparableBlockTest, PaddingOfEachSideAsFoldPadLeavesIt) {
  PassTestGraph g;
  AttrMap window = Window(2, "EXPLICIT");
  window.emplace("explicit_paddings", Ints{0, 0, 0, 1, 2, 0, 0, 0});
  g.Result(Pointwise(g, Depthwise(g, g.Arg(DType::kFloat), 3, window), 3, 4));
  EXPECT_TRUE(FusedEqually(g));
  EXPECT_EQ(g.CountOf("_SeparableBlock"), 1);
}

TEST(FuseSeparableBlockTest, BlocksThatExpand) {
  PassTestGraph g;
  Endpoint x = Layer(g, "Conv2D", g.Arg(DType::kFloat), {3, 3, 3, 4}, Window(1));
  // The first reads a convolution, the second the first.
  x = Pointwise(g, Depthwise(g, Pointwise(g, x, 4, 20), 20, Window(2)), 20, 6, "");
  x = Pointwise(g, Depthwise(g, Pointwise(g, x, 6, 18), 18), 18, 5, "");
  g.Result(x);
  EXPECT_TRUE(FusedEqually(g));
  EXPECT_EQ(g.CountOf("_SeparableBlock"), 2);
  EXPECT_EQ(g.CountOf("_FusedConv2D"), 1);
  EXPECT_EQ(g.CountOf("_FusedDepthwiseConv2dNative"), 0);
}

TEST(FuseSeparableBlockTest, BlocksThatAddTheirInput) {
  for (const char* last : {"", "Relu"}) {
    PassTestGraph g;
    const Endpoint x = Layer(g, "Conv2D", g.Arg(DType::kFloat), {3, 3, 3, 4}, Window(1));
    const Endpoint sum =
        g.Op("AddV2", {x, Pointwise(g, Depthwise(g, Pointwise(g, x, 4, 20), 20), 20, 4, "")});
    g.Result(*last == 0 ? sum : g.Op(last, {sum}));
    EXPECT_TRUE(FusedEqually(g));
    const Node* block = g.Only("_SeparableBlock");
    EXPECT_EQ(OpsOf(block, "project_ops")[1], "Add");
    EXPECT_EQ(block->num_inputs(), 7);
    EXPECT_EQ(g.CountOf("_FusedConv2D"), 1);
  }
}

TEST(FuseSeparableBlockTest, AnEmptyBatch) {
  PassTestGraph g;
  g.Result(Pointwise(g, Depthwise(g, g.Arg(DType::kFloat), 3), 3, 4));
  EXPECT_TRUE(FusedEqually(g, Tensor::Allocate(DType::kFloat, {0, 5, 7, 3}).value()));
  EXPECT_EQ(g.CountOf("_SeparableBlock"), 1);
}

// What fold_batch_norm leaves for absorb_scales, which comes later.
TEST(FuseSeparableBlockTest, FiltersOfPointwiseConvolutionsMayBeScaled) {
  const Tensor scale = Tensor::Vector<double>({2, -0.5, 1, 0.1});
  const auto pointwise = [&](PassTestGraph& g, const Endpoint& x) {
    const Endpoint filter =
        g.Op("_ScaleWeights", {g.Const(Waves({1, 1, 4, 4}, 1)), g.Const(scale)});
    const Endpoint conv = g.Op("Conv2D", {x, filter}, Window(1));
    return g.Op("BiasAdd", {conv, g.Const(Waves({4}, 0.3f))});
  };
  PassTestGraph g;
  const Endpoint x = Layer(g, "Conv2D", g.Arg(DType::kFloat), {3, 3, 3, 4}, Window(1));
  g.Result(pointwise(g, Depthwise(g, pointwise(g, x), 4)));
  EXPECT_TRUE(FusedEqually(g));
  EXPECT_EQ(OpsOf(g.Only("_SeparableBlock"), "expand_ops").size(), 1);

  // Once a convolution has taken the scale in, it stays.
  PassTestGraph h;
  h.Result(pointwise(h, Depthwise(h, h.Arg(DType::kFloat), 4)));
  ASSERT_TRUE(h.Apply(FusePostOpsPass()));
  ASSERT_TRUE(h.Apply(AbsorbScalesPass()));
  EXPECT_FALSE(h.Apply(kFuse));
}

TEST(FuseSeparableBlockTest, AScaledDepthwiseFilterStays) {
  PassTestGraph g;
  const Endpoint filter =
      g.Op("_ScaleWeights",
           {g.Const(Waves({3, 3, 4, 1}, 1)), g.Const(Tensor::Vector<double>({2, -0.5, 1, 1e300}))});
  const Endpoint conv = g.Op("DepthwiseConv2dNative", {g.Arg(DType::kFloat), filter}, Window(1));
  g.Result(Pointwise(g, g.Op("BiasAdd", {conv, g.Const(Waves({4}, 1))}), 4, 4));
  ASSERT_TRUE(g.Apply(FusePostOpsPass()));
  EXPECT_FALSE(g.Apply(kFuse)) << "the products are not finite, or may not be";
}

TEST(FuseSeparableBlockTest, WhatTheLoopsDoNotKnowStays) {
  const auto expect_same = [](const char* what, auto build) {
    SCOPED_TRACE(what);
    PassTestGraph g;
    g.Result(build(g, g.Arg(DType::kFloat)));
    EXPECT_FALSE(FusedEqually(g));
  };
  expect_same("an activation that does not clamp", [](PassTestGraph& g, const Endpoint& x) {
    return Pointwise(g, Depthwise(g, x, 3, Window(1), "Elu"), 3, 4);
  });
  expect_same("its activation, of the last", [](PassTestGraph& g, const Endpoint& x) {
    return Pointwise(g, Depthwise(g, x, 3), 3, 4, "Sigmoid");
  });
  expect_same("two outputs a channel", [](PassTestGraph& g, const Endpoint& x) {
    return Pointwise(g, Layer(g, "DepthwiseConv2dNative", x, {3, 3, 3, 2}, Window(1)), 6, 4);
  });
  expect_same("a filter of several points", [](PassTestGraph& g, const Endpoint& x) {
    return Layer(g, "Conv2D", Depthwise(g, x, 3), {2, 1, 3, 4}, Window(1));
  });
  expect_same("strides in the last", [](PassTestGraph& g, const Endpoint& x) {
    return Layer(g, "Conv2D", Depthwise(g, x, 3), {1, 1, 3, 4}, Window(2));
  });
  expect_same("groups in the last", [](PassTestGraph& g, const Endpoint& x) {
    return Layer(g, "Conv2D", Depthwise(g, x, 3), {1, 1, 1, 3}, Window(1));
  });
  expect_same("the addition of something else", [](PassTestGraph& g, const Endpoint& x) {
    return g.Op("AddV2", {g.Op("Neg", {x}), Pointwise(g, Depthwise(g, x, 3), 3, 3, "")});
  });
}

// It would meet the zeros that lie beyond the image.
TEST(FuseSeparableBlockTest, AnInfinityInADepthwiseFilterStays) {
  PassTestGraph g;
  Tensor filter = Waves({3, 3, 3, 1}, 1);
  filter.flat<float>()[0] = std::numeric_limits<float>::infinity();
  const Endpoint conv =
      g.Op("DepthwiseConv2dNative", {g.Arg(DType::kFloat), g.Const(filter)}, Window(1));
  g.Result(Pointwise(g, g.Op("BiasAdd", {conv, g.Const(Waves({3}, 1))}), 3, 4));
  ASSERT_TRUE(g.Apply(FusePostOpsPass()));
  EXPECT_FALSE(g.Apply(kFuse));
}

TEST(FuseSeparableBlockTest, NodesWithoutTheInputsThatTheirOpsNeedStay) {
  PassTestGraph g;  // nothing to add
  AttrMap attrs = Window(1);
  attrs["num_args"] = 1;
  attrs["TArgs"] = std::vector<DType>{DType::kFloat};
  attrs["fused_ops"] = std::vector<std::string>{"BiasAdd", "Add"};
  const Endpoint depthwise = Depthwise(g, g.Arg(DType::kFloat), 3);
  g.Result(g.Op("_FusedConv2D",
                {depthwise, g.Const(Waves({1, 1, 3, 3}, 1)), g.Const(Waves({3}, 1))}, attrs));
  g.Apply(FusePostOpsPass());
  EXPECT_FALSE(g.Apply(kFuse));

  PassTestGraph h;  // no bias
  attrs = Window(1);
  attrs["num_args"] = 0;
  attrs["fused_ops"] = std::vector<std::string>{"BiasAdd"};
  const Endpoint fused = h.Op("_FusedDepthwiseConv2dNative",
                              {h.Arg(DType::kFloat), h.Const(Waves({3, 3, 3, 1}, 1))}, attrs);
  h.Result(Pointwise(h, fused, 3, 4));
  h.Apply(FusePostOpsPass());
  EXPECT_FALSE(h.Apply(kFuse));
}

TEST(FuseSeparableBlockTest, APairWithManyWeightsStays) {
  for (const int64_t out : {512, 513}) {
    PassTestGraph g;
    g.Result(Pointwise(g, Depthwise(g, g.Arg(DType::kFloat), 512), 512, out));
    ASSERT_TRUE(g.Apply(FusePostOpsPass()));
    EXPECT_EQ(g.Apply(kFuse), out == 512);
  }
}

TEST(FuseSeparableBlockTest, WhatOthersUseIsNotTakenAway) {
  PassTestGraph g;
  const Endpoint depthwise = Depthwise(g, g.Arg(DType::kFloat), 3);
  g.Result(Pointwise(g, depthwise, 3, 4));
  g.Result(depthwise);
  EXPECT_FALSE(FusedEqually(g));

  PassTestGraph h;
  const Endpoint x = Layer(h, "Conv2D", h.Arg(DType::kFloat), {3, 3, 3, 4}, Window(1));
  const Endpoint expanded = Pointwise(h, x, 4, 20);
  h.Result(Pointwise(h, Depthwise(h, expanded, 20), 20, 6));
  h.Result(expanded);
  EXPECT_TRUE(FusedEqually(h));
  EXPECT_THAT(OpsOf(h.Only("_SeparableBlock"), "expand_ops"), ElementsAre());
}

// Its filter may be of several groups: how many channels the argument has is not known.
TEST(FuseSeparableBlockTest, AFirstConvolutionOfImagesOfUnknownDepthStays) {
  for (const int64_t in : {3, 1}) {
    PassTestGraph g;
    const Endpoint expanded = Pointwise(g, g.Arg(DType::kFloat), in, 6);
    g.Result(Pointwise(g, Depthwise(g, expanded, 6), 6, 4));
    EXPECT_TRUE(FusedEqually(g));
    EXPECT_EQ(g.CountOf("_FusedConv2D"), 1);
  }
}

TEST(FuseSeparableBlockTest, ControlEdgesOfTheLastGoToTheBlock) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint last = Pointwise(g, Depthwise(g, x, 3), 3, 4);
  Node* const before = g.Arg(DType::kBool).node;
  Node* const after = g.Result(x);
  g.Result(last);
  g.Apply(FusePostOpsPass());
  Node* const project = g.Only("_FusedConv2D");
  g.graph.AddControlEdge(before, project);
  g.graph.AddControlEdge(project, after);
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {kImages, Tensor::Scalar(true)}, kTolerance));
  Node* const block = g.Only("_SeparableBlock");
  EXPECT_THAT(block->control_inputs(), ElementsAre(before));
  EXPECT_THAT(after->control_inputs(), ElementsAre(block));
}

TEST(FuseSeparableBlockTest, ImagesOfAnotherShapeFailAsBefore) {
  for (const Shape& shape : {Shape{1, 5, 5, 4}, Shape{5, 5, 3}}) {
    PassTestGraph g;
    g.Result(Pointwise(g, Depthwise(g, g.Arg(DType::kFloat), 3), 3, 4));
    g.Apply(FusePostOpsPass());
    const auto before = g.Run({Ramp(shape, 1)});
    ASSERT_TRUE(g.Apply(kFuse));
    const auto after = g.Run({Ramp(shape, 1)});
    EXPECT_EQ(before.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(after.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(after.status().ToString(), HasSubstr(shape.rank() == 4 ? "channels" : "rank"));
  }
}

}  // namespace
}  // namespace tessera
