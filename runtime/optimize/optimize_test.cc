#include "runtime/optimize/optimize.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/standard_passes.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A layer as Keras 3 exports it: the weights in variables, batch norm as arithmetic.
void BuildLayer(PassTestGraph& g) {
  g.item.is_frozen = [](const Node&) { return true; };
  auto weights = [&](const std::string& name, Tensor value) {
    auto variable = MakeRefCounted<Variable>(DType::kFloat, PartialShape(value.shape()));
    const PartialShape shape = variable->declared_shape();
    variable->Assign(std::move(value));
    EXPECT_TRUE(g.resources.Create("", Variable::kTypeName, name, variable).ok());
    const Endpoint handle =
        g.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", shape}}, name);
    return g.Op("Identity", {g.Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}})});
  };
  const Endpoint conv = g.Op("Conv2D", {g.Arg(DType::kFloat), weights("k", Ramp({1, 1, 2, 3}, 1))},
                             {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}});
  const Endpoint variance = weights("variance", Tensor::Vector<float>({1, 4, 9}));
  const Endpoint mean = weights("mean", Tensor::Vector<float>({1, 2, 3}));
  const Endpoint scale =
      g.Op("Rsqrt", {g.Op("AddV2", {variance, g.Const(Tensor::Scalar(0.001f))})});
  const Endpoint shift = g.Op("Neg", {g.Op("Mul", {mean, scale})});
  g.Result(g.Op("Relu", {g.Op("AddV2", {g.Op("Mul", {conv, scale}), shift})}));
}

// Adapts Optimize() to the interface of the test graph.
class AllPasses : public Pass {
 public:
  explicit AllPasses(OptimizeOptions options = {}) : options_(std::move(options)) {}
  absl::string_view name() const override { return "all"; }
  absl::Status Run(OptimizationItem& item, bool*) const override {
    return Optimize(item, options_);
  }

 private:
  const OptimizeOptions options_;
};

TEST(OptimizeTest, ALayerBecomesOneNode) {
  PassTestGraph g;
  BuildLayer(g);
  g.ExpectSameResults(AllPasses(), {Ramp({1, 2, 2, 2}, 1)}, 1e-6);
  EXPECT_EQ(g.CountOf("_FusedConv2D"), 1);
  EXPECT_EQ(g.graph.num_nodes(), 6) << "argument, weights, scale, bias, convolution, result";
}

TEST(OptimizeTest, ScaledWeightsAreAConstantWhereNoConvolutionTakesTheScale) {
  PassTestGraph g;
  BuildLayer(g);
  g.ExpectSameResults(AllPasses({.disabled_passes = {"absorb_scales"}}), {Ramp({1, 2, 2, 2}, 1)},
                      1e-6);
  EXPECT_EQ(g.CountOf("_ScaleWeights"), 0);
  EXPECT_EQ(g.graph.num_nodes(), 5) << "argument, weights, bias, convolution, result";
}

TEST(OptimizeTest, EachPassCanBeSwitchedOff) {
  for (const std::string& name : StandardPassNames()) {
    SCOPED_TRACE(name);
    PassTestGraph g;
    BuildLayer(g);
    g.ExpectSameResults(AllPasses({.disabled_passes = {name}}), {Ramp({1, 2, 2, 2}, 1)}, 1e-6);
    EXPECT_EQ(g.CountOf("VarHandleOp"), name == "freeze_variables" ? 3 : 0);
    if (name == "fuse_post_ops") {
      EXPECT_EQ(g.CountOf("Relu"), 1);
    }
  }
}

TEST(OptimizeTest, UnknownPassNamesAreRefused) {
  PassTestGraph g;
  const absl::Status status = Optimize(g.item, {.disabled_passes = {"no_such_pass"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("'no_such_pass'"));
  EXPECT_THAT(status.ToString(), HasSubstr("fold_constants"));
}

// Claims in its first two runs to have changed the graph, so that there are three rounds.
class BusyPass : public Pass {
 public:
  explicit BusyPass(int* runs) : runs_(runs) {}
  absl::string_view name() const override { return "busy"; }
  absl::Status Run(OptimizationItem&, bool* changed) const override {
    if (++*runs_ < 3) *changed = true;
    return absl::OkStatus();
  }

 private:
  int* const runs_;
};

class FailingPass : public Pass {
 public:
  explicit FailingPass(int* runs) : runs_(runs) {}
  absl::string_view name() const override { return "failing"; }
  absl::Status Run(OptimizationItem&, bool*) const override {
    ++*runs_;
    return absl::InternalError("cannot match node 'x'");
  }

 private:
  int* const runs_;
};

TEST(OptimizeTest, AFailingPassIsLeftOutAlone) {
  PassTestGraph g;
  g.Result(g.Arg(DType::kFloat));
  int runs_before = 0, runs_failing = 0, runs_after = 0;
  PassList passes;
  passes.push_back(std::make_unique<BusyPass>(&runs_before));
  passes.push_back(std::make_unique<FailingPass>(&runs_failing));
  passes.push_back(std::make_unique<BusyPass>(&runs_after));

  ::testing::internal::CaptureStderr();
  RunPasses(passes, g.item, {.max_rounds = 5});
  const std::string log = ::testing::internal::GetCapturedStderr();

  EXPECT_EQ(runs_before, 3);
  EXPECT_EQ(runs_failing, 1) << "a pass that failed is not tried again";
  EXPECT_EQ(runs_after, 3);
  EXPECT_THAT(log, HasSubstr("pass 'failing'"));
  EXPECT_THAT(log, HasSubstr("cannot match node 'x'"));
  EXPECT_THAT(log, Not(HasSubstr("busy")));
}

TEST(OptimizeTest, ADisabledPassDoesNotRun) {
  PassTestGraph g;
  g.Result(g.Arg(DType::kFloat));
  int runs = 0;
  PassList passes;
  passes.push_back(std::make_unique<FailingPass>(&runs));
  RunPasses(passes, g.item, {.disabled_passes = {"failing"}});
  EXPECT_EQ(runs, 0);
}

TEST(OptimizeTest, RoundsEndAtTheirLimit) {
  PassTestGraph g;
  g.Result(g.Arg(DType::kFloat));
  int runs = 0;
  PassList passes;
  passes.push_back(std::make_unique<BusyPass>(&runs));
  RunPasses(passes, g.item, {.max_rounds = 2});
  EXPECT_EQ(runs, 2);
}

TEST(OptimizeTest, WhatNothingNeedsIsDropped) {
  PassTestGraph g;
  g.Result(g.Arg(DType::kFloat));
  g.Op("Neg", {g.Arg(DType::kFloat)});
  EXPECT_TRUE(Optimize(g.item, {}).ok());
  EXPECT_EQ(g.CountOf("Neg"), 0);
}

}  // namespace
}  // namespace tessera
