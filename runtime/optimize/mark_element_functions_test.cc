#include "runtime/optimize/mark_element_functions.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

constexpr char kFunctions[] = R"(
  def largest(a: float, b: float) -> (c: float):
    is_larger = Greater(a, b) {T: float}
    c = SelectV2(is_larger:z:0, a, b) {T: float}
  return (c = c:output:0)

  def largest_by_call(a: float, b: float) -> (c: float):
    call = PartitionedCall(a, b) {Tin: [float, float], Tout: [float], f: @largest}
  return (c = call:output:0)

  def first(a: float, b: float) -> (c: float):
  return (c = a)

  def second(a: float, b: float) -> (c: float):
  return (c = b)

  def largest_by_branches(a: float, b: float) -> (c: float):
    is_larger = Greater(a, b) {T: float}
    c = If(is_larger:z:0, a, b) {Tcond: bool, Tin: [float, float], Tout: [float],
        then_branch: @first, else_branch: @second}
  return (c = c:output:0)

  def sum_and_count(a: float, b: float) -> (c: float):
    size = Size(a) {T: float, out_type: int32}
    count = Cast(size:output:0) {SrcT: int32, DstT: float}
    sum = AddV2(a, b) {T: float}
    c = AddV2(sum:z:0, count:y:0) {T: float}
  return (c = c:z:0)

  def sum_of_two(a: float, b: float) -> (c: float):
    sum = AddV2(b, a) {T: float}
  return (c = sum:z:0)

  def double_of_first(a: float, b: float) -> (c: float):
    sum = AddV2(a, a) {T: float}
  return (c = sum:z:0)

  def greater_of_two(a: float, b: float) -> (c: float):
    greater = Maximum(a, b) {T: float}
  return (c = greater:z:0)

  def is_at_least(a: float, b: float) -> (c: bool):
    is_at_least = GreaterEqual(a, b) {T: float}
  return (c = is_at_least:z:0)

  def is_less(a: float, b: float) -> (c: bool):
    is_less = Less(a, b) {T: float}
  return (c = is_less:z:0)

  def is_exceeded(a: float, b: float) -> (c: bool):
    is_exceeded = Greater(b, a) {T: float}
  return (c = is_exceeded:z:0)

  def largest_of_equal_shapes(a: float, b: float) -> (c: float):
    is_larger = Greater(a, b) {T: float}
    zero = ZerosLike(a) {T: float}
    fixed = Const() {dtype: float, value: float(3)}
    c = Select(is_larger:z:0, fixed:output:0, zero:y:0) {T: float}
  return (c = c:output:0)
)";

// Returns the results of a graph before and after the pass, which must be the same, and checks the
// mark of a function.
std::vector<float> RunMarked(PassTestGraph& g, const std::string& op, const std::string& attr,
                             const std::string& mark, const std::vector<Tensor>& args) {
  EXPECT_TRUE(g.ExpectSameResults(MarkElementFunctionsPass(), args));
  const auto marked = g.Only(op)->attr<std::string>("_is_" + attr);
  EXPECT_EQ(marked.ok() ? *marked : "", mark);
  const auto results = g.Run(args);
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return {};
  const absl::Span<const float> values = (*results)[0].flat<float>();
  return std::vector<float>(values.begin(), values.end());
}

// Updates rows 2, 0, 2 and two rows beyond the end of three.
std::vector<float> Scatter(const std::string& function, const std::string& mark) {
  // xla.ScatterDimensionNumbers: update_window_dims [1], inserted_window_dims [0],
  // scatter_dims_to_operand_dims [0], index_vector_dim 1.
  const std::string numbers("\x0a\x01\x01\x12\x01\x00\x1a\x01\x00\x20\x01", 11);
  PassTestGraph g(kFunctions);
  const Endpoint x = g.Arg(DType::kFloat), indices = g.Arg(DType::kInt32),
                 updates = g.Arg(DType::kFloat);
  g.Result(g.Op("XlaScatter", {x, indices, updates},
                {{"T", DType::kFloat},
                 {"Tindices", DType::kInt32},
                 {"update_computation", FunctionRef{function, {}}},
                 {"dimension_numbers", numbers},
                 {"indices_are_sorted", false}}));
  return RunMarked(
      g, "XlaScatter", "update_computation", mark,
      {Tensor::Vector<float>({1, 2, 3, 4, 5, 6}).Reshaped({3, 2}).value(),
       Tensor::Vector<int32_t>({2, 0, 2, 3, -1}).Reshaped({5, 1}).value(),
       Tensor::Vector<float>({10, 0, 20, 1, 3, 40, 7, 7, 8, 8}).Reshaped({5, 2}).value()});
}

// Reduces windows of 3 that overlap, with an element of padding before the first and two after the
// last one, from an initial value of 100 on.
std::vector<float> ReduceWindows(const std::string& function, const std::string& mark) {
  PassTestGraph g(kFunctions);
  const Endpoint x = g.Arg(DType::kFloat);
  const auto ints = [&](std::vector<int32_t> values) {
    return g.Const(Tensor::Vector<int32_t>(values));
  };
  const Endpoint padding = g.Const(Tensor::Vector<int32_t>({1, 2, 0, 0}).Reshaped({2, 2}).value());
  g.Result(g.Op("XlaReduceWindow",
                {x, g.Const(Tensor::Scalar(100.0f)), ints({3, 1}), ints({2, 1}), ints({1, 1}),
                 ints({1, 1}), padding},
                {{"T", DType::kFloat},
                 {"Tindices", DType::kInt32},
                 {"computation", FunctionRef{function, {}}}}));
  return RunMarked(g, "XlaReduceWindow", "computation", mark,
                   {Tensor::Vector<float>({1, 2, 3, 4, 5, 6, 700, 8}).Reshaped({4, 2}).value()});
}

// Adds 1, 10, ... to the elements that a function selects in windows of 2 x 3 that overlap, with
// padding around them, from an initial value of 0.5 on. The rows have two columns of their own.
std::vector<float> SelectAndAdd(const std::string& select, const std::string& mark) {
  PassTestGraph g(kFunctions);
  const Endpoint x = g.Arg(DType::kFloat), source = g.Arg(DType::kFloat);
  const auto ints = [&](std::vector<int32_t> values) {
    return g.Const(Tensor::Vector<int32_t>(values));
  };
  const Endpoint padding =
      g.Const(Tensor::Vector<int32_t>({1, 1, 0, 2, 0, 0}).Reshaped({3, 2}).value());
  g.Result(
      g.Op("XlaSelectAndScatter",
           {x, ints({2, 3, 1}), ints({1, 2, 1}), padding, source, g.Const(Tensor::Scalar(0.5f))},
           {{"T", DType::kFloat},
            {"Tindices", DType::kInt32},
            {"select", FunctionRef{select, {}}},
            {"scatter", FunctionRef{"sum_of_two", {}}}}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  return RunMarked(
      g, "XlaSelectAndScatter", "select", mark,
      {Tensor::Vector<float>({1, 7, 5, 7, 5, nan, 2, 0, 9, 3, 4, 1}).Reshaped({2, 3, 2}).value(),
       Tensor::Vector<float>({1, 2, 3, 4, 10, 20, 30, 40, 100, 200, 300, 400})
           .Reshaped({3, 2, 2})
           .value()});
}

// Reduces rows by a function. Returns what the pass has found of it.
std::vector<std::string> Reduce(const std::string& reducer, std::vector<float> expected) {
  PassTestGraph g(kFunctions);
  const Endpoint x = g.Arg(DType::kFloat), init = g.Arg(DType::kFloat);
  g.Result(g.Op("XlaReduce", {x, init},
                {{"T", DType::kFloat},
                 {"reducer", FunctionRef{reducer, {}}},
                 {"dimensions_to_reduce", std::vector<int64_t>{0}}}));
  const MarkElementFunctionsPass pass;
  const std::vector<Tensor> args = {
      Tensor::Vector<float>({1, 5, 7, 2, 3, 4, 0, 9}).Reshaped({4, 2}).value(),
      Tensor::Scalar(-1.0f)};
  EXPECT_TRUE(g.ExpectSameResults(pass, args));
  EXPECT_FALSE(g.Apply(pass));
  const auto results = g.Run(args);
  EXPECT_TRUE(results.ok()) << results.status();
  if (results.ok()) {
    const absl::Span<const float> values = (*results)[0].flat<float>();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()), expected);
  }
  return g.Only("XlaReduce")->attr<std::vector<std::string>>("_elementwise").value();
}

TEST(MarkElementFunctionsTest, ElementwiseOpsTakeVectors) {
  EXPECT_THAT(Reduce("largest", {7, 9}), ElementsAre("reducer"));
  EXPECT_THAT(Reduce("largest_by_call", {7, 9}), ElementsAre("reducer"));
}

TEST(MarkElementFunctionsTest, BranchesTakeOneElementAtATime) {
  EXPECT_THAT(Reduce("largest_by_branches", {7, 9}), ElementsAre());
}

TEST(MarkElementFunctionsTest, WhatLooksAtShapesTakesOneElementAtATime) {
  EXPECT_THAT(Reduce("sum_and_count", {14, 23}), ElementsAre());
}

TEST(MarkElementFunctionsTest, WhatDoesNotBroadcastEndsNoStep) {
  // An init of -1 is not larger.
  EXPECT_THAT(Reduce("largest_of_equal_shapes", {0, 0}), ElementsAre("reducer"));
}

TEST(MarkElementFunctionsTest, ScattersNeedNotCallTheOpsTheyKnow) {
  EXPECT_EQ(Scatter("sum_of_two", "AddV2"), (std::vector<float>{21, 3, 3, 4, 18, 46}));
  EXPECT_EQ(Scatter("greater_of_two", "Maximum"), (std::vector<float>{20, 2, 3, 4, 10, 40}));
  EXPECT_EQ(Scatter("second", "second"), (std::vector<float>{20, 1, 3, 4, 3, 40}));
  EXPECT_EQ(Scatter("double_of_first", ""), (std::vector<float>{2, 4, 3, 4, 20, 24}));
}

TEST(MarkElementFunctionsTest, WindowsHaveTheInitialValueOnce) {
  EXPECT_EQ(ReduceWindows("sum_of_two", "AddV2"),
            (std::vector<float>{104, 106, 808, 118, 800, 108}));
  EXPECT_EQ(ReduceWindows("greater_of_two", "Maximum"),
            (std::vector<float>{100, 100, 700, 100, 700, 100}));
  EXPECT_EQ(ReduceWindows("largest", ""), (std::vector<float>{100, 100, 700, 100, 700, 100}));
}

TEST(MarkElementFunctionsTest, WindowsSelectByComparisonsWithoutCalls) {
  EXPECT_EQ(SelectAndAdd("is_at_least", "GreaterEqual"),
            (std::vector<float>{0.5f, 0.5f, 1.5f, 0.5f, 33.5f, 6.5f, 0.5f, 0.5f, 110.5f, 220.5f,
                                300.5f, 440.5f}));
  EXPECT_EQ(SelectAndAdd("is_less", "Less"),
            (std::vector<float>{11.5f, 0.5f, 0.5f, 0.5f, 3.5f, 6.5f, 100.5f, 220.5f, 0.5f, 0.5f,
                                330.5f, 440.5f}));
  EXPECT_EQ(SelectAndAdd("is_less", "Less"), SelectAndAdd("is_exceeded", ""));
}

}  // namespace
}  // namespace tessera
