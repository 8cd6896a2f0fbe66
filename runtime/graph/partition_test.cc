#include "runtime/graph/partition.h"

#include "absl/synchronization/blocking_counter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/device/cpu/cpu_device.h"
#include "runtime/exec/testing/executor_test_ops.h"
#include "runtime/graph/loop_frames.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

using Parts = std::map<std::string, std::unique_ptr<Graph>>;

void PutOn(const std::string& device, const std::vector<Node*>& nodes) {
  for (Node* node : nodes) node->set_device(device);
}

std::vector<Node*> Of(const Graph& graph, absl::string_view op) {
  std::vector<Node*> nodes;
  for (Node* node : graph.nodes()) {
    if (node->IsOp(op)) nodes.push_back(node);
  }
  return nodes;
}

// Runs all parts at once and returns the results.
std::vector<Tensor> RunParts(const Parts& parts, std::vector<Tensor> args, int num_results) {
  CpuDevice device(*DeviceName::Parse("/job:localhost/replica:0/task:0/device:CPU:0"));
  TestStep step;
  std::vector<std::unique_ptr<Executor>> executors;
  for (const auto& [name, part] : parts) {
    executors.push_back(Compile(*part, {.device = &device}).value());
  }
  std::vector<Tensor> results(num_results);
  absl::BlockingCounter running(static_cast<int>(executors.size()));
  for (const auto& executor : executors) {
    RunArgs run;
    run.args = args;
    run.results = &results;
    executor->RunAsync(step.context, run, [&](absl::Status status) {
      EXPECT_TRUE(status.ok()) << status;
      running.DecrementCount();
    });
  }
  running.Wait();
  return results;
}

TEST(PartitionTest, EdgesThatCrossBecomeSendAndRecv) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  const Endpoint sum = g.Op("TestAdd", {x, x}, {}, "sum");
  const Endpoint more = g.Op("TestAdd", {sum, sum}, {}, "more");
  Node* result = g.Result(0, more);
  PutOn("/d:A:0", {x.node, sum.node});
  PutOn("/d:B:0", {more.node, result});

  const Parts parts = Partition(g.graph).value();
  EXPECT_THAT(parts, ElementsAre(Key("/d:A:0"), Key("/d:B:0")));
  const std::vector<Node*> sends = Of(*parts.at("/d:A:0"), "_Send");
  const std::vector<Node*> recvs = Of(*parts.at("/d:B:0"), "_Recv");
  ASSERT_EQ(sends.size(), 1u) << "an edge to several inputs of one device is sent once";
  ASSERT_EQ(recvs.size(), 1u);
  for (const char* attr : {"tensor_name", "send_device", "recv_device"}) {
    EXPECT_EQ(sends[0]->attr<std::string>(attr).value(), recvs[0]->attr<std::string>(attr).value());
  }
  EXPECT_EQ(sends[0]->attr<std::string>("send_device").value(), "/d:A:0");
  EXPECT_EQ(recvs[0]->output_type(0), DType::kInt32);

  const std::vector<Tensor> results = RunParts(parts, {Tensor::Scalar(5)}, 1);
  EXPECT_EQ(results[0].scalar<int32_t>(), 20);
}

TEST(PartitionTest, ControlEdgesCarryAnEmptyTensor) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  const Endpoint first = g.Op("TestAdd", {x, x}, {}, "first");
  const Endpoint second = g.Const(7);
  Node* result = g.Result(0, second);
  g.graph.AddControlEdge(first.node, result);
  PutOn("A", {x.node, first.node});
  PutOn("B", {second.node, result});

  const Parts parts = Partition(g.graph).value();
  const std::vector<Node*> recvs = Of(*parts.at("B"), "_Recv");
  ASSERT_EQ(recvs.size(), 1u);
  EXPECT_EQ(recvs[0]->output_type(0), DType::kFloat);
  EXPECT_THAT(parts.at("B")->FindNode(result->name())->control_inputs(), ElementsAre(recvs[0]));
  EXPECT_EQ(RunParts(parts, {Tensor::Scalar(1)}, 1)[0].scalar<int32_t>(), 7);
}

TEST(PartitionTest, PartsMayHoldSeveralDevices) {
  TestGraph g;
  const Endpoint x = g.Arg(0, DType::kInt32);
  const Endpoint sum = g.Op("TestAdd", {x, x}, {}, "sum");
  Node* result = g.Result(0, sum);
  PutOn("/task:0/cpu:0", {x.node});
  PutOn("/task:0/cpu:1", {sum.node});
  PutOn("/task:1/cpu:0", {result});
  PartitionOptions options;
  options.part_of = [](const Node& node) { return node.device().substr(0, 7); };
  options.incarnation = [](const std::string&) { return ~uint64_t{0}; };
  const Parts parts = Partition(g.graph, options).value();
  EXPECT_THAT(parts, ElementsAre(Key("/task:0"), Key("/task:1")));
  const std::vector<Node*> sends = Of(*parts.at("/task:0"), "_Send");
  ASSERT_EQ(sends.size(), 1u);
  EXPECT_EQ(sends[0]->attr<std::string>("send_device").value(), "/task:0/cpu:1");
  EXPECT_EQ(sends[0]->attr<int64_t>("send_device_incarnation").value(), -1);
}

// for (i = 0; i < limit; ++i), with the increment's second operand, and what `place` chooses, on
// other devices.
struct Loop {
  explicit Loop(TestGraph& g) {
    start = g.Const(0);
    limit = g.Arg(0, DType::kInt32);
    const AttrMap t = {{"T", DType::kInt32}};
    auto enter_attrs = [&](bool is_constant) {
      return AttrMap{{"T", DType::kInt32}, {"frame_name", "loop"}, {"is_constant", is_constant}};
    };
    enter = g.Op("Enter", {start}, enter_attrs(false), "enter");
    enter_limit = g.Op("Enter", {limit}, enter_attrs(true), "enter_limit");
    Node* merge_node = g.graph.AddNode("merge", "Merge", {{"T", DType::kInt32}, {"N", 2}}).value();
    EXPECT_TRUE(g.graph.Connect(enter, merge_node, 0).ok());
    merge = {merge_node, 0};
    less = g.Op("TestLess", {merge, enter_limit}, {}, "less");
    cond = g.Op("LoopCond", {less}, {}, "cond");
    Node* switch_node = g.OpNode("Switch", {merge, cond}, t, "switch");
    body = g.Op("TestAdd", {{switch_node, 1}, {switch_node, 1}}, {}, "double");
    one = g.Const(1);
    g.graph.AddControlEdge(switch_node, one.node);
    add = g.Op("TestAdd", {{switch_node, 1}, one}, {}, "add");
    next = g.Op("NextIteration", {add}, t, "next");
    EXPECT_TRUE(g.graph.Connect(next, merge_node, 1).ok());
    exit = g.Op("Exit", {{switch_node, 0}}, t, "exit");
    result = g.Result(0, exit);
  }
  Endpoint start, limit, enter, enter_limit, merge, less, cond, body, one, add, next, exit;
  Node* result;
};

TEST(PartitionTest, PartOfALoopBodyElsewhereGetsALoopOfItsOwn) {
  TestGraph g;
  const Loop loop(g);
  for (Node* node : g.graph.nodes()) node->set_device("A");
  PutOn("B", {loop.add.node});
  PutOn("C", {loop.less.node});
  const Parts parts = Partition(g.graph).value();
  EXPECT_EQ(Of(*parts.at("B"), "NextIteration").size(), 1u);
  EXPECT_EQ(Of(*parts.at("C"), "Merge").size(), 1u);
  for (int limit : {0, 1, 6}) {
    EXPECT_EQ(RunParts(parts, {Tensor::Scalar(limit)}, 1)[0].scalar<int32_t>(), limit);
  }
}

TEST(PartitionTest, AConditionalOfALoopBodyMayBeElsewhere) {
  TestGraph g;
  const Loop loop(g);
  // i + 1 if that is below the limit, else twice as much.
  const Endpoint below = g.Op("TestLess", {loop.add, loop.enter_limit});
  Node* const choice = g.OpNode("Switch", {loop.add, below}, {{"T", DType::kInt32}});
  const Endpoint twice = g.Op("TestAdd", {{choice, 0}, {choice, 0}});
  Node* const chosen =
      g.OpNode("Merge", {twice, {choice, 1}}, {{"T", DType::kInt32}, {"N", int64_t{2}}});
  ASSERT_TRUE(g.graph.Connect({chosen, 0}, loop.next.node, 0).ok());
  for (Node* node : g.graph.nodes()) node->set_device("A");
  PutOn("B", {choice, twice.node, chosen});
  const Parts parts = Partition(g.graph).value();
  for (int limit : {0, 1, 6}) {
    EXPECT_EQ(RunParts(parts, {Tensor::Scalar(limit)}, 1)[0].scalar<int32_t>(), 2 * limit);
  }
}

TEST(PartitionTest, ReferencesDoNotCross) {
  Graph graph;
  Node* variable =
      graph.AddNode("v", "VariableV2", {{"dtype", DType::kInt32}, {"shape", PartialShape({})}})
          .value();
  Node* one =
      graph.AddNode("one", "Const", {{"dtype", DType::kInt32}, {"value", Tensor::Scalar(1)}})
          .value();
  Node* assign =
      graph.AddNode("assign", "Assign", {{"T", DType::kInt32}}, {{variable, 0}, {one, 0}}).value();
  PutOn("A", {variable, one});
  PutOn("B", {assign});
  const absl::Status status = Partition(graph).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("node 'assign'"));
}

TEST(PartitionTest, UnplacedNodesAreRefused) {
  Graph graph;
  graph.AddNode("n", "NoOp", {}).value();
  EXPECT_THAT(Partition(graph).status().ToString(), HasSubstr("node 'n'"));
}

TEST(LoopFramesTest, NodesRunInTheFrameOfTheirInputs) {
  TestGraph g;
  const Loop loop(g);
  const LoopFrames frames = FindLoopFrames(g.graph).value();
  ASSERT_EQ(frames.frames.size(), 1u);
  EXPECT_EQ(frames.frames[0].name, "loop");
  EXPECT_EQ(frames.frames[0].condition, loop.cond.node);
  EXPECT_EQ(frames.frames[0].enters.size(), 2u);
  EXPECT_EQ(frames.frame_of[loop.enter.node->id()], -1);
  EXPECT_EQ(frames.frame_after[loop.enter.node->id()], 0);
  EXPECT_EQ(frames.frame_of[loop.one.node->id()], 0) << "by its control input";
  EXPECT_EQ(frames.frame_of[loop.exit.node->id()], 0);
  EXPECT_EQ(frames.frame_after[loop.exit.node->id()], -1);
  EXPECT_EQ(frames.frame_of[loop.result->id()], -1);
}

TEST(LoopFramesTest, ExitOutsideALoopIsRefused) {
  TestGraph g;
  g.Op("Exit", {g.Const(1)}, {{"T", DType::kInt32}}, "exit");
  EXPECT_THAT(FindLoopFrames(g.graph).status().ToString(), HasSubstr("node 'exit'"));
}

}  // namespace
}  // namespace tessera
