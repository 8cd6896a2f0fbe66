// LSTMs in the form that JAX's scan has after its translation: loops over slices of a tensor.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "runtime/optimize/fuse_recurrence.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

constexpr int kTime = 5, kBatch = 3, kInputs = 4, kUnits = 2;
constexpr double kTolerance = 1e-5;
const FuseRecurrencePass kFuse;

// How a loop differs from that of an LSTM.
struct Form {
  std::string step = "time";       // of the input
  std::string written = "time";    // the step of the output
  std::string last_column = "k8";  // of the output gate
  int steps = kTime;
};

// Loop variables: time, input, output, recurrent, kernel, bias, h, c, rows.
std::string FunctionsOf(const Form& form) {
  return absl::StrReplaceAll(R"(
    def cond(time: int32, xs: float, ys: float, u: float, w: float, b: float, h: float, c: float,
             rows: int32) -> (more: bool):
      steps = Const() {dtype: int32, value: int32($STEPS)}
      less = Less(time, steps:output:0) {T: int32}
    return (more = less:z:0)

    def body(time: int32, xs: float, ys: float, u: float, w: float, b: float, h: float, c: float,
             rows: int32) -> (next: int32, xs1: float, ys1: float, u1: float, w1: float, b1: float,
                              h1: float, c1: float, rows1: int32):
      axis = Const() {dtype: int32, value: int32(0)}
      zero = Const() {dtype: int32, value: int32(0)}
      one = Const() {dtype: int32, value: int32(1)}
      k0 = Const() {dtype: int32, value: int32([0])}
      k1 = Const() {dtype: int32, value: int32([1])}
      k2 = Const() {dtype: int32, value: int32([2])}
      k4 = Const() {dtype: int32, value: int32([4])}
      k6 = Const() {dtype: int32, value: int32([6])}
      k8 = Const() {dtype: int32, value: int32([8])}
      steps = Const() {dtype: int32, value: int32([5])}
      ones2 = Const() {dtype: int32, value: int32([1, 1])}
      ones3 = Const() {dtype: int32, value: int32([1, 1, 1])}
      zeros3 = Const() {dtype: int32, value: int32([0, 0, 0])}
      flat = Const() {dtype: int32, value: int32([-1, 4])}
      wide = Const() {dtype: int32, value: int32([1, 8])}
      fone = Const() {dtype: float, value: float(1)}

      rows1d = Reshape(rows, k1:output:0) {T: int32}
      time1d = Reshape($STEP, k1:output:0) {T: int32}
      start = ConcatV2(time1d:output:0, k0:output:0, k0:output:0, axis:output:0) {N: 3, T: int32}
      size = ConcatV2(k1:output:0, rows1d:output:0, k4:output:0, axis:output:0) {N: 3, T: int32}
      full = ConcatV2(steps:output:0, rows1d:output:0, k4:output:0, axis:output:0) {N: 3, T: int32}
      last = Sub(full:output:0, size:output:0) {T: int32}
      low = Maximum(start:output:0, zeros3:output:0) {T: int32}
      begin = Minimum(low:z:0, last:z:0) {T: int32}
      end = AddV2(begin:z:0, size:output:0) {T: int32}
      slice = StridedSlice(xs, begin:z:0, end:z:0, ones3:output:0) {T: float, Index: int32}
      x = Reshape(slice:output:0, flat:output:0) {T: float}

      wx = MatMul(x:output:0, w) {T: float}
      uh = MatMul(h, u) {T: float}
      products = AddV2(wx:product:0, uh:product:0) {T: float}
      bias = BroadcastTo(b, wide:output:0) {T: float}
      sums = AddV2(products:z:0, bias:output:0) {T: float}

      ib = ConcatV2(k0:output:0, k0:output:0, axis:output:0) {N: 2, T: int32}
      ie = ConcatV2(rows1d:output:0, k2:output:0, axis:output:0) {N: 2, T: int32}
      is = StridedSlice(sums:z:0, ib:output:0, ie:output:0, ones2:output:0) {T: float, Index: int32}
      fb = ConcatV2(k0:output:0, k2:output:0, axis:output:0) {N: 2, T: int32}
      fe = ConcatV2(rows1d:output:0, k4:output:0, axis:output:0) {N: 2, T: int32}
      fs = StridedSlice(sums:z:0, fb:output:0, fe:output:0, ones2:output:0) {T: float, Index: int32}
      gb = ConcatV2(k0:output:0, k4:output:0, axis:output:0) {N: 2, T: int32}
      ge = ConcatV2(rows1d:output:0, k6:output:0, axis:output:0) {N: 2, T: int32}
      gs = StridedSlice(sums:z:0, gb:output:0, ge:output:0, ones2:output:0) {T: float, Index: int32}
      ob = ConcatV2(k0:output:0, k6:output:0, axis:output:0) {N: 2, T: int32}
      oe = ConcatV2(rows1d:output:0, $LAST:output:0, axis:output:0) {N: 2, T: int32}
      os = StridedSlice(sums:z:0, ob:output:0, oe:output:0, ones2:output:0) {T: float, Index: int32}

      in = Neg(is:output:0) {T: float}
      ix = Exp(in:y:0) {T: float}
      ip = AddV2(fone:output:0, ix:y:0) {T: float}
      i = RealDiv(fone:output:0, ip:z:0) {T: float}
      fn = Neg(fs:output:0) {T: float}
      fx = Exp(fn:y:0) {T: float}
      fp = AddV2(fone:output:0, fx:y:0) {T: float}
      f = RealDiv(fone:output:0, fp:z:0) {T: float}
      o = Sigmoid(os:output:0) {T: float}
      g = Tanh(gs:output:0) {T: float}
      kept = Mul(f:z:0, c) {T: float}
      added = Mul(i:z:0, g:y:0) {T: float}
      cell = AddV2(kept:z:0, added:z:0) {T: float}
      squashed = Tanh(cell:z:0) {T: float}
      hidden = Mul(o:y:0, squashed:y:0) {T: float}

      box = ConcatV2(k1:output:0, rows1d:output:0, k2:output:0, axis:output:0) {N: 3, T: int32}
      matrix = BroadcastTo(hidden:z:0, box:output:0) {T: float}
      place = Pack($WRITTEN, zero:output:0, zero:output:0) {N: 3, T: int32}
      written = XlaDynamicUpdateSlice(ys, matrix:output:0, place:output:0)
          {T: float, Tindices: int32}
      later = AddV2(time, one:output:0) {T: int32}
    return (next = later:z:0, xs1 = xs, ys1 = written:output:0, u1 = u, w1 = w, b1 = b,
            h1 = hidden:z:0, c1 = cell:z:0, rows1 = rows)
  )",
                             {{"$STEPS", absl::StrCat(form.steps)},
                              {"$STEP", form.step},
                              {"$WRITTEN", form.written},
                              {"$LAST", form.last_column}});
}

// A graph with one loop, whose results are all outputs and the last states. The outputs lie in a
// tensor with room for `capacity` steps.
struct ScanGraph {
  explicit ScanGraph(const Form& form, int capacity = kTime) : g(FunctionsOf(form)) {
    const auto ints = [&](std::vector<int32_t> values) {
      return g.Const(Tensor::Vector<int32_t>(values));
    };
    const Endpoint x = g.Arg(DType::kFloat), h = g.Arg(DType::kFloat), c = g.Arg(DType::kFloat);
    const Endpoint shape = g.Op("Shape", {x}, {{"out_type", DType::kInt32}});
    const Endpoint rows = g.Op("StridedSlice", {shape, ints({1}), ints({2}), ints({1})},
                               {{"shrink_axis_mask", 1}, {"Index", DType::kInt32}});
    const Endpoint rows1d = g.Op("Reshape", {rows, ints({1})});
    const Endpoint axis = g.Const(Tensor::Scalar<int32_t>(0));
    const Endpoint size =
        g.Op("ConcatV2", {ints({capacity}), rows1d, ints({kUnits}), axis}, {{"N", 3}});
    const Endpoint zeros = g.Op("BroadcastTo", {g.Const(Tensor::Scalar<float>(0)), size});
    loop = g.OpNode(
        "StatelessWhile",
        {g.Const(Tensor::Scalar<int32_t>(0)), x, zeros, g.Const(Ramp({kUnits, 4 * kUnits}, 0.07f)),
         g.Const(Ramp({kInputs, 4 * kUnits}, -0.03f)), g.Const(Ramp({4 * kUnits}, 0.1f)), h, c,
         rows},
        {{"T", std::vector<DType>{DType::kInt32, DType::kFloat, DType::kFloat, DType::kFloat,
                                  DType::kFloat, DType::kFloat, DType::kFloat, DType::kFloat,
                                  DType::kInt32}},
         {"cond", FunctionRef{.name = "cond", .attrs = {}}},
         {"body", FunctionRef{.name = "body", .attrs = {}}}});
    for (const int i : {2, 6, 7}) g.Result({loop, i});
    args = {Ramp({kTime, kBatch, kInputs}, 0.013f), Ramp({kBatch, kUnits}, -0.1f),
            Ramp({kBatch, kUnits}, 0.2f)};
  }

  PassTestGraph g;
  Node* loop = nullptr;
  std::vector<Tensor> args;
};

TEST(FuseScanTest, Lstm) {
  ScanGraph scan({});
  EXPECT_TRUE(scan.g.ExpectSameResults(kFuse, scan.args, kTolerance));
  EXPECT_EQ(scan.g.CountOf("StatelessWhile"), 0);
  EXPECT_EQ(scan.g.CountOf("_LstmLoop"), 1);
}

TEST(FuseScanTest, OneRow) {
  ScanGraph scan({});
  scan.args = {Ramp({kTime, 1, kInputs}, 0.013f), Ramp({1, kUnits}, -0.1f),
               Ramp({1, kUnits}, 0.2f)};
  EXPECT_TRUE(scan.g.ExpectSameResults(kFuse, scan.args, kTolerance));
}

// What is not overwritten keeps its value.
TEST(FuseScanTest, OutputsWithRoomForMoreStepsStay) {
  ScanGraph scan({}, kTime + 1);
  EXPECT_FALSE(scan.g.Apply(kFuse));
}

TEST(FuseScanTest, FewerStepsThanTheTensorHasStay) {
  ScanGraph scan({.steps = kTime - 1});
  EXPECT_FALSE(scan.g.Apply(kFuse));
}

TEST(FuseScanTest, OtherStepsThanTheCountersStay) {
  ScanGraph read({.step = "zero:output:0"});
  EXPECT_FALSE(read.g.Apply(kFuse));
  ScanGraph written({.written = "zero:output:0"});
  EXPECT_FALSE(written.g.Apply(kFuse));
  ScanGraph by_rows({.step = "rows"});
  EXPECT_FALSE(by_rows.g.Apply(kFuse));
}

TEST(FuseScanTest, GatesOfOtherColumnsStay) {
  ScanGraph scan({.last_column = "k6"});
  EXPECT_FALSE(scan.g.Apply(kFuse));
}

}  // namespace
}  // namespace tessera
