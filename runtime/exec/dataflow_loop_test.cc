// Loops and conditionals of TensorFlow 1: frames, iterations, dead tensors.
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/step_stats.h"
#include "runtime/exec/testing/executor_test_ops.h"
#include "tensorflow/core/framework/step_stats.pb.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

const AttrMap kInt32 = {{"T", DType::kInt32}};

Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }
Tensor Bool(bool value) { return Tensor::Scalar<bool>(value); }

Node* Enter(TestGraph& g, const std::string& frame, Endpoint value, bool is_constant = false,
            int parallel_iterations = 10) {
  return g.OpNode("Enter", {value},
                  {{"T", value.node->output_type(value.index)},
                   {"frame_name", frame},
                   {"is_constant", is_constant},
                   {"parallel_iterations", int64_t{parallel_iterations}}});
}

Node* Merge(TestGraph& g, Endpoint a, Endpoint b) {
  return g.OpNode("Merge", {a, b}, {{"T", DType::kInt32}, {"N", int64_t{2}}});
}

Node* Switch(TestGraph& g, Endpoint data, Endpoint pred) {
  return g.OpNode("Switch", {data, pred}, kInt32);
}

// i = start; while (i < limit) i = body(i); gives the Exit's output.
struct Loop {
  Endpoint exit;
  Endpoint merged;
  Node* switch_node;
};
template <typename Body>
Loop AddLoop(TestGraph& g, const std::string& frame, Endpoint start, Endpoint limit, Body body,
             int parallel_iterations = 10) {
  Node* const enter = Enter(g, frame, start, false, parallel_iterations);
  Node* const limit_enter = Enter(g, frame, limit, true, parallel_iterations);
  Node* const merge = Merge(g, {enter, 0}, Endpoint{});
  const Endpoint less = g.Op("TestLess", {{merge, 0}, {limit_enter, 0}});
  const Endpoint cond = g.Op("LoopCond", {less});
  Node* const split = Switch(g, {merge, 0}, cond);
  const Endpoint next = g.Op("NextIteration", {body(Endpoint{split, 1})}, kInt32);
  EXPECT_TRUE(g.graph.Connect(next, merge, 1).ok());
  return {g.Op("Exit", {{split, 0}}, kInt32), {merge, 0}, split};
}

class LoopTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ParallelIterations, LoopTest, ::testing::Values(1, 2, 10, 32));

TEST_P(LoopTest, CountsToTheLimit) {
  TestGraph g;
  const Loop loop = AddLoop(
      g, "count", g.Arg(0, DType::kInt32), g.Arg(1, DType::kInt32),
      [&](Endpoint i) {
        return g.Op("TestAdd", {i, g.Const(1)});
      },
      GetParam());
  g.Result(0, loop.exit);
  for (const int limit : {0, 1, 7, 1000}) {
    absl::StatusOr<std::vector<Tensor>> results =
        RunGraph(g.graph, ExecutorKind::kAuto, {Int(0), Int(limit)});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ((*results)[0].scalar<int32_t>(), limit);
  }
}

TEST_P(LoopTest, NestedLoopsMultiply) {
  TestGraph g;
  // Outer: 0, 10, 20, ... each step counted by an inner loop of ten steps.
  const Endpoint zero = g.Arg(0, DType::kInt32);
  const Endpoint limit = g.Arg(1, DType::kInt32);
  Node* ten_in_outer = nullptr;
  const Loop outer = AddLoop(
      g, "outer", zero, limit,
      [&](Endpoint i) {
        ten_in_outer = Enter(g, "outer", g.Const(10), true, GetParam());
        const Endpoint inner_limit = g.Op("TestAdd", {i, {ten_in_outer, 0}});
        return AddLoop(
                   g, "inner", i, inner_limit,
                   [&](Endpoint j) {
                     return g.Op("TestAdd", {j, g.Const(1)});
                   },
                   GetParam())
            .exit;
      },
      GetParam());
  g.Result(0, outer.exit);
  absl::StatusOr<std::vector<Tensor>> results =
      RunGraph(g.graph, ExecutorKind::kAuto, {Int(0), Int(95)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].scalar<int32_t>(), 100);
}

TEST_P(LoopTest, AsynchronousBodyOnAPool) {
  TestGraph g;
  const Loop loop = AddLoop(
      g, "count", g.Arg(0, DType::kInt32), g.Const(50),
      [&](Endpoint i) {
        return g.Op("TestAdd", {g.Op("TestLater", {i}), g.Const(1)});
      },
      GetParam());
  g.Result(0, loop.exit);
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (const bool with_pool : {false, true}) {
    TestStep step;
    step.context.inter_op_pool = with_pool ? &pool : nullptr;
    const std::vector<Tensor> args = {Int(0)};
    std::vector<Tensor> results;
    RunArgs run;
    run.args = args;
    run.results = &results;
    ASSERT_TRUE((*executor)->Run(step.context, run).ok());
    EXPECT_EQ(results[0].scalar<int32_t>(), 50);
  }
}

// What hands values on does so with and without its kernel, with and without locks.
TEST_P(LoopTest, CountsTheSameAloneOnAPoolAndRecorded) {
  TestGraph g;
  const Loop loop = AddLoop(
      g, "count", g.Arg(0, DType::kInt32), g.Const(50),
      [&](Endpoint i) {
        return g.Op("Identity", {g.Op("TestAdd", {i, g.Const(1)})}, kInt32, "body");
      },
      GetParam());
  g.Result(0, loop.exit);
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (const bool with_pool : {false, true}) {
    for (const bool recorded : {false, true}) {
      TestStep step;
      step.context.inter_op_pool = with_pool ? &pool : nullptr;
      StepStatsCollector stats;
      const std::vector<Tensor> args = {Int(0)};
      std::vector<Tensor> results;
      RunArgs run;
      run.args = args;
      run.results = &results;
      run.stats = recorded ? &stats : nullptr;
      ASSERT_TRUE((*executor)->Run(step.context, run).ok());
      EXPECT_EQ(results[0].scalar<int32_t>(), 50);
      if (!recorded) continue;
      tensorflow::StepStats proto;
      stats.WriteTo(&proto);
      int bodies = 0;
      for (const auto& node : proto.dev_stats(0).node_stats()) bodies += node.node_name() == "body";
      EXPECT_EQ(bodies, 50);
    }
  }
}

// The threads on which TestLater ends hand nodes to the pool: they must have let go of it when the
// run is over. ThreadSanitizer sees it if they have not.
TEST(PoolTest, ThePoolMayGoWhenTheRunIsOver) {
  TestGraph g;
  Endpoint x = g.Arg(0, DType::kInt32);
  g.Result(0, g.Op("TestAdd", {g.Op("TestLater", {x}), g.Op("TestLater", {x})}));
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (int i = 0; i < 200; ++i) {
    ThreadPool pool({.name = "short", .num_threads = 2});
    TestStep step;
    step.context.inter_op_pool = &pool;
    const std::vector<Tensor> args = {Int(i)};
    std::vector<Tensor> results;
    RunArgs run;
    run.args = args;
    run.results = &results;
    ASSERT_TRUE((*executor)->Run(step.context, run).ok());
    ASSERT_EQ(results[0].scalar<int32_t>(), 2 * i);
  }
}

TEST(ConditionalTest, MergeTakesTheBranchThatWasTaken) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  const Endpoint pred = g.Arg(1, DType::kBool);
  Node* const split = Switch(g, x, pred);
  const Endpoint if_false = g.Op("TestAdd", {{split, 0}, g.Const(1)});
  const Endpoint if_true = g.Op("TestAdd", {{split, 1}, g.Const(100)});
  Node* const merge = Merge(g, if_false, if_true);
  g.Result(0, {merge, 0});
  g.Result(1, {merge, 1});
  for (const bool taken : {false, true}) {
    absl::StatusOr<std::vector<Tensor>> results =
        RunGraph(g.graph, ExecutorKind::kAuto, {Int(5), Bool(taken)});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ((*results)[0].scalar<int32_t>(), taken ? 105 : 6);
    EXPECT_EQ((*results)[1].scalar<int32_t>(), taken ? 1 : 0);
  }
}

TEST(ConditionalTest, AConstantThatASwitchHandsOnStaysForTheNextRun) {
  TestGraph g;
  const Endpoint constant = g.Const(7);
  const Endpoint pred = g.Arg(0, DType::kBool);
  Node* const split = Switch(g, constant, pred);
  Node* const merge = Merge(g, {split, 0}, {split, 1});
  g.Result(0, g.Op("TestAdd", {{merge, 0}, constant}));
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (const bool taken : {false, true, true}) {
    TestStep step;
    const std::vector<Tensor> args = {Bool(taken)};
    std::vector<Tensor> results;
    RunArgs run;
    run.args = args;
    run.results = &results;
    ASSERT_TRUE((*executor)->Run(step.context, run).ok());
    EXPECT_EQ(results[0].scalar<int32_t>(), 14);
  }
}

TEST(ConditionalTest, AMergeWithTooManyControlInputsSaysHowMany) {
  constexpr int kControls = 4096;
  TestGraph g;
  Node* const split = Switch(g, g.Arg(0, DType::kInt32), g.Arg(1, DType::kBool));
  Node* const merge = Merge(g, {split, 0}, {split, 1});
  for (int i = 0; i < kControls; ++i) {
    g.graph.AddControlEdge(g.Op("Identity", {g.Const(i)}, kInt32).node, merge);
  }
  g.Result(0, {merge, 0});
  const absl::Status status =
      RunGraph(g.graph, ExecutorKind::kAuto, {Int(5), Bool(false)}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("has ", kControls, " control inputs; a Merge may have 4095")));
}

TEST(ConditionalTest, NodesOfTheOtherBranchDoNotRun) {
  TestGraph g;
  Node* const split = Switch(g, g.Arg(0, DType::kInt32), g.Arg(1, DType::kBool));
  const Endpoint fails = g.Op("TestFail", {{split, 1}});
  Node* const merge = Merge(g, {split, 0}, fails);
  g.Result(0, {merge, 0});
  EXPECT_TRUE(RunGraph(g.graph, ExecutorKind::kAuto, {Int(5), Bool(false)}).ok());
  EXPECT_FALSE(RunGraph(g.graph, ExecutorKind::kAuto, {Int(5), Bool(true)}).ok());
}

TEST(ConditionalTest, ControlEdgeFromADeadNodeIsDead) {
  TestGraph g;
  Node* const split = Switch(g, g.Arg(0, DType::kInt32), g.Arg(1, DType::kBool));
  const Endpoint pivot = g.Op("Identity", {{split, 1}}, kInt32);
  const Endpoint guarded = g.Const(7);
  g.graph.AddControlEdge(pivot.node, guarded.node);
  Node* const merge = Merge(g, {split, 0}, guarded);
  g.Result(0, {merge, 0});
  EXPECT_EQ((*RunGraph(g.graph, ExecutorKind::kAuto, {Int(5), Bool(false)}))[0].scalar<int32_t>(),
            5);
  EXPECT_EQ((*RunGraph(g.graph, ExecutorKind::kAuto, {Int(5), Bool(true)}))[0].scalar<int32_t>(),
            7);
}

TEST(ConditionalTest, ControlTriggerRunsAfterDeadNodes) {
  TestGraph g;
  Node* const split = Switch(g, g.Arg(0, DType::kInt32), g.Arg(1, DType::kBool));
  const Endpoint a = g.Op("Identity", {{split, 0}}, kInt32);
  const Endpoint b = g.Op("Identity", {{split, 1}}, kInt32);
  Node* const trigger = g.OpNode("ControlTrigger", {});
  g.graph.AddControlEdge(a.node, trigger);
  g.graph.AddControlEdge(b.node, trigger);
  const Endpoint after = g.Const(3);
  g.graph.AddControlEdge(trigger, after.node);
  g.Result(0, after);
  EXPECT_EQ((*RunGraph(g.graph, ExecutorKind::kAuto, {Int(5), Bool(true)}))[0].scalar<int32_t>(),
            3);
}

TEST(ConditionalTest, DeadResultIsAnError) {
  TestGraph g;
  Node* const split = Switch(g, g.Arg(0, DType::kInt32), g.Arg(1, DType::kBool));
  g.Result(0, {split, 1});
  const absl::Status status =
      RunGraph(g.graph, ExecutorKind::kAuto, {Int(5), Bool(false)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("branch that was not taken"));
}

TEST(ConditionalTest, LoopInABranchThatIsNotTakenDoesNotRun) {
  TestGraph g;
  Node* const split = Switch(g, g.Arg(0, DType::kInt32), g.Arg(1, DType::kBool));
  Node* const limit = Switch(g, g.Const(10), {split->input(1).node, 0});
  const Loop loop = AddLoop(g, "dead", {split, 1}, {limit, 1}, [&](Endpoint i) {
    return g.Op("TestAdd", {i, g.Const(1)});
  });
  Node* const merge = Merge(g, {split, 0}, loop.exit);
  g.Result(0, {merge, 0});
  EXPECT_EQ((*RunGraph(g.graph, ExecutorKind::kAuto, {Int(5), Bool(false)}))[0].scalar<int32_t>(),
            5);
  EXPECT_EQ((*RunGraph(g.graph, ExecutorKind::kAuto, {Int(5), Bool(true)}))[0].scalar<int32_t>(),
            10);
}

TEST(ConditionalTest, ConditionalInALoop) {
  TestGraph g;
  // Adds 1 below 10, then 5.
  const Loop loop = AddLoop(g, "loop", g.Arg(0, DType::kInt32), g.Const(21), [&](Endpoint i) {
    Node* const ten = Enter(g, "loop", g.Const(10), true);
    const Endpoint below = g.Op("TestLess", {i, {ten, 0}});
    Node* const split = Switch(g, i, below);
    const Endpoint five = g.Op("TestAdd", {{split, 0}, g.Const(5)});
    const Endpoint one = g.Op("TestAdd", {{split, 1}, g.Const(1)});
    return Endpoint{Merge(g, five, one), 0};
  });
  g.Result(0, loop.exit);
  EXPECT_EQ((*RunGraph(g.graph, ExecutorKind::kAuto, {Int(0)}))[0].scalar<int32_t>(), 25);
}

TEST(LoopErrorTest, ErrorInTheBodyEndsTheLoopAndNamesTheNode) {
  TestGraph g;
  const Loop loop = AddLoop(g, "loop", g.Arg(0, DType::kInt32), g.Const(1000000),
                            [&](Endpoint i) { return g.Op("TestFail", {i}, {}, "loop/culprit"); });
  g.Result(0, loop.exit);
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (int i = 0; i < 3; ++i) {
    TestStep step;
    const std::vector<Tensor> args = {Int(0)};
    std::vector<Tensor> results;
    RunArgs run;
    run.args = args;
    run.results = &results;
    EXPECT_EQ((*executor)->Run(step.context, run).message(), "{{node loop/culprit}} told to fail");
  }
}

TEST(LoopErrorTest, DeadlineEndsAnEndlessLoopOfCheapNodes) {
  TestGraph g;
  const Loop loop = AddLoop(g, "loop", g.Arg(0, DType::kInt32), g.Const(1), [&](Endpoint i) {
    return g.Op("TestAdd", {i, g.Const(0)});
  });
  g.Result(0, loop.exit);
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  TestStep step;
  step.context.deadline = absl::Now() + absl::Milliseconds(30);
  const std::vector<Tensor> args = {Int(0)};
  std::vector<Tensor> results;
  RunArgs run;
  run.args = args;
  run.results = &results;
  EXPECT_EQ((*executor)->Run(step.context, run).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(LoopErrorTest, InputsFromTwoFramesAreRefused) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  Node* const enter = Enter(g, "loop", x);
  g.Result(0, g.Op("Exit", {g.Op("TestAdd", {{enter, 0}, x}, {}, "mixed")}, kInt32));
  const absl::Status status = Compile(g.graph, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("{{node mixed}}"));
}

TEST(LoopErrorTest, ALoopThatDoesNotEndLeavesNothingForTheNextRun) {
  TestGraph g;
  // The sum's inputs come in different iterations, so nothing ever leaves this loop.
  Node* const stuck = Enter(g, "stuck", g.Arg(0, DType::kInt32));
  const Endpoint next = g.Op("NextIteration", {{stuck, 0}}, kInt32);
  const Endpoint never = g.Op("Exit", {g.Op("TestAdd", {next, {stuck, 0}})}, kInt32);
  Enter(g, "loop", never);
  Node* const a = Enter(g, "loop", g.Arg(1, DType::kInt32));
  Node* const b = Enter(g, "loop", g.Arg(2, DType::kInt32));
  g.Result(0, g.Op("Exit", {g.Op("TestAdd", {{a, 0}, {b, 0}})}, kInt32));
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  for (int i = 0; i < 3; ++i) {
    TestStep step;
    const std::vector<Tensor> args = {Int(0), Int(i), Int(10)};
    std::vector<Tensor> results;
    RunArgs run;
    run.args = args;
    run.results = &results;
    ASSERT_TRUE((*executor)->Run(step.context, run).ok());
    EXPECT_EQ(results[0].scalar<int32_t>(), 10 + i);
  }
}

TEST(LoopErrorTest, ExitOutsideAnyLoopIsRefused) {
  TestGraph g;
  g.Result(0, g.Op("Exit", {g.Arg(0, DType::kInt32)}, kInt32));
  EXPECT_EQ(Compile(g.graph, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(StressTest, ManyThreadsRunOneLoop) {
  TestGraph g;
  const Loop loop =
      AddLoop(g, "count", g.Arg(0, DType::kInt32), g.Arg(1, DType::kInt32), [&](Endpoint i) {
        return g.Op("TestAdd", {i, g.Const(1)});
      });
  g.Result(0, loop.exit);
  absl::StatusOr<std::unique_ptr<Executor>> executor = Compile(g.graph, {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  ThreadPool pool({.name = "test", .num_threads = 2});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int n = 0; n < 50; ++n) {
        TestStep step;
        if (t % 2 == 0) step.context.inter_op_pool = &pool;
        const std::vector<Tensor> args = {Int(0), Int(n)};
        std::vector<Tensor> results;
        RunArgs run;
        run.args = args;
        run.results = &results;
        ASSERT_TRUE((*executor)->Run(step.context, run).ok());
        ASSERT_EQ(results[0].scalar<int32_t>(), n);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tessera
