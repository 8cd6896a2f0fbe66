#include "runtime/session/inspect.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/op.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/session/saved_model.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kHalfPlusTwo[] = "tests/data/tfserving/half_plus_two/00000123";

absl::Status Load(const std::string& directory, const std::set<std::string>& tags) {
  return LoadSavedModel(directory, tags, {}).status();
}

class NoKernel : public OpKernel {
 public:
  explicit NoKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext&) override { return absl::OkStatus(); }
};
REGISTER_KERNEL("InspectTestUndeclared", kCpu, NoKernel);
REGISTER_OP("InspectTestOnCpu");
REGISTER_KERNEL("InspectTestOnCpu", kCpu, NoKernel);
REGISTER_OP("InspectTestOnGpu");
REGISTER_KERNEL("InspectTestOnGpu", kCpu, NoKernel);
REGISTER_KERNEL("InspectTestOnGpu", kGpu, NoKernel);

class InspectTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/inspect_XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(directory_); }

  // Inspects the GraphDef with this text.
  GraphCensus OfGraph(const std::string& text) {
    const std::string path = directory_ + "/graph.pbtxt";
    std::ofstream(path) << GraphFromText(text).DebugString();
    inspection_ = Inspect(path, Load).value();
    return inspection_.graph.value().census;
  }

  Inspection inspection_;

  std::string directory_;
};

TEST_F(InspectTest, SavedModelThatLoads) {
  const Inspection inspection = Inspect(kHalfPlusTwo, Load).value();
  ASSERT_EQ(inspection.meta_graphs.size(), 1);
  const InspectedMetaGraph& meta_graph = inspection.meta_graphs[0];
  EXPECT_TRUE(meta_graph.load.ok()) << meta_graph.load;
  EXPECT_EQ(meta_graph.census.NumOpsWithoutKernel(), 0);
  EXPECT_TRUE(Usability(inspection).ok());
  EXPECT_EQ(meta_graph.signatures.back().name, "serving_default");
  EXPECT_EQ(meta_graph.signatures.back().inputs[0].place, "x:0");
  EXPECT_EQ(inspection.checkpoint.value().variables.size(), 3);
  EXPECT_EQ(inspection.checkpoint->bytes, 12);
}

TEST_F(InspectTest, SavedModelThatDoesNotLoadIsDescribedWithTheError) {
  fs::copy(kHalfPlusTwo, directory_, fs::copy_options::recursive);
  fs::permissions(directory_ + "/variables", fs::perms::owner_all, fs::perm_options::add);
  fs::remove(directory_ + "/variables/variables.data-00000-of-00001");
  const Inspection inspection = Inspect(directory_, Load).value();
  EXPECT_FALSE(inspection.meta_graphs[0].load.ok());
  EXPECT_EQ(inspection.meta_graphs[0].census.NumOpsWithoutKernel(), 0);
  EXPECT_EQ(Usability(inspection), inspection.meta_graphs[0].load);
}

TEST_F(InspectTest, SavedModelWithoutAMetaGraphIsOfNoUse) {
  std::ofstream(directory_ + "/saved_model.pb").flush();
  const Inspection inspection = Inspect(directory_, Load).value();
  EXPECT_TRUE(inspection.meta_graphs.empty());
  EXPECT_EQ(Usability(inspection).code(), absl::StatusCode::kNotFound);
}

TEST_F(InspectTest, NodesWhoseTypesNoKernelTakesAreListed) {
  const GraphCensus census = OfGraph(R"(
    x = Placeholder() {dtype: string}
    i = Placeholder() {dtype: int32}
    good = UpperBound(i, i) {T: int32}
    bad = UpperBound(x, x) {T: string}
  )");
  EXPECT_EQ(census.NumOpsWithoutKernel(), 1);
  EXPECT_THAT(census.ops.at("UpperBound").without_kernel, ElementsAre("bad"));
  EXPECT_THAT(census.ops.at("UpperBound").detail, HasSubstr("op UpperBound has no kernel for T="));
  EXPECT_EQ(Usability(inspection_), absl::FailedPreconditionError("1 op has no kernel"));
}

TEST_F(InspectTest, CallsOfPythonAreToldApartFromCustomOps) {
  const GraphCensus census = TakeCensus(GraphFromText(R"(
    f = EagerPyFunc()
    g = Custom()
  )"));
  EXPECT_THAT(census.ops.at("EagerPyFunc").detail, HasSubstr("a call of Python code"));
  EXPECT_EQ(census.ops.at("Custom").detail, "");
}

TEST_F(InspectTest, FunctionsGivenToFunctionsAreCalled) {
  tensorflow::GraphDef graph = GraphFromText(R"(
    def given():
      g = Custom()
    return ()

    def calls_given():
      c = PartitionedCall() {f: $f}
    return ()

    call = PartitionedCall() {f: @calls_given}
  )");
  tensorflow::NameAttrList* const called =
      (*graph.mutable_node(0)->mutable_attr())["f"].mutable_func();
  (*called->mutable_attr())["f"].mutable_func()->set_name("given");
  const GraphCensus census = TakeCensus(graph);
  EXPECT_EQ(census.num_functions, 2);
  ASSERT_EQ(census.ops.count("Custom"), 1);
  EXPECT_THAT(census.ops.at("Custom").without_kernel, ElementsAre("given/g"));
}

TEST_F(InspectTest, OpsWithoutAKernelOnGpusAreTold) {
  const tensorflow::GraphDef graph = GraphFromText(R"(
    c = InspectTestOnCpu()
    g = InspectTestOnGpu()
    n = NoOp()
  )");
  const GraphCensus with = TakeCensus(graph, /*has_gpus=*/true);
  EXPECT_EQ(with.NumOpsWithoutGpuKernel(), 1);
  EXPECT_THAT(with.ops.at("InspectTestOnCpu").without_gpu_kernel, ElementsAre("c"));
  EXPECT_EQ(TakeCensus(graph).NumOpsWithoutGpuKernel(), 0);
}

TEST_F(InspectTest, OpWithoutDeclarationHasNoUsableKernel) {
  const GraphCensus census = OfGraph("a = InspectTestUndeclared()");
  EXPECT_EQ(census.ops.at("InspectTestUndeclared").detail,
            "op InspectTestUndeclared has a kernel but no declaration");
}

TEST_F(InspectTest, FunctionsThatNothingCallsAreNotCounted) {
  // f is called by an attribute and calls g by its name; h is a copy that nothing calls.
  const GraphCensus census = OfGraph(R"(
  def f():
    a = InspectTestUndeclared()
    b = g()
  return ()

  def g():
    c = NoOp()
  return ()

  def h():
    a = InspectTestUndeclared()
    b = g()
  return ()

  call = PartitionedCall() {f: @f}
)");
  EXPECT_EQ(census.num_functions, 2);
  EXPECT_EQ(census.num_function_nodes, 3);
  EXPECT_THAT(census.ops.at("InspectTestUndeclared").nodes, ElementsAre("f/a"));
  EXPECT_EQ(census.ops.count("g"), 0);
}

TEST_F(InspectTest, TypesThatAFunctionTakesFromItsCallerAreNoObstacle) {
  const GraphCensus census = OfGraph(R"(
  def f():
    y = MatMul(x, x) {T: $T}
  return ()

  call = PartitionedCall() {f: @f}
)");
  EXPECT_THAT(census.ops.at("MatMul").nodes, ElementsAre("f/y"));
  EXPECT_THAT(census.ops.at("MatMul").without_kernel, IsEmpty());
}

}  // namespace
}  // namespace tessera
