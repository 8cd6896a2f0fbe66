#include "runtime/exec/planner.h"

#include <map>

#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "runtime/exec/testing/executor_test_ops.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/stream.h"
#include "runtime/graph/function.h"
#include "runtime/graph/testing/graph_text.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// An accelerator on paper: plans are made for it, and nothing runs.
class PaperStream final : public Stream {
 public:
  void Copy(const Tensor&, Tensor*) override {}
  void Zero(Tensor*) override {}
  void Then(Callback done) override { done(absl::OkStatus()); }
};

class PaperDevice final : public Device {
 public:
  PaperDevice(const std::string& name, bool has_memory) : Device(*DeviceName::Parse(name), 0) {
    if (has_memory) SetMemory(&stream_, HeapAllocator(), HeapAllocator());
  }

 private:
  PaperStream stream_;
};

class NoKernel final : public OpKernel {
 public:
  explicit NoKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext&) override { return absl::InternalError("only planned"); }
};
constexpr absl::string_view kPaper = "PAPER";
REGISTER_KERNEL("TestAdd", kPaper, NoKernel);
// Reads its second input on the host.
REGISTER_KERNEL("TestLess", kPaper, NoKernel).HostMemory("y");

constexpr char kCpu0[] = "/job:t/replica:0/task:0/device:CPU:0";
constexpr char kPaper0[] = "/job:t/replica:0/task:0/device:PAPER:0";

class PlannerTest : public testing::Test {
 protected:
  PlannerTest() { options_.devices = {&paper_, &cpu_}; }

  // A copy of the graph, as MakePlan() takes it.
  absl::StatusOr<Plan> PlanOf(const TestGraph& g) {
    PlanInput input;
    input.graph = g.graph.Clone();
    std::map<int64_t, Node*> args, results;
    for (Node* node : input.graph->nodes()) {
      if (node->IsOp("_Arg")) args[*node->attr<int64_t>("index")] = node;
      if (node->IsOp("_Retval")) results[*node->attr<int64_t>("index")] = node;
    }
    for (auto& [i, node] : args) input.args.push_back(node);
    for (auto& [i, node] : results) input.results.push_back(node);
    return MakePlan(std::move(input), options_);
  }

  static std::map<std::string, int> CountOps(const Graph& graph) {
    std::map<std::string, int> count;
    for (const Node* node : graph.nodes()) ++count[node->op_name()];
    return count;
  }

  PaperDevice cpu_{kCpu0, /*has_memory=*/false};
  PaperDevice paper_{kPaper0, /*has_memory=*/true};
  PlanOptions options_;
};

TEST_F(PlannerTest, ARunOnOneDeviceIsOnePartWithCopiesAtItsEnds) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  const Endpoint twice = g.Op("TestAdd", {x, x});
  g.Result(0, g.Op("TestAdd", {twice, g.Const(3)}));

  const auto plan = PlanOf(g);

  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->parts.size(), 1);
  EXPECT_EQ(plan->parts[0].device, kPaper0);
  const auto count = CountOps(*plan->parts[0].graph);
  // x is copied once for both its readers, the constant by nobody, the result once.
  EXPECT_EQ(count.at("_CopyToDevice"), 1);
  EXPECT_EQ(count.at("_CopyToHost"), 1);
  EXPECT_FALSE(count.contains("_Send"));
}

TEST_F(PlannerTest, AnArgumentDeclaredAsHostMemoryIsNotCopied) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32), y = g.Arg(1, DType::kInt32);
  g.Result(0, g.Op("TestLess", {g.Op("TestAdd", {x, x}), y}));

  const auto plan = PlanOf(g);

  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->parts.size(), 1);
  const Graph& graph = *plan->parts[0].graph;
  for (const Node* node : graph.nodes()) {
    if (!node->IsOp("TestLess")) continue;
    EXPECT_TRUE(node->input(1).node->IsOp("_Arg"));
    EXPECT_TRUE(node->input(0).node->IsOp("TestAdd"));
  }
  EXPECT_EQ(CountOps(graph).at("_CopyToDevice"), 1);
}

TEST_F(PlannerTest, AConstantWantedOnTheHostIsAHostConst) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  const Endpoint three = g.Const(3);
  g.Result(0, g.Op("TestLess", {g.Op("TestAdd", {x, three}), three}));

  const auto plan = PlanOf(g);

  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto count = CountOps(*plan->parts[0].graph);
  EXPECT_EQ(count.at("Const"), 1);
  EXPECT_EQ(count.at("HostConst"), 1);
}

TEST_F(PlannerTest, WhatOneDeviceCannotRunGoesToTheOther) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  // TestCount has a kernel on the CPU alone.
  const Endpoint counted = g.Op("TestCount", {g.Op("TestAdd", {x, g.Const(1)})});
  g.Result(0, g.Op("TestAdd", {counted, g.Const(1)}));

  const auto plan = PlanOf(g);

  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->parts.size(), 2);
  for (const Plan::Part& part : plan->parts) {
    const auto count = CountOps(*part.graph);
    EXPECT_EQ(count.at("_Send"), 1) << part.device;
    EXPECT_EQ(count.at("_Recv"), 1) << part.device;
    if (part.device == kCpu0) {
      EXPECT_EQ(count.at("TestCount"), 1);
      EXPECT_FALSE(count.contains("Const"));
    } else {
      EXPECT_EQ(part.device, kPaper0);
      EXPECT_EQ(count.at("TestAdd"), 2);
      EXPECT_EQ(count.at("_Arg"), 1);
      EXPECT_EQ(count.at("_Retval"), 1);
    }
  }
}

TEST_F(PlannerTest, AFunctionsValuesAreWhereItsCallerIs) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  g.Result(0, g.Op("TestAdd", {x, x}));
  options_.caller = &paper_;
  auto plan = PlanOf(g);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->parts.size(), 1);
  EXPECT_FALSE(CountOps(*plan->parts[0].graph).contains("_CopyToDevice"));
  EXPECT_FALSE(CountOps(*plan->parts[0].graph).contains("_CopyToHost"));

  options_.results_on_host = true;
  plan = PlanOf(g);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(CountOps(*plan->parts[0].graph).at("_CopyToHost"), 1);

  // A caller on the CPU has its body there, too.
  options_.caller = &cpu_;
  plan = PlanOf(g);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->parts.size(), 1);
  EXPECT_EQ(plan->parts[0].device, kCpu0);
}

TEST_F(PlannerTest, CallsAreInlinedBeforeNodesArePlaced) {
  const tensorflow::GraphDef functions = GraphFromText(R"(
    def twice(x: int32) -> (y: int32):
      sum = TestAdd(x, x)
    return (y = sum:z:0)
  )");
  TestGraph g;
  g.graph.set_library(*FunctionLibrary::Create(functions.library()));
  const Endpoint x = g.Arg(0, DType::kInt32);
  // The call has no kernel for the accelerator here, but what it calls has.
  g.Result(0, g.Op("PartitionedCall", {x},
                   {{"Tin", std::vector<DType>{DType::kInt32}},
                    {"Tout", std::vector<DType>{DType::kInt32}},
                    {"f", FunctionRef{"twice", {}}}}));

  const auto plan = PlanOf(g);

  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->parts.size(), 1);
  EXPECT_EQ(plan->parts[0].device, kPaper0);
  EXPECT_EQ(CountOps(*plan->parts[0].graph).at("TestAdd"), 1);
}

TEST_F(PlannerTest, ADeviceThatIsNotThereIsRefusedUnlessPlacementIsSoft) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  const Endpoint sum = g.Op("TestAdd", {x, x});
  sum.node->set_device("/device:GPU:7");
  g.Result(0, sum);
  EXPECT_TRUE(PlanOf(g).ok());
  options_.allow_soft_placement = false;
  const auto plan = PlanOf(g);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(plan.status().message().find("/device:GPU:7"), absl::string_view::npos);
}

REGISTER_OP("TestReadOnPaper").Input("v: resource").Output("y: int32").Reads("v");
REGISTER_KERNEL("TestReadOnPaper", kCpu, NoKernel);
REGISTER_KERNEL("TestReadOnPaper", kPaper, NoKernel);
REGISTER_OP("TestWriteOnCpu").Input("v: resource").Input("x: int32").Writes("v");
REGISTER_KERNEL("TestWriteOnCpu", kCpu, NoKernel);

constexpr char kWriteInFunction[] = R"(
  stateful def write(x: int32) -> (y: int32) {_noinline: true}:
    own = VarHandleOp() {dtype: int32, shape: <>, shared_name: "v"}
    write = TestWriteOnCpu(own:resource, x)
  return (y = x)
)";

TEST_F(PlannerTest, AVariableIsWhereEveryRunOfTheSessionCanUseIt) {
  const AttrMap variable = {
      {"dtype", DType::kInt32}, {"shape", PartialShape({})}, {"shared_name", std::string("v")}};
  // One run reads the variable, which either device could do; another writes it, in a function.
  TestGraph whole, reads;
  for (TestGraph* g : {&whole, &reads}) {
    g->Result(0, g->Op("TestReadOnPaper", {g->Op("VarHandleOp", {}, variable)}));
  }
  whole.graph.set_library(*FunctionLibrary::Create(GraphFromText(kWriteInFunction).library()));
  whole.Result(1, whole.Op("write", {whole.Const(1)}));

  ASSERT_EQ(PlanOf(reads)->parts[0].device, kPaper0) << "on its own";
  const auto places = PlaceResources(whole.graph, options_);
  ASSERT_TRUE(places.ok()) << places.status();
  EXPECT_EQ(*places, (ResourcePlaces{{"VarHandleOp /v", kCpu0}}));
  options_.resource_places = std::make_shared<ResourcePlaces>(*places);
  const auto plan = PlanOf(reads);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->parts[0].device, kCpu0);
}

// As a damaged graph may have it; compiling the call is what fails.
TEST_F(PlannerTest, ACallInAGraphWithoutFunctionsIsPlaced) {
  TestGraph g;
  const Endpoint v =
      g.Op("VarHandleOp", {}, {{"dtype", DType::kInt32}, {"shape", PartialShape({})}});
  g.Result(0, g.Op("PartitionedCall", {v},
                   {{"Tin", std::vector<DType>{DType::kResource}},
                    {"Tout", std::vector<DType>{DType::kInt32}},
                    {"f", FunctionRef{"gone", {}}}}));
  EXPECT_EQ(PlaceResources(g.graph, options_)->size(), 1);
  EXPECT_TRUE(PlanOf(g).ok());
}

TEST_F(PlannerTest, AResourceStaysWhereItIsWhenTheGraphGrows) {
  const AttrMap variable = {
      {"dtype", DType::kInt32}, {"shape", PartialShape({})}, {"shared_name", std::string("v")}};
  TestGraph g;
  g.Result(0, g.Op("TestReadOnPaper", {g.Op("VarHandleOp", {}, variable)}));
  options_.resource_places =
      std::make_shared<ResourcePlaces>(ResourcePlaces{{"VarHandleOp /v", kCpu0}});
  EXPECT_EQ(*PlaceResources(g.graph, options_), *options_.resource_places);
}

}  // namespace
}  // namespace tessera
