#include "runtime/exec/executor.h"

#include <limits>
#include <thread>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/status.h"
#include "runtime/exec/step_stats.h"
#include "runtime/exec/testing/executor_test_ops.h"
#include "runtime/framework/kernel_registry.h"
#include "tensorflow/core/framework/step_stats.pb.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }

REGISTER_OP("TestHalf").Input("x: float").Output("y: float");

class HalfKernel : public OpKernel {
 public:
  explicit HalfKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, {}));
    y->scalar<float>() = ctx.input(0).scalar<float>() / 2;
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TestHalf", kCpu, HalfKernel);

// What holds for both executors.
class BothExecutorsTest : public ::testing::TestWithParam<ExecutorKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, BothExecutorsTest,
                         ::testing::Values(ExecutorKind::kStraightThrough,
                                           ExecutorKind::kDataflow));

TEST_P(BothExecutorsTest, ComputesFromArgumentsAndConstants) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  const Endpoint y = g.Arg(1, DType::kInt32);
  const Endpoint sum = g.Op("TestAdd", {x, y});
  g.Result(0, g.Op("TestAdd", {sum, g.Const(100)}));
  g.Result(1, g.Op("TestAdd", {sum, sum}));
  g.Result(2, x);
  g.Result(3, g.Const(7));

  absl::StatusOr<std::vector<Tensor>> results = RunGraph(g.graph, GetParam(), {Int(2), Int(3)});

  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 4);
  EXPECT_EQ((*results)[0].scalar<int32_t>(), 105);
  EXPECT_EQ((*results)[1].scalar<int32_t>(), 10);
  EXPECT_EQ((*results)[2].scalar<int32_t>(), 2);
  EXPECT_EQ((*results)[3].scalar<int32_t>(), 7);
}

TEST_P(BothExecutorsTest, GivesTheSameOverAndOver) {
  TestGraph g;
  Endpoint x = g.Arg(0, DType::kInt32);
  for (int i = 0; i < 200; ++i) x = g.Op("TestAdd", {x, i % 3 == 0 ? x : g.Const(i)});
  g.Result(0, x);
  CompileOptions options;
  options.kind = GetParam();
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, options);
  ASSERT_TRUE(executor.ok()) << executor.status();
  absl::optional<int32_t> first;
  for (int i = 0; i < 3; ++i) {
    TestStep step;
    std::vector<Tensor> results;
    const std::vector<Tensor> args = {Int(0)};
    RunArgs run;
    run.args = args;
    run.results = &results;
    ASSERT_TRUE((*executor)->Run(step.context, run).ok());
    if (!first.has_value()) first = results[0].scalar<int32_t>();
    EXPECT_EQ(results[0].scalar<int32_t>(), *first);
  }
}

TEST_P(BothExecutorsTest, KernelErrorNamesTheNodeAndCancelsTheStep) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  g.Result(0, g.Op("TestFail", {g.Op("TestAdd", {x, x})}, {}, "layer/culprit"));
  CompileOptions options;
  options.kind = GetParam();
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, options);
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (int i = 0; i < 2; ++i) {  // an error leaves nothing behind for the next run
    TestStep step;
    std::vector<Tensor> results;
    const std::vector<Tensor> args = {Int(1)};
    RunArgs run;
    run.args = args;
    run.results = &results;
    const absl::Status status = (*executor)->Run(step.context, run);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_EQ(status.message(), "{{node layer/culprit}} told to fail");
    EXPECT_TRUE(step.cancellation.IsCancelled());
  }
}

TEST_P(BothExecutorsTest, KernelThatRunsOutOfMemoryIsAnErrorOfItsNode) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  g.Result(0, g.Op("TestTooLarge", {x}, {}, "layer/culprit"));
  const absl::Status status = RunGraph(g.graph, GetParam(), {Int(1)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("{{node layer/culprit}} there is not enough"));
}

TEST_P(BothExecutorsTest, OutputLeftWithoutValueIsAnError) {
  TestGraph g;
  g.Result(
      0, g.Op("Identity", {g.Op("TestUnset", {g.Const(1)}, {}, "unset")}, {{"T", DType::kInt32}}));
  const absl::Status status = RunGraph(g.graph, GetParam(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("{{node unset}}"));
}

TEST_P(BothExecutorsTest, ListsAllMissingKernelsInOneMessage) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  g.Result(0, g.Op("TestNoKernel", {x}, {}, "first"));
  g.Result(1, g.Op("TestNoKernel", {x}, {}, "second"));
  CompileOptions options;
  options.kind = GetParam();
  const absl::Status status = Compile(g.graph, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1 op has no kernel: TestNoKernel (nodes 'first', 'second')"));
}

TEST_P(BothExecutorsTest, DenormalsAreZeroInKernelsAndNowhereElse) {
  TestGraph g;
  g.Result(0, g.Op("TestHalf", {g.Arg(0, DType::kFloat)}));
  g.Result(1, g.Arg(1, DType::kFloat));
  volatile float smallest = std::numeric_limits<float>::min();
  const float denormal = smallest / 4;
  ASSERT_GT(denormal, 0);

  const absl::StatusOr<std::vector<Tensor>> results = RunGraph(
      g.graph, GetParam(), {Tensor::Scalar<float>(smallest), Tensor::Scalar<float>(denormal)});

  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].scalar<float>(), 0);
  EXPECT_EQ((*results)[1].scalar<float>(), denormal) << "what nothing computes with stays";
  EXPECT_EQ(smallest / 4, denormal);
}

TEST_P(BothExecutorsTest, TooFewArgumentsAreRefused) {
  TestGraph g;
  g.Result(0, g.Op("TestAdd", {g.Arg(0, DType::kInt32), g.Arg(1, DType::kInt32)}));
  EXPECT_EQ(RunGraph(g.graph, GetParam(), {Int(1)}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(BothExecutorsTest, TwoArgumentsOrResultsOfOneIndexAreRefused) {
  for (const bool results : {false, true}) {
    TestGraph g;
    g.Result(0, g.Arg(0, DType::kInt32));
    g.Result(results ? 0 : 1, g.Arg(results ? 1 : 0, DType::kFloat));
    EXPECT_EQ(RunGraph(g.graph, GetParam(), {Int(1), Int(2)}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_P(BothExecutorsTest, UnconnectedInputIsRefused) {
  TestGraph g;
  g.Result(0, g.Op("TestAdd", {g.Const(1), Endpoint{}}, {}, "half"));
  const absl::Status status = RunGraph(g.graph, GetParam(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("{{node half}}"));
}

TEST_P(BothExecutorsTest, CycleIsRefused) {
  TestGraph g;
  Node* const a = g.OpNode("TestAdd", {g.Const(1), Endpoint{}}, {}, "a");
  const Endpoint b = g.Op("TestAdd", {{a, 0}, g.Const(1)}, {}, "b");
  ASSERT_TRUE(g.graph.Connect(b, a, 1).ok());
  g.Result(0, b);
  const absl::Status status = RunGraph(g.graph, GetParam(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a"));
}

TEST_P(BothExecutorsTest, CancelledStepDoesNotRun) {
  TestGraph g;
  g.Result(0, g.Op("TestAdd", {g.Const(1), g.Const(2)}));
  CompileOptions options;
  options.kind = GetParam();
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, options);
  ASSERT_TRUE(executor.ok()) << executor.status();
  TestStep step;
  step.cancellation.Cancel();
  std::vector<Tensor> results;
  RunArgs run;
  run.results = &results;
  EXPECT_EQ((*executor)->Run(step.context, run).code(), absl::StatusCode::kCancelled);
}

TEST_P(BothExecutorsTest, PassedDeadlineEndsTheRun) {
  TestGraph g;
  g.Result(0, g.Op("TestAdd", {g.Const(1), g.Const(2)}));
  CompileOptions options;
  options.kind = GetParam();
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, options);
  ASSERT_TRUE(executor.ok()) << executor.status();
  TestStep step;
  step.context.deadline = absl::Now() - absl::Seconds(1);
  std::vector<Tensor> results;
  RunArgs run;
  run.results = &results;
  EXPECT_EQ((*executor)->Run(step.context, run).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_P(BothExecutorsTest, ConsumedArgumentsAreForwardedWithoutCopy) {
  TestGraph g;
  g.Result(0, g.Op("Identity", {g.Arg(0, DType::kInt32)}, {{"T", DType::kInt32}}));
  CompileOptions options;
  options.kind = GetParam();
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, options);
  ASSERT_TRUE(executor.ok()) << executor.status();
  TestStep step;
  std::vector<Tensor> args = {Int(5)};
  std::vector<Tensor> results;
  RunArgs run;
  run.consumed_args = absl::MakeSpan(args);
  run.results = &results;
  ASSERT_TRUE((*executor)->Run(step.context, run).ok());
  EXPECT_TRUE(results[0].CanWriteInPlace());
}

TEST_P(BothExecutorsTest, RecordsEveryNode) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  g.Result(0, g.Op("TestAdd", {x, x}, {}, "double"));
  CompileOptions options;
  options.kind = GetParam();
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, options);
  ASSERT_TRUE(executor.ok()) << executor.status();
  TestStep step;
  StepStatsCollector stats;
  std::vector<Tensor> results;
  const std::vector<Tensor> args = {Int(4)};
  RunArgs run;
  run.args = args;
  run.results = &results;
  run.stats = &stats;
  ASSERT_TRUE((*executor)->Run(step.context, run).ok());
  tensorflow::StepStats proto;
  stats.WriteTo(&proto);
  ASSERT_EQ(proto.dev_stats_size(), 1);
  ASSERT_EQ(proto.dev_stats(0).node_stats_size(), 1);
  EXPECT_EQ(proto.dev_stats(0).node_stats(0).node_name(), "double");
  EXPECT_EQ(proto.dev_stats(0).node_stats(0).output_size(), 1);
}

// Reference edges.

struct RefGraph {
  TestGraph g;
  Endpoint variable;
  RefGraph() {
    variable = g.Op("VariableV2", {}, {{"dtype", DType::kInt32}, {"shape", PartialShape({})}}, "v");
  }
};

TEST_P(BothExecutorsTest, PlainInputReadsTheVariableBehindAReference) {
  RefGraph r;
  const Endpoint assigned =
      r.g.Op("Assign", {r.variable, r.g.Const(5)}, {{"T", DType::kInt32}}, "assign");
  r.g.Result(0, r.g.Op("TestAdd", {assigned, assigned}));
  absl::StatusOr<std::vector<Tensor>> results = RunGraph(r.g.graph, GetParam(), {});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].scalar<int32_t>(), 10);
}

TEST_P(BothExecutorsTest, ReadingAnUninitialisedVariableFails) {
  RefGraph r;
  r.g.Result(0, r.g.Op("Identity", {r.variable}, {{"T", DType::kInt32}}, "read"));
  const absl::Status status = RunGraph(r.g.graph, GetParam(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("{{node read}}"));
}

// Straight through only.

TEST(StraightExecutorTest, RefusesControlFlowAndAsynchronousKernels) {
  TestGraph g;
  g.Result(0, g.Op("TestLater", {g.Const(1)}, {}, "later"));
  CompileOptions options;
  options.kind = ExecutorKind::kStraightThrough;
  const absl::Status status = Compile(g.graph, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'later'"));
}

// Dataflow only: asynchronous kernels.

TEST(DataflowExecutorTest, GoesOnAfterKernelsThatEndElsewhere) {
  TestGraph g;
  Endpoint x = g.Arg(0, DType::kInt32);
  for (int i = 0; i < 20; ++i) x = g.Op("TestAdd", {g.Op("TestLater", {x}), g.Const(1)});
  g.Result(0, x);
  absl::StatusOr<std::vector<Tensor>> results = RunGraph(g.graph, ExecutorKind::kAuto, {Int(0)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].scalar<int32_t>(), 20);
}

TEST(DataflowExecutorTest, ErrorWakesWhatWaits) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  g.Result(0, g.Op("TestWait", {x}));
  g.Result(1, g.Op("TestFail", {g.Op("TestLater", {x})}, {}, "culprit"));
  const absl::Status status = RunGraph(g.graph, ExecutorKind::kAuto, {Int(0)}).status();
  EXPECT_EQ(status.message(), "{{node culprit}} told to fail");
}

TEST(DataflowExecutorTest, DeadlineEndsAWait) {
  TestGraph g;
  g.Result(0, g.Op("TestWait", {g.Arg(0, DType::kInt32)}));
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  EXPECT_TRUE((*executor)->may_wait());
  TestStep step;
  step.context.deadline = absl::Now() + absl::Milliseconds(20);
  const std::vector<Tensor> args = {Int(0)};
  std::vector<Tensor> results;
  RunArgs run;
  run.args = args;
  run.results = &results;
  EXPECT_EQ((*executor)->Run(step.context, run).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(DataflowExecutorTest, CancellationEndsAWait) {
  TestGraph g;
  g.Result(0, g.Op("TestWait", {g.Arg(0, DType::kInt32)}, {}, "wait"));
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  TestStep step;
  const std::vector<Tensor> args = {Int(0)};
  std::vector<Tensor> results;
  RunArgs run;
  run.args = args;
  run.results = &results;
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(20));
    step.cancellation.Cancel();
  });
  EXPECT_EQ((*executor)->Run(step.context, run).code(), absl::StatusCode::kCancelled);
  canceller.join();
}

TEST(DataflowExecutorTest, RunAsyncHoldsNoThreadWhileKernelsWait) {
  TestGraph g;
  g.Result(0, g.Op("TestAdd", {g.Op("TestLater", {g.Arg(0, DType::kInt32)}), g.Const(1)}));
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  TestStep step;
  const std::vector<Tensor> args = {Int(1)};
  std::vector<Tensor> results;
  RunArgs run;
  run.args = args;
  run.results = &results;
  absl::Notification done;
  (*executor)->RunAsync(step.context, run, [&](absl::Status status) {
    EXPECT_TRUE(status.ok()) << status;
    done.Notify();
  });
  done.WaitForNotification();
  EXPECT_EQ(results[0].scalar<int32_t>(), 2);
}

TEST(DataflowExecutorTest, UsesTheInterOpPool) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  Endpoint sum = g.Const(0);
  for (int i = 0; i < 50; ++i) sum = g.Op("TestAdd", {sum, g.Op("TestLater", {x})});
  g.Result(0, sum);
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  ThreadPool pool({.name = "test", .num_threads = 4});
  TestStep step;
  step.context.inter_op_pool = &pool;
  const std::vector<Tensor> args = {Int(3)};
  std::vector<Tensor> results;
  RunArgs run;
  run.args = args;
  run.results = &results;
  ASSERT_TRUE((*executor)->Run(step.context, run).ok());
  EXPECT_EQ(results[0].scalar<int32_t>(), 150);
}

}  // namespace
}  // namespace tessera
