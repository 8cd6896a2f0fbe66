#include "runtime/optimize/fold_pad.h"

#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

constexpr double kTolerance = 1e-6;
const FoldPadPass kFold;

AttrMap Window(const std::string& padding) {
  return {{"strides", std::vector<int64_t>{1, 2, 2, 1}}, {"padding", padding}};
}

Endpoint Pad(PassTestGraph& g, const Endpoint& x, std::initializer_list<int32_t> amounts) {
  return g.Op("Pad", {x, g.Const(Tensor::Of<int32_t>({4, 2}, amounts))},
              {{"Tpaddings", DType::kInt32}});
}

TEST(FoldPadTest, PaddingGoesIntoConvolutions) {
  for (const char* op : {"Conv2D", "DepthwiseConv2dNative"}) {
    SCOPED_TRACE(op);
    PassTestGraph g;
    const Endpoint padded = Pad(g, g.Arg(DType::kFloat), {0, 0, 0, 1, 2, 1, 0, 0});
    g.Result(g.Op(op, {padded, g.Const(Ramp({3, 3, 2, 2}, 0.25f))}, Window("VALID")));
    EXPECT_TRUE(g.ExpectSameResults(kFold, {Ramp({2, 5, 6, 2}, 0.5f)}, kTolerance));
    EXPECT_EQ(g.CountOf("Pad"), 0);
  }
}

TEST(FoldPadTest, PaddingIsAddedToTheConvolutionsOwn) {
  PassTestGraph g;
  AttrMap attrs = Window("EXPLICIT");
  attrs["explicit_paddings"] = std::vector<int64_t>{0, 0, 1, 0, 0, 1, 0, 0};
  const Endpoint padded = Pad(g, g.Arg(DType::kFloat), {0, 0, 1, 1, 0, 1, 0, 0});
  g.Result(g.Op("Conv2D", {padded, g.Const(Ramp({3, 3, 2, 2}, 0.25f))}, attrs));
  EXPECT_TRUE(g.ExpectSameResults(kFold, {Ramp({1, 5, 6, 2}, 0.5f)}, kTolerance));
  EXPECT_EQ(g.CountOf("Pad"), 0);
}

TEST(FoldPadTest, OnlyTheMaximumOfWhatIsNotNegativeTakesZeros) {
  AttrMap attrs = Window("VALID");
  attrs["ksize"] = std::vector<int64_t>{1, 3, 3, 1};
  PassTestGraph g;
  const Endpoint positive = g.Op("Relu", {g.Arg(DType::kFloat)});
  g.Result(g.Op("MaxPool", {Pad(g, positive, {0, 0, 1, 1, 1, 1, 0, 0})}, attrs));
  // Numbers, not bits: the maximum of 0 and -0 may be either.
  EXPECT_TRUE(g.ExpectSameResults(kFold, {Ramp({1, 6, 6, 2}, -1)}, kTolerance));
  EXPECT_EQ(g.CountOf("Pad"), 0);

  PassTestGraph h;
  h.Result(h.Op("MaxPool", {Pad(h, h.Arg(DType::kFloat), {0, 0, 1, 1, 1, 1, 0, 0})}, attrs));
  EXPECT_FALSE(h.Apply(kFold));

  PassTestGraph i;  // a window may see padding alone
  const Endpoint relu = i.Op("Relu", {i.Arg(DType::kFloat)});
  i.Result(i.Op("MaxPool", {Pad(i, relu, {0, 0, 3, 0, 0, 0, 0, 0})}, attrs));
  EXPECT_FALSE(i.Apply(kFold));
}

TEST(FoldPadTest, ImagesWithoutRowsAreNothingButPadding) {
  AttrMap attrs = Window("VALID");
  attrs["ksize"] = std::vector<int64_t>{1, 2, 2, 1};
  PassTestGraph g;
  const Endpoint relu = g.Op("Relu", {g.Arg(DType::kFloat)});
  g.Result(g.Op("MaxPool", {Pad(g, relu, {0, 0, 1, 1, 1, 1, 0, 0})}, attrs));
  EXPECT_TRUE(g.ExpectSameResults(kFold, {Tensor::Of<float>({2, 0, 6, 1}, {})}));
  for (const Shape& shape : {Shape{2, 0, 6, 1}, Shape{2, 4, 0, 1}, Shape{2, 0, 0, 1}}) {
    const auto results = g.Run({Tensor::Zeros(DType::kFloat, shape).value()});
    ASSERT_TRUE(results.ok()) << results.status();
    for (const float y : results->front().flat<float>()) EXPECT_EQ(y, 0);
    EXPECT_GT(results->front().num_elements(), 0);
  }
  EXPECT_TRUE(g.Run({Tensor::Zeros(DType::kFloat, {0, 4, 4, 1}).value()}).ok());
}

TEST(FoldPadTest, OtherUsersKeepThePad) {
  PassTestGraph g;
  const Endpoint padded = Pad(g, g.Arg(DType::kFloat), {0, 0, 1, 1, 1, 1, 0, 0});
  g.Result(g.Op("Conv2D", {padded, g.Const(Ramp({3, 3, 2, 2}, 0.25f))}, Window("VALID")));
  g.Result(padded);
  EXPECT_TRUE(g.ExpectSameResults(kFold, {Ramp({1, 5, 6, 2}, 0.5f)}, kTolerance));
  EXPECT_EQ(g.CountOf("Pad"), 1);
}

TEST(FoldPadTest, LeavesWhatIsNoPaddingOfImages) {
  {
    PassTestGraph g;  // channels
    const Endpoint padded = Pad(g, g.Arg(DType::kFloat), {0, 0, 1, 1, 1, 1, 0, 1});
    g.Result(g.Op("Conv2D", {padded, g.Const(Ramp({3, 3, 2, 2}, 1))}, Window("VALID")));
    EXPECT_FALSE(g.Apply(kFold));
  }
  {
    PassTestGraph g;  // what SAME adds depends on the padded size
    const Endpoint padded = Pad(g, g.Arg(DType::kFloat), {0, 0, 1, 1, 1, 1, 0, 0});
    g.Result(g.Op("Conv2D", {padded, g.Const(Ramp({3, 3, 2, 2}, 1))}, Window("SAME")));
    EXPECT_FALSE(g.Apply(kFold));
  }
}

}  // namespace
}  // namespace tessera
