#include "runtime/training/gradients/symbolic_gradient.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// `square_and_count` gives x * x and its argument n; `cubes` calls it; `bits` has no gradient;
// `slope` is the gradient of `square_and_count` with respect to x.
constexpr char kFunctions[] = R"(
  def square_and_count(x: float, n: int32) -> (y: float, m: int32):
    product = Mul(x, x) {T: float}
  return (y = product:z:0, m = n)

  def bits(x: float) -> (y: float):
    cast = Bitcast(x) {T: float, type: float}
  return (y = cast:output:0)

  def slope(x: float, n: int32) -> (dx: float):
    one = Const() {dtype: float, value: float(1)}
    gradient = SymbolicGradient(x, n, one:output:0, n) {Tin: [float, int32, float, int32],
        Tout: [float, int32], f: @square_and_count}
  return (dx = gradient:output:0)

  x = Const() {dtype: float, value: float(3)}
  n = Const() {dtype: int32, value: int32(7)}
)";

tensorflow::GraphDef GraphWith(const std::string& more) {
  return GraphFromText(absl::StrCat(kFunctions, more));
}

absl::Status RunGraph(const tensorflow::GraphDef& graph, const std::vector<std::string>& fetches,
                      std::vector<Tensor>* values) {
  const std::unique_ptr<Session> session = Session::Create({}).value();
  if (const absl::Status extended = session->Extend(graph); !extended.ok()) return extended;
  return session->Run({}, fetches, {}, values);
}

TEST(SymbolicGradientTest, IsTheGradientOfTheFunctionAndZerosForIntegers) {
  const auto graph = GraphWith(R"(
    gradient = SymbolicGradient(x, n, x, n) {Tin: [float, int32, float, int32],
        Tout: [float, int32], f: @square_and_count}
  )");
  std::vector<Tensor> values;
  const absl::Status run = RunGraph(graph, {"gradient:0", "gradient:1"}, &values);
  ASSERT_TRUE(run.ok()) << run;
  EXPECT_EQ(values[0].scalar<float>(), 2 * 3 * 3);
  EXPECT_EQ(values[1].scalar<int32_t>(), 0);
}

TEST(SymbolicGradientTest, FunctionsWithGradientsInThemHaveGradients) {
  const auto graph = GraphWith(R"(
    gradient = SymbolicGradient(x, n, x) {Tin: [float, int32, float], Tout: [float, int32],
        f: @slope}
  )");
  std::vector<Tensor> values;
  const absl::Status run = RunGraph(graph, {"gradient:0"}, &values);
  ASSERT_TRUE(run.ok()) << run;
  EXPECT_EQ(values[0].scalar<float>(), 2 * 3);
}

TEST(SymbolicGradientTest, GradientFunctionOfTheLibraryIsCalled) {
  auto graph = GraphWith(R"(
    gradient = SymbolicGradient(x, x) {Tin: [float, float], Tout: [float], f: @bits}

    def minus_dy(x: float, dy: float) -> (dx: float):
      minus = Neg(dy) {T: float}
    return (dx = minus:y:0)
  )");
  auto* const gradient = graph.mutable_library()->add_gradient();
  gradient->set_function_name("bits");
  gradient->set_gradient_func("minus_dy");
  std::vector<Tensor> values;
  const absl::Status run = RunGraph(graph, {"gradient:0"}, &values);
  ASSERT_TRUE(run.ok()) << run;
  EXPECT_EQ(values[0].scalar<float>(), -3);
}

TEST(SymbolicGradientTest, WhatHasNoGradientFailsOnlyTheRunsThatNeedIt) {
  const auto graph = GraphWith(R"(
    gradient = SymbolicGradient(x, x) {Tin: [float, float], Tout: [float], f: @bits}
  )");
  std::vector<Tensor> values;
  EXPECT_TRUE(RunGraph(graph, {"x:0"}, &values).ok());
  const absl::Status run = RunGraph(graph, {"gradient:0"}, &values);
  EXPECT_FALSE(run.ok());
  EXPECT_THAT(std::string(run.message()), HasSubstr("Bitcast has no gradient"));
}

TEST(SymbolicGradientTest, AFunctionThatNamesItsOwnGradientEnds) {
  auto graph = GraphWith(R"(
    def endless(x: float) -> (y: float):
      slope = SymbolicGradient(x, x) {Tin: [float, float], Tout: [float], f: @endless}
      constant = StopGradient(slope:output:0) {T: float}
      product = Mul(x, constant:output:0) {T: float}
    return (y = product:z:0)

    gradient = SymbolicGradient(x, x) {Tin: [float, float], Tout: [float], f: @endless}
  )");
  ExpandSymbolicGradients(nullptr, &graph);
  std::vector<Tensor> values;
  const absl::Status run = RunGraph(graph, {"gradient:0"}, &values);
  EXPECT_FALSE(run.ok());
}

TEST(SymbolicGradientTest, AnotherNumberOfInputsIsRefused) {
  auto graph = GraphWith(R"(
    gradient = SymbolicGradient(x, x) {Tin: [float, float], Tout: [float], f: @square_and_count}
  )");
  ExpandSymbolicGradients(nullptr, &graph);
  EXPECT_THAT(graph.node(2).attr().at("_unsupported").s(),
              HasSubstr("must take the arguments of 'square_and_count'"));
}

}  // namespace
}  // namespace tessera
