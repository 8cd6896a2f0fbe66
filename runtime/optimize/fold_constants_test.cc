#include "runtime/optimize/fold_constants.h"

#include <fstream>
#include <limits>

#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/host/mapped_file.h"
#include "runtime/host/testing/mapping_state.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

TEST(FoldConstantsTest, ComputesChainsOfConstants) {
  PassTestGraph g;
  const Endpoint two = g.Const(Tensor::Vector<float>({2, 3}));
  const Endpoint sum = g.Op("AddV2", {two, two});
  const Endpoint product = g.Op("Mul", {sum, two});
  g.Result(g.Op("AddV2", {g.Arg(DType::kFloat), product}));
  EXPECT_TRUE(g.ExpectSameResults(FoldConstantsPass(), {Tensor::Vector<float>({1, 1})}));
  EXPECT_EQ(g.CountOf("Mul"), 0);
  EXPECT_EQ(g.CountOf("AddV2"), 1);
  EXPECT_FALSE(g.Apply(FoldConstantsPass()));
}

TEST(FoldConstantsTest, AllOutputsOfANodeAreReplaced) {
  PassTestGraph g;
  Node* split = g.OpNode("Split", {g.Const(Tensor::Scalar(0)), g.Const(Ramp({4}, 1))},
                         {{"T", DType::kFloat}, {"num_split", 2}});
  g.Result({split, 1});
  g.Result({split, 0});
  EXPECT_TRUE(g.ExpectSameResults(FoldConstantsPass(), {}));
  EXPECT_EQ(g.CountOf("Split"), 0);
}

TEST(FoldConstantsTest, LeavesWhatVariesOrWaits) {
  PassTestGraph g;
  const Endpoint one = g.Const(Tensor::Scalar(1.0f));
  const Endpoint waiting = g.Op("Neg", {one});
  g.graph.AddControlEdge(g.Arg(DType::kFloat).node, waiting.node);
  const Endpoint shape = g.Const(Tensor::Vector<int32_t>({2}));
  const Endpoint random = g.Op("RandomUniform", {shape}, {{"dtype", DType::kFloat}});
  g.Result(waiting);
  g.Result(random);
  EXPECT_FALSE(g.Apply(FoldConstantsPass()));
  EXPECT_EQ(g.CountOf("Neg"), 1);
  EXPECT_EQ(g.CountOf("RandomUniform"), 1);
}

// The same kernel under declarations that say different things about it.
class CopyKernel : public OpKernel {
 public:
  explicit CopyKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, ctx.input(0));
    return absl::OkStatus();
  }
};
REGISTER_OP("TestPlain").Input("x: float").Output("y: float");
REGISTER_KERNEL("TestPlain", kCpu, CopyKernel);
REGISTER_OP("TestClock").Input("x: float").Output("y: float").ReadsOutside();
REGISTER_KERNEL("TestClock", kCpu, CopyKernel);
REGISTER_OP("TestSilent").Input("x: float").Output("y: float").Stateful();
REGISTER_KERNEL("TestSilent", kCpu, CopyKernel);

TEST(FoldConstantsTest, TraitsAndSilenceAboutStateKeepANodeFromBeingFolded) {
  PassTestGraph g;
  for (const char* op : {"TestPlain", "TestClock", "TestSilent"}) {
    g.Result(g.Op(op, {g.Const(Tensor::Scalar(1.0f))}));
  }
  EXPECT_TRUE(g.ExpectSameResults(FoldConstantsPass(), {}));
  EXPECT_EQ(g.CountOf("TestPlain"), 0);
  EXPECT_EQ(g.CountOf("TestClock"), 1);
  EXPECT_EQ(g.CountOf("TestSilent"), 1);
}

TEST(FoldConstantsTest, AConstantOfABranchIsNone) {
  PassTestGraph g;
  Node* branch = g.OpNode("Switch", {g.Arg(DType::kFloat), g.Arg(DType::kBool)});
  const Endpoint one = g.Const(Tensor::Scalar(1.0f));
  g.graph.AddControlEdge(branch, one.node);
  g.Result(g.Op("Neg", {one}));
  EXPECT_FALSE(g.Apply(FoldConstantsPass()));
  EXPECT_EQ(g.CountOf("Neg"), 1);
}

TEST(FoldConstantsTest, AConstantOfAnotherTypeThanItsAttributeFailsInTheRunOnly) {
  PassTestGraph g;
  const Endpoint wrong = g.Op("Const", {}, {{"dtype", DType::kInt32}, {"value", Ramp({2}, 1)}});
  g.Result(g.Op("Neg", {wrong}));
  EXPECT_FALSE(g.Apply(FoldConstantsPass()));
  EXPECT_EQ(g.Run({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FoldConstantsTest, DenormalsAreZeroInConstantsAsInRuns) {
  PassTestGraph g;
  g.Result(g.Op("Log", {g.Const(Tensor::Scalar(1e-40f))}));
  const auto before = g.Run({});
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ((*before)[0].scalar<float>(), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(g.ExpectSameResults(FoldConstantsPass(), {}));
  EXPECT_EQ(g.CountOf("Log"), 0);
}

TEST(FoldConstantsTest, AFailingKernelFailsInTheRunOnly) {
  PassTestGraph g;
  g.Result(g.Op("MatMul", {g.Const(Ramp({2, 3}, 1)), g.Const(Ramp({2, 3}, 1))}));
  EXPECT_FALSE(g.Apply(FoldConstantsPass()));
  EXPECT_EQ(g.Run({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FoldConstantsTest, ResultsThatAreLargeForWhatTheyComeFromAreNotKept) {
  PassTestGraph g;
  auto fill = [&](int32_t size) {
    return g.Op("Fill", {g.Const(Tensor::Vector<int32_t>({size})), g.Const(Tensor::Scalar(1.0f))},
                {{"T", DType::kFloat}});
  };
  g.Result(fill(1000));
  g.Result(fill(1 << 16));
  g.Result(g.Op("Neg", {g.Const(Ramp({1 << 16}, 1))}));
  EXPECT_TRUE(g.ExpectSameResults(FoldConstantsPass(), {}));
  EXPECT_EQ(g.CountOf("Fill"), 1);
  EXPECT_EQ(g.CountOf("Neg"), 0);
}

TEST(FoldConstantsTest, WeightsOfInt8BecomeFloats) {
  PassTestGraph g;
  Tensor weights = Tensor::Zeros(DType::kInt8, {512, 256}).value();
  weights.data<int8_t>()[3] = -7;
  const Endpoint wide =
      g.Op("Cast", {g.Const(weights)}, {{"SrcT", DType::kInt8}, {"DstT", DType::kFloat}});
  g.Result(g.Op("Mul", {g.Arg(DType::kFloat), wide}));
  EXPECT_TRUE(g.ExpectSameResults(FoldConstantsPass(), {Tensor::Scalar(0.5f)}));
  EXPECT_EQ(g.CountOf("Cast"), 0);
}

TEST(FoldConstantsTest, PagesThatNothingNeedsLeaveMemory) {
  const std::string path = JoinPath(::testing::TempDir(), "weights");
  const Tensor values = Ramp({1 << 16}, 1);
  std::ofstream(path).write(values.raw(), values.size_bytes());
  if (!CanGuard(path)) GTEST_SKIP() << "needs leases on files";
  for (const bool is_needed : {false, true}) {
    const auto file = *MappedFile::Open(path);
    const Tensor mapped =
        Tensor::View(DType::kFloat, values.shape(), MapBuffer(file, 0, values.size_bytes()));
    PassTestGraph g;
    const Endpoint weights = g.Const(mapped);
    g.Result(g.Op("Neg", {weights}));
    if (is_needed) g.Result(weights);
    EXPECT_TRUE(g.Apply(FoldConstantsPass()));
    EXPECT_EQ(ResidentSize(mapped.raw()) > 0, is_needed);
  }
}

TEST(FoldConstantsTest, ANodeThatIsAskedForIsFoldedWhateverItsSize) {
  PassTestGraph g;
  ThreadPool pool({.name = "test", .num_threads = 3});
  g.item.pool = &pool;
  const Endpoint large = g.Op("Neg", {g.Const(Ramp({3 << 20}, 1))});
  const Endpoint varying = g.Op("Neg", {g.Arg(DType::kFloat)});
  g.Result(large);
  g.Result(varying);
  EXPECT_FALSE(g.Apply(FoldConstantsPass())) << "12 MiB";
  EXPECT_FALSE(*FoldNode(g.item, varying.node));
  EXPECT_TRUE(*FoldNode(g.item, large.node));
  EXPECT_EQ(g.CountOf("Neg"), 1);
  const auto results = g.Run({Tensor::Scalar(1.f)});
  EXPECT_EQ((*results)[0].flat<float>().back(), 1 - (3 << 20));
}

}  // namespace
}  // namespace tessera
