#include "runtime/exec/function_runtime.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "runtime/device/cpu/cpu_device.h"
#include "runtime/exec/missing_kernels.h"
#include "runtime/exec/testing/executor_test_ops.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/graph/testing/graph_text.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

REGISTER_OP("TestRefuse").Input("x: int32").Output("z: int32");

class RefuseKernel : public OpKernel {
 public:
  explicit RefuseKernel(const KernelBuild& build) {
    build.Fail(absl::InvalidArgumentError("attribute refused"));
  }
  absl::Status Compute(KernelContext&) override { return absl::OkStatus(); }
};
REGISTER_KERNEL("TestRefuse", kCpu, RefuseKernel);

// double: x + x. count: counts x down to 0 by calling itself. forever: calls itself without end.
// waits, fails: what their names say. lacks: an op without kernel. refuses: one whose kernel
// refuses its attributes.
constexpr char kLibrary[] = R"(
  def double(x: int32) -> (y: int32):
    sum = TestAdd(x, x)
  return (y = sum:z:0)

  def weigh(i: int32, x: int32) -> (y: int32):
    twice = TestAdd(x, x)
    thrice = TestAdd(twice:z:0, x)
    sum = TestAdd(thrice:z:0, i)
  return (y = sum:z:0)

  def to_zero(x: int32) -> (y: int32):
    minus_one = Const() {dtype: int32, value: int32(-1)}
    less = TestAdd(x, minus_one:output:0)
    if = If(x, less:z:0) {Tcond: int32, Tin: [int32], Tout: [int32], else_branch: @same,
        then_branch: @to_zero}
  return (y = if:output:0)

  def same(x: int32) -> (y: int32):
  return (y = x)

  def forever(x: int32) -> (y: int32):
    again = forever(x)
  return (y = again:y:0)

  def waits(x: int32) -> (y: int32):
    later = TestLater(x)
  return (y = later:z:0)

  def fails(x: int32) -> (y: int32):
    inner = TestFail(x)
  return (y = inner:z:0)

  def lacks(x: int32) -> (y: int32):
    lost = TestNoKernel(x)
  return (y = lost:z:0)

  def refuses(x: int32) -> (y: int32):
    bad = TestRefuse(x)
  return (y = bad:z:0)

  def refuses_number(i: int32, x: int32) -> (y: int32):
    bad = TestRefuse(x)
  return (y = bad:z:0)

  def below_ten(x: int32) -> (y: bool):
    ten = Const() {dtype: int32, value: int32(10)}
    less = TestLess(x, ten:output:0)
  return (y = less:z:0)

  def identity(x: $T) -> (y: $T):
    id = Identity(x) {T: $T}
  return (y = id:output:0)
)";

Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }

// level_0 calls level_1, and so on; the last gives back what it gets. None may be inlined.
std::string Levels(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, "def level_", i, "(x: int32) -> (y: int32) {_noinline: true}: ");
    if (i + 1 < count) {
      absl::StrAppend(&text, "n = level_", i + 1, "(x) return (y = n:y:0) ");
    } else {
      absl::StrAppend(&text, "return (y = x) ");
    }
  }
  return text;
}

class FunctionRuntimeTest : public ::testing::Test {
 protected:
  static constexpr int kLevels = 1000;

  FunctionRuntimeTest() {
    library_ =
        *FunctionLibrary::Create(GraphFromText(absl::StrCat(kLibrary, Levels(kLevels))).library());
    DeviceName name = *DeviceName::Parse("/job:localhost/replica:0/task:0/device:CPU:0");
    device_ = std::make_unique<CpuDevice>(std::move(name));
    LocalFunctionRuntime::Options options;
    options.library = library_;
    options.planning.devices = {device_.get()};
    runtime_ = std::make_unique<LocalFunctionRuntime>(std::move(options));
  }

  absl::StatusOr<std::vector<Tensor>> Call(const std::string& function, Tensor x) {
    auto callable = runtime_->Instantiate({function, {}}, {});
    if (!callable.ok()) return callable.status();
    TestStep step;
    std::vector<Tensor> results;
    const absl::Status status = (*callable)->Call(step.context, {x}, &results);
    if (!status.ok()) return status;
    return results;
  }

  // Runs a graph of one node that calls functions.
  absl::StatusOr<std::vector<Tensor>> RunNode(TestGraph& g, const std::vector<Tensor>& args) {
    CompileOptions options;
    options.device = device_.get();
    options.functions = runtime_.get();
    absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, options);
    if (!executor.ok()) return executor.status();
    TestStep step;
    std::vector<Tensor> results;
    RunArgs run;
    run.args = args;
    run.results = &results;
    const absl::Status status = (*executor)->Run(step.context, run);
    if (!status.ok()) return status;
    return results;
  }

  std::shared_ptr<const FunctionLibrary> library_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<LocalFunctionRuntime> runtime_;
};

TEST_F(FunctionRuntimeTest, CallsABody) {
  absl::StatusOr<std::vector<Tensor>> results = Call("double", Int(21));
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].scalar<int32_t>(), 42);
}

TEST_F(FunctionRuntimeTest, CompilesOncePerAttributes) {
  auto a = runtime_->Instantiate({"identity", {{"T", DType::kInt32}}}, {});
  auto b = runtime_->Instantiate({"identity", {{"T", DType::kInt32}, {"_noise", int64_t{1}}}}, {});
  auto c = runtime_->Instantiate({"identity", {{"T", DType::kFloat}}}, {});
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ(*a, *b);
  EXPECT_NE(*a, *c);
}

TEST_F(FunctionRuntimeTest, UnknownFunctionIsNotFound) {
  EXPECT_EQ(runtime_->Instantiate({"nobody", {}}, {}).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FunctionRuntimeTest, RecursionEnds) {
  absl::StatusOr<std::vector<Tensor>> results = Call("to_zero", Int(300));
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].scalar<int32_t>(), -1);
}

TEST_F(FunctionRuntimeTest, EndlessRecursionIsAnError) {
  const absl::Status status = Call("forever", Int(1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'forever'"));
  EXPECT_LT(status.message().size(), 1000u) << "one frame of the recursion is enough";
}

TEST_F(FunctionRuntimeTest, FunctionsTooDeepToCompileAreAnError) {
  const std::string nearly_last = absl::StrCat("level_", kLevels - 100);
  EXPECT_EQ((*Call(nearly_last, Int(3)))[0].scalar<int32_t>(), 3);
  EXPECT_EQ(Call("level_0", Int(3)).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(FunctionRuntimeTest, ErrorNamesCallerAndNode) {
  TestGraph g;
  g.Result(0, g.Op("PartitionedCall", {g.Arg(0, DType::kInt32)},
                   {{"Tin", std::vector<DType>{DType::kInt32}},
                    {"Tout", std::vector<DType>{DType::kInt32}},
                    {"f", FunctionRef{"fails", {}}}},
                   "outer"));
  EXPECT_EQ(RunNode(g, {Int(1)}).status().message(), "{{node outer}} {{node inner}} told to fail");
}

TEST_F(FunctionRuntimeTest, MissingKernelsInFunctionsAreListedWithThoseOutside) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  g.Result(0, g.Op("PartitionedCall", {x},
                   {{"Tin", std::vector<DType>{DType::kInt32}},
                    {"Tout", std::vector<DType>{DType::kInt32}},
                    {"f", FunctionRef{"lacks", {}}}}));
  g.Result(1, g.Op("TestNoKernel", {x}, {}, "outside"));
  const absl::Status status = RunNode(g, {Int(1)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("TestNoKernel (nodes 'lacks/lost', 'outside')"));
}

TEST(MissingKernelsTest, NamesMayHoldAnything) {
  MissingKernels inner, outer;
  inner.Add("Tab\tbed\n", "a\tb", "\\t");
  ASSERT_TRUE(outer.Merge(inner.ToStatus(), "f/"));
  EXPECT_THAT(std::string(outer.ToStatus().message()),
              HasSubstr("1 op has no kernel: Tab\tbed\n (node 'f/a\tb': \\t)"));
}

TEST(MissingKernelsTest, CallsOfPythonAreToldApartFromCustomOps) {
  MissingKernels missing;
  missing.Add("EagerPyFunc", "f", "");
  missing.Add("Custom", "g", "");
  const std::string message(missing.ToStatus().message());
  EXPECT_THAT(message,
              HasSubstr("Custom (node 'g'), EagerPyFunc (node 'f': a call of Python code"));
}

TEST_F(FunctionRuntimeTest, WhileCallsItsBodyAsLongAsItsConditionHolds) {
  for (const char* const op : {"While", "XlaWhile"}) {
    TestGraph g;
    g.Result(0, g.Op(op, {g.Arg(0, DType::kInt32)},
                     {{"T", std::vector<DType>{DType::kInt32}},
                      {"cond", FunctionRef{"below_ten", {}}},
                      {"body", FunctionRef{"double", {}}}}));
    absl::StatusOr<std::vector<Tensor>> results = RunNode(g, {Int(3)});
    ASSERT_TRUE(results.ok()) << op << ": " << results.status();
    EXPECT_EQ((*results)[0].scalar<int32_t>(), 12) << op;
  }
}

TEST_F(FunctionRuntimeTest, ForCallsItsBodyWithEachNumber) {
  TestGraph g;
  std::vector<Endpoint> inputs;
  for (int i = 0; i < 4; ++i) inputs.push_back(g.Arg(i, DType::kInt32));
  g.Result(0, g.Op("For", inputs,
                   {{"T", std::vector<DType>{DType::kInt32}}, {"body", FunctionRef{"weigh", {}}}}));
  const auto run = [&](int start, int limit, int delta, int x = 1) {
    return RunNode(g, {Int(start), Int(limit), Int(delta), Int(x)});
  };
  // weigh(i, x) = 3 x + i: the order of the numbers shows.
  EXPECT_EQ(run(0, 3, 1).value()[0].scalar<int32_t>(), 32);
  EXPECT_EQ(run(3, 0, -2).value()[0].scalar<int32_t>(), 19);
  EXPECT_EQ(run(0, 7, 5).value()[0].scalar<int32_t>(), 14);
  EXPECT_EQ(run(2147483646, 2147483647, 5, -1).value()[0].scalar<int32_t>(), 2147483643)
      << "the number after the last one is beyond 32 bits";
  EXPECT_EQ(run(4, 4, 0).value()[0].scalar<int32_t>(), 1);
  for (const auto& [start, limit, delta] :
       std::vector<std::tuple<int, int, int>>{{5, 4, 1}, {0, 3, 0}, {0, 3, -1}}) {
    EXPECT_EQ(run(start, limit, delta).status().code(), absl::StatusCode::kInvalidArgument)
        << start << ' ' << limit << ' ' << delta;
  }
}

TEST_F(FunctionRuntimeTest, IfCallsTheBranchThatItsConditionChooses) {
  for (const char* const op : {"If", "StatelessIf", "XlaIf"}) {
    for (const int32_t condition : {0, 1}) {
      TestGraph g;
      const Endpoint cond = g.Arg(0, DType::kInt32), x = g.Arg(1, DType::kInt32);
      g.Result(0, g.Op(op, {cond, x},
                       {{"Tcond", DType::kInt32},
                        {"Tin", std::vector<DType>{DType::kInt32}},
                        {"Tout", std::vector<DType>{DType::kInt32}},
                        {"then_branch", FunctionRef{"double", {}}},
                        {"else_branch", FunctionRef{"to_zero", {}}}}));
      absl::StatusOr<std::vector<Tensor>> results = RunNode(g, {Int(condition), Int(4)});
      ASSERT_TRUE(results.ok()) << op << ": " << results.status();
      EXPECT_EQ((*results)[0].scalar<int32_t>(), condition == 0 ? -1 : 8) << op;
    }
  }
}

TEST_F(FunctionRuntimeTest, AttributesThatABranchRefusesAreAnErrorOfTheCallThatTakesIt) {
  const FunctionRef refuses{"refuses", {}}, fine{"double", {}};
  for (const char* const op : {"If", "Case"}) {
    TestGraph g;
    const Endpoint choice = g.Arg(0, DType::kInt32), x = g.Arg(1, DType::kInt32);
    AttrMap attrs{{"Tcond", DType::kInt32},
                  {"Tin", std::vector<DType>{DType::kInt32}},
                  {"Tout", std::vector<DType>{DType::kInt32}},
                  {"then_branch", fine},
                  {"else_branch", refuses}};
    if (op == std::string("Case")) {
      attrs = {{"Tin", std::vector<DType>{DType::kInt32}},
               {"Tout", std::vector<DType>{DType::kInt32}},
               {"branches", std::vector<FunctionRef>{refuses, fine}}};
    }
    g.Result(0, g.Op(op, {choice, x}, attrs, "choose"));
    absl::StatusOr<std::vector<Tensor>> results = RunNode(g, {Int(1), Int(4)});
    ASSERT_TRUE(results.ok()) << op << ": " << results.status();
    EXPECT_EQ((*results)[0].scalar<int32_t>(), 8) << op;
    const absl::Status refused = RunNode(g, {Int(0), Int(4)}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << op;
    EXPECT_EQ(refused.message(),
              "{{node choose}} in function 'refuses': {{node bad}} attribute refused");
  }
}

TEST_F(FunctionRuntimeTest, AttributesThatABodyRefusesAreAnErrorOfTheFirstTurn) {
  TestGraph loop;
  loop.Result(0, loop.Op("While", {loop.Arg(0, DType::kInt32)},
                         {{"T", std::vector<DType>{DType::kInt32}},
                          {"cond", FunctionRef{"below_ten", {}}},
                          {"body", FunctionRef{"refuses", {}}}}));
  absl::StatusOr<std::vector<Tensor>> results = RunNode(loop, {Int(12)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].scalar<int32_t>(), 12);
  EXPECT_EQ(RunNode(loop, {Int(3)}).status().code(), absl::StatusCode::kInvalidArgument);

  TestGraph numbers;
  std::vector<Endpoint> inputs;
  for (int i = 0; i < 4; ++i) inputs.push_back(numbers.Arg(i, DType::kInt32));
  numbers.Result(0, numbers.Op("For", inputs,
                               {{"T", std::vector<DType>{DType::kInt32}},
                                {"body", FunctionRef{"refuses_number", {}}}}));
  results = RunNode(numbers, {Int(5), Int(5), Int(1), Int(12)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].scalar<int32_t>(), 12);
  EXPECT_EQ(RunNode(numbers, {Int(5), Int(6), Int(1), Int(12)}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(FunctionRuntimeTest, MissingKernelsInBranchesAreErrorsOfTheLoad) {
  TestGraph g;
  const Endpoint cond = g.Arg(0, DType::kInt32), x = g.Arg(1, DType::kInt32);
  g.Result(0, g.Op("If", {cond, x},
                   {{"Tcond", DType::kInt32},
                    {"Tin", std::vector<DType>{DType::kInt32}},
                    {"Tout", std::vector<DType>{DType::kInt32}},
                    {"then_branch", FunctionRef{"double", {}}},
                    {"else_branch", FunctionRef{"lacks", {}}}}));
  const absl::Status status = RunNode(g, {Int(1), Int(4)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("TestNoKernel (node 'lacks/lost')"));
}

TEST_F(FunctionRuntimeTest, BodyThatWaitsMakesItsCallerWaitWithoutAThread) {
  ASSERT_TRUE((*runtime_->Instantiate({"waits", {}}, {}))->may_wait());
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  g.Result(0, g.Op("PartitionedCall", {x},
                   {{"Tin", std::vector<DType>{DType::kInt32}},
                    {"Tout", std::vector<DType>{DType::kInt32}},
                    {"f", FunctionRef{"waits", {}}}}));
  CompileOptions options;
  options.device = device_.get();
  options.functions = runtime_.get();
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, options);
  ASSERT_TRUE(executor.ok()) << executor.status();
  EXPECT_TRUE((*executor)->may_wait());
  absl::StatusOr<std::vector<Tensor>> results = RunNode(g, {Int(8)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].scalar<int32_t>(), 8);
}

TEST_F(FunctionRuntimeTest, ArgumentsOfAnotherTypeAreRefused) {
  TestGraph g;
  g.Result(0, g.Op("PartitionedCall", {g.Arg(0, DType::kFloat)},
                   {{"Tin", std::vector<DType>{DType::kFloat}},
                    {"Tout", std::vector<DType>{DType::kInt32}},
                    {"f", FunctionRef{"double", {}}}},
                   "call"));
  const absl::Status status = RunNode(g, {Tensor::Scalar(1.0f)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("{{node call}} argument 0"));
}

TEST_F(FunctionRuntimeTest, WrongNumberOfArgumentsIsRefusedWhenCompiled) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  g.Result(0, g.Op("PartitionedCall", {x, x},
                   {{"Tin", std::vector<DType>{DType::kInt32, DType::kInt32}},
                    {"Tout", std::vector<DType>{DType::kInt32}},
                    {"f", FunctionRef{"double", {}}}},
                   "call"));
  const absl::Status status = RunNode(g, {Int(1)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("{{node call}}"));
}

}  // namespace
}  // namespace tessera
