#include "runtime/optimize/fuse_recurrence.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

constexpr int kTime = 5, kBatch = 3, kInputs = 4, kUnits = 2;
constexpr double kTolerance = 1e-5;
const FuseRecurrencePass kFuse;

// A function in the notation of GraphFromText().
class Function {
 public:
  Function(const std::string& name, const std::vector<std::string>& types,
           const std::vector<std::string>& result_types)
      : text_(absl::StrCat("def ", name, "(", Arguments("a", types), ") -> (",
                           Arguments("r", result_types), "):\n")) {}

  // Adds a node, and returns the name of its first output, called `output` by the op.
  std::string Op(const std::string& op, const std::vector<std::string>& inputs,
                 const std::string& attrs, const std::string& output) {
    const std::string name = absl::StrCat("n", count_++);
    absl::StrAppend(&text_, name, " = ", op, "(", absl::StrJoin(inputs, ", "), ") {", attrs, "}\n");
    return absl::StrCat(name, ":", output, ":0");
  }
  std::string Float(const std::string& op, const std::vector<std::string>& inputs,
                    const std::string& output) {
    return Op(op, inputs, "T: float", output);
  }
  std::string Int(int value) {
    return Op("Const", {}, absl::StrCat("dtype: int32, value: int32(", value, ")"), "output");
  }
  std::string Number(float value) {
    return Op("Const", {}, absl::StrCat("dtype: float, value: float(", value, ")"), "output");
  }

  std::string Text(const std::vector<std::string>& results) const {
    std::vector<std::string> named;
    for (const std::string& result : results) {
      named.push_back(absl::StrCat("r", named.size(), " = ", result));
    }
    return absl::StrCat(text_, "return (", absl::StrJoin(named, ", "), ")\n");
  }

 private:
  static std::string Arguments(absl::string_view prefix, const std::vector<std::string>& types) {
    std::vector<std::string> named;
    for (const std::string& type : types) {
      named.push_back(absl::StrCat(prefix, named.size(), ": ", type));
    }
    return absl::StrJoin(named, ", ");
  }

  std::string text_;
  int count_ = 0;
};

// How a loop is written.
struct Form {
  bool is_gru = false;
  bool kernel_inside = true;
  bool last_only = false;
  float forget_bias = 0;
  std::string activation = "Tanh";
  bool masked = false;
  int limit = kTime;
};

std::string At(const std::string& first_output, int i) {
  return absl::StrCat(first_output.substr(0, first_output.size() - 1), i);
}

const char kIntType[] = "T: int32";
const char kElement[] = "element_dtype: float";

// Loop variables: time, input list, output list, recurrent, kernel, bias, h, c (of an LSTM).
std::string FunctionsOf(const Form& form) {
  std::vector<std::string> types = {"int32", "variant", "variant", "float",
                                    "float", "float",   "float"};
  if (!form.is_gru) types.push_back("float");
  Function cond("cond", types, {"bool"});
  const std::string less = cond.Op("Less", {"a0", cond.Int(form.limit)}, kIntType, "z");

  Function body("body", types, types);
  const std::string x = body.Op("TensorListGetItem", {"a1", "a0", body.Int(-1)}, kElement, "item");
  const std::string projected = form.kernel_inside ? body.Float("MatMul", {x, "a4"}, "product") : x;
  const std::string product = body.Float("MatMul", {"a6", "a3"}, "product");
  const auto split = [&](const std::string& sums, int parts) {
    return body.Op("Split", {body.Int(1), sums}, absl::StrCat("T: float, num_split: ", parts),
                   "output");
  };
  const auto sigmoid = [&](const std::string& sum) { return body.Float("Sigmoid", {sum}, "y"); };
  const auto mul = [&](const std::string& a, const std::string& b) {
    return body.Float("Mul", {a, b}, "z");
  };
  const auto add = [&](const std::string& a, const std::string& b) {
    return body.Float("AddV2", {a, b}, "z");
  };
  std::string h, c;
  if (form.is_gru) {
    const std::string inputs = split(body.Float("BiasAdd", {projected, "a5"}, "output"), 3);
    const std::string recurrent = split(body.Float("BiasAdd", {product, "a5"}, "output"), 3);
    const std::string z = sigmoid(add(inputs, recurrent));
    const std::string r = sigmoid(add(At(inputs, 1), At(recurrent, 1)));
    const std::string candidate =
        body.Float(form.activation, {add(At(inputs, 2), mul(r, At(recurrent, 2)))}, "y");
    const std::string rest = body.Float("Sub", {body.Number(1), z}, "z");
    h = add(mul(z, "a6"), mul(rest, candidate));
  } else {
    const std::string sums =
        split(body.Float("BiasAdd", {add(projected, product), "a5"}, "output"), 4);
    const std::string i = sigmoid(sums);
    std::string forget = At(sums, 1);
    if (form.forget_bias != 0) forget = add(forget, body.Number(form.forget_bias));
    c = add(mul(sigmoid(forget), "a7"), mul(i, body.Float(form.activation, {At(sums, 2)}, "y")));
    h = mul(sigmoid(At(sums, 3)), body.Float("Tanh", {c}, "y"));
  }
  if (form.masked) {
    const std::string keep = body.Op("Less", {"a0", body.Int(2)}, kIntType, "z");
    h = body.Float("SelectV2", {keep, h, "a6"}, "output");
  }
  const std::string index = form.last_only ? body.Int(0) : "a0";
  const std::string list =
      body.Op("TensorListSetItem", {"a2", index, h}, kElement, "output_handle");
  const std::string next = body.Op("AddV2", {"a0", body.Int(1)}, kIntType, "z");
  std::vector<std::string> results = {next, "a1", list, "a3", "a4", "a5", h};
  if (!form.is_gru) results.push_back(c);
  return cond.Text({less}) + body.Text(results);
}

// A graph with one loop, whose results are all outputs and the last states.
struct LoopGraph {
  explicit LoopGraph(const Form& form) : g(FunctionsOf(form)) {
    const int columns = (form.is_gru ? 3 : 4) * kUnits;
    const Endpoint x = g.Arg(DType::kFloat), h = g.Arg(DType::kFloat);
    args = {Ramp({kTime, kBatch, form.kernel_inside ? kInputs : columns}, 0.013f),
            Ramp({kBatch, kUnits}, -0.1f)};
    const Endpoint shape = g.Const(Tensor::Vector<int32_t>({kBatch, kUnits}));
    const Endpoint any = g.Const(Tensor::Scalar<int32_t>(-1));
    const Endpoint input = g.Op("TensorListFromTensor", {x, any},
                                {{"element_dtype", DType::kFloat}, {"shape_type", DType::kInt32}});
    const Endpoint size = g.Const(Tensor::Scalar<int32_t>(form.last_only ? 1 : kTime));
    const Endpoint output = g.Op("TensorListReserve", {shape, size},
                                 {{"element_dtype", DType::kFloat}, {"shape_type", DType::kInt32}});
    std::vector<Endpoint> inputs = {g.Const(Tensor::Scalar<int32_t>(0)),
                                    input,
                                    output,
                                    g.Const(Ramp({kUnits, columns}, 0.07f)),
                                    g.Const(Ramp({kInputs, columns}, -0.03f)),
                                    g.Const(Ramp({columns}, 0.1f)),
                                    h};
    std::vector<DType> types = {DType::kInt32, DType::kVariant, DType::kVariant, DType::kFloat,
                                DType::kFloat, DType::kFloat,   DType::kFloat};
    if (!form.is_gru) {
      const Endpoint c = g.Arg(DType::kFloat);
      args.push_back(Ramp({kBatch, kUnits}, 0.2f));
      inputs.push_back(c);
      types.push_back(DType::kFloat);
    }
    loop = g.OpNode("While", inputs,
                    {{"T", types},
                     {"cond", FunctionRef{.name = "cond", .attrs = {}}},
                     {"body", FunctionRef{.name = "body", .attrs = {}}}});
    g.Result(g.Op("TensorListStack", {{loop, 2}, shape}, {{"element_dtype", DType::kFloat}}));
    g.Result({loop, 6});
    if (!form.is_gru) g.Result({loop, 7});
  }

  PassTestGraph g;
  Node* loop = nullptr;
  std::vector<Tensor> args;
};

TEST(FuseRecurrenceTest, Lstm) {
  LoopGraph loop({});
  EXPECT_TRUE(loop.g.ExpectSameResults(kFuse, loop.args, kTolerance));
  EXPECT_EQ(loop.g.CountOf("While"), 0);
  EXPECT_EQ(loop.g.CountOf("TensorListStack"), 0);
  EXPECT_EQ(loop.g.CountOf("_LstmLoop"), 1);
}

TEST(FuseRecurrenceTest, LstmWhoseInputsAreProductsAlready) {
  LoopGraph loop({.kernel_inside = false});
  EXPECT_TRUE(loop.g.ExpectSameResults(kFuse, loop.args, kTolerance));
  EXPECT_EQ(loop.g.Only("_LstmLoop")->attr<int64_t>("num_kernels").value(), 0);
}

TEST(FuseRecurrenceTest, OnlyTheLastOutputIsWritten) {
  for (const bool is_gru : {false, true}) {
    LoopGraph loop({.is_gru = is_gru, .last_only = true});
    EXPECT_TRUE(loop.g.ExpectSameResults(kFuse, loop.args, kTolerance));
    EXPECT_EQ(loop.g.CountOf("While"), 0);
  }
}

TEST(FuseRecurrenceTest, ForgetBias) {
  LoopGraph loop({.forget_bias = 1});
  EXPECT_TRUE(loop.g.ExpectSameResults(kFuse, loop.args, kTolerance));
  EXPECT_EQ(loop.g.Only("_LstmLoop")->attr<float>("forget_bias").value(), 1.0f);
}

TEST(FuseRecurrenceTest, Gru) {
  for (const bool kernel_inside : {true, false}) {
    LoopGraph loop({.is_gru = true, .kernel_inside = kernel_inside});
    EXPECT_TRUE(loop.g.ExpectSameResults(kFuse, loop.args, kTolerance));
    EXPECT_EQ(loop.g.CountOf("_GruLoop"), 1);
  }
}

TEST(FuseRecurrenceTest, ALoopThatEndsEarlyLeavesZeros) {
  for (const int limit : {0, 3}) {
    LoopGraph loop({.limit = limit});
    EXPECT_TRUE(loop.g.ExpectSameResults(kFuse, loop.args, kTolerance)) << limit;
  }
}

TEST(FuseRecurrenceTest, ALoopBeyondTheEndOfItsInputFails) {
  LoopGraph loop({.limit = kTime + 1});
  EXPECT_TRUE(loop.g.Apply(kFuse));
  const auto results = loop.g.Run(loop.args);
  EXPECT_EQ(results.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(results.status().message().find("element 5 in a list with 5 elements"),
            absl::string_view::npos)
      << results.status();
}

TEST(FuseRecurrenceTest, OtherCellsStayLoops) {
  for (const bool is_gru : {false, true}) {
    LoopGraph relu({.is_gru = is_gru, .activation = "Elu"});
    EXPECT_FALSE(relu.g.Apply(kFuse));
    LoopGraph masked({.is_gru = is_gru, .masked = true});
    EXPECT_FALSE(masked.g.Apply(kFuse));
  }
}

TEST(FuseRecurrenceTest, ALoopWhoseCounterIsUsedStays) {
  LoopGraph loop({});
  loop.g.Result({loop.loop, 0});
  EXPECT_FALSE(loop.g.Apply(kFuse));
}

TEST(FuseRecurrenceTest, OneStateForTheWholeBatch) {
  // TensorFlow adds the row of the state to each row of the input.
  LoopGraph loop({});
  loop.args[1] = Ramp({1, kUnits}, 0.1f);
  loop.args[2] = Ramp({1, kUnits}, 0.3f);
  EXPECT_TRUE(loop.g.ExpectSameResults(kFuse, loop.args, kTolerance));
}

TEST(FuseRecurrenceTest, OneRowOfInputForAllStates) {
  for (const bool is_gru : {false, true}) {
    for (const bool last_only : {false, true}) {
      LoopGraph loop({.is_gru = is_gru, .last_only = last_only});
      const Shape x = loop.args[0].shape();
      loop.args[0] = Ramp({x.dim(0), 1, x.dim(2)}, 0.02f);
      EXPECT_TRUE(loop.g.ExpectSameResults(kFuse, loop.args, kTolerance));
    }
  }
}

}  // namespace
}  // namespace tessera
