// The parts of a plan on machines of their own: each part goes there as the bytes of a GraphDef,
// and tensors go from machine to machine as bytes.
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/exec/planner.h"
#include "runtime/exec/rendezvous.h"
#include "runtime/exec/testing/executor_test_ops.h"
#include "runtime/graph/attr_value_proto.h"
#include "runtime/graph/graph_export.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr char kMaster[] = "/job:t/replica:0/task:0/device:CPU:0";
constexpr char kWorker[] = "/job:t/replica:0/task:1/device:CPU:0";

class TaskDevice final : public Device {
 public:
  explicit TaskDevice(const std::string& name) : Device(*DeviceName::Parse(name), 0) {}
};

// One machine's end of the wire.
class WireRendezvous final : public Rendezvous {
 public:
  void ConnectTo(const std::string& device, WireRendezvous* peer) { peers_[device] = peer; }
  int num_received() const { return num_received_; }

  absl::Status Send(absl::string_view key, Tensor tensor, bool is_dead) override {
    const std::vector<std::string> parts = absl::StrSplit(key, ';');
    WireRendezvous* const receiver = peers_.at(parts[2]);
    if (is_dead) return receiver->Receive(key, std::nullopt);
    tensorflow::TensorProto proto;
    RETURN_IF_ERROR(TensorToProto(tensor, TensorProtoForm::kTensorContent, &proto));
    return receiver->Receive(key, proto.SerializeAsString());
  }
  void RecvAsync(absl::string_view key, DoneCallback done) override {
    arrived_.RecvAsync(key, std::move(done));
  }
  void Abort(absl::Status status) override { arrived_.Abort(std::move(status)); }

 private:
  absl::Status Receive(absl::string_view key, const std::optional<std::string>& bytes) {
    ++num_received_;
    if (!bytes.has_value()) return arrived_.Send(key, Tensor(), /*is_dead=*/true);
    tensorflow::TensorProto proto;
    CHECK(proto.ParseFromString(*bytes));
    ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(proto));
    return arrived_.Send(key, std::move(tensor), /*is_dead=*/false);
  }

  std::map<std::string, WireRendezvous*> peers_;
  LocalRendezvous arrived_;
  std::atomic<int> num_received_{0};
};

// Reads a graph with nodes that the runtime has made, such as `_Send`. ImportGraph() refuses them,
// because they do not come from clients.
absl::StatusOr<std::unique_ptr<Graph>> ReadGraph(const tensorflow::GraphDef& graph_def) {
  auto graph = std::make_unique<Graph>();
  std::map<std::string, Node*> nodes;
  for (const tensorflow::NodeDef& def : graph_def.node()) {
    ASSIGN_OR_RETURN(AttrMap attrs, AttrMapFromProto(def.attr()));
    ASSIGN_OR_RETURN(nodes[def.name()],
                     graph->AddNode(def.name(), def.op(), std::move(attrs), def.device()));
  }
  for (const tensorflow::NodeDef& def : graph_def.node()) {
    Node* const node = nodes.at(def.name());
    int index = 0;
    for (const std::string& input : def.input()) {
      if (input[0] == '^') {
        graph->AddControlEdge(nodes.at(input.substr(1)), node);
        continue;
      }
      const std::vector<std::string> from = absl::StrSplit(input, ':');
      const int output = from.size() == 1 ? 0 : std::stoi(from[1]);
      RETURN_IF_ERROR(graph->Connect({nodes.at(from[0]), output}, node, index++));
    }
  }
  return graph;
}

struct Machine {
  explicit Machine(const std::string& name) : device(name) { step.context.rendezvous = &wire; }

  absl::Status Load(const std::string& graph_bytes, const BoundaryMemory& boundary) {
    tensorflow::GraphDef graph_def;
    CHECK(graph_def.ParseFromString(graph_bytes));
    ASSIGN_OR_RETURN(const std::unique_ptr<Graph> graph, ReadGraph(graph_def));
    CompileOptions options;
    options.device = &device;
    options.boundary = boundary;
    ASSIGN_OR_RETURN(executor, Compile(*graph, options));
    return absl::OkStatus();
  }

  TaskDevice device;
  WireRendezvous wire;
  TestStep step;
  std::unique_ptr<Executor> executor;
  absl::Status status;
  std::vector<Tensor> results;
};

class RemotePartsTest : public ::testing::Test {
 protected:
  RemotePartsTest() {
    for (Machine* machine : {&master_, &worker_}) {
      machine->wire.ConnectTo(kMaster, &master_.wire);
      machine->wire.ConnectTo(kWorker, &worker_.wire);
    }
  }

  // Plans the graph for both machines, and gives each its part.
  absl::Status Distribute(absl::string_view text) {
    PlanInput input;
    ASSIGN_OR_RETURN(input.graph, ReadGraph(GraphFromText(text)));
    for (Node* node : input.graph->nodes()) {
      if (node->IsOp("_Arg")) input.args.push_back(node);
      if (node->IsOp("_Retval")) input.results.push_back(node);
    }
    PlanOptions options;
    options.devices = {&master_.device, &worker_.device};
    ASSIGN_OR_RETURN(const Plan plan, MakePlan(std::move(input), options));
    if (plan.parts.size() != 2) return absl::InternalError("there is one part");
    for (const Plan::Part& part : plan.parts) {
      tensorflow::GraphDef graph_def;
      ExportGraph(*part.graph, &graph_def);
      Machine& machine = part.device == kMaster ? master_ : worker_;
      RETURN_IF_ERROR(machine.Load(graph_def.SerializeAsString(), plan.boundary));
    }
    return absl::OkStatus();
  }

  // Runs both parts at once. A machine that fails ends the other, which may wait for it.
  void Run(const std::vector<Tensor>& args) {
    const auto run = [&args](Machine& machine, Machine& other) {
      RunArgs part;
      if (machine.executor->num_args() > 0) part.args = args;
      part.results = &machine.results;
      machine.status = machine.executor->Run(machine.step.context, part);
      if (!machine.status.ok()) other.wire.Abort(absl::CancelledError("the other one failed"));
    };
    std::thread thread([&] { run(worker_, master_); });
    run(master_, worker_);
    thread.join();
  }

  Machine master_{kMaster};
  Machine worker_{kWorker};
};

TEST_F(RemotePartsTest, ExchangeTensorsByTheStepsRendezvous) {
  ASSERT_EQ(Distribute(R"(
    x = _Arg() {T: int32, index: 0}
    here = TestAdd(x, x) on "/task:0"
    there = TestAdd(here, x) on "/task:1"
    sum = TestAdd(there, here) on "/task:0"
    result = _Retval(sum) {T: int32, index: 0} on "/task:0"
  )"),
            absl::OkStatus());

  Run({Tensor::Scalar<int32_t>(7)});

  ASSERT_TRUE(master_.status.ok()) << master_.status;
  ASSERT_TRUE(worker_.status.ok()) << worker_.status;
  EXPECT_EQ(master_.results.at(0).scalar<int32_t>(), 35);
  EXPECT_EQ(master_.wire.num_received(), 1);
}

// The worker learns in each iteration whether there is another one.
TEST_F(RemotePartsTest, StayInStepThroughALoop) {
  ASSERT_EQ(Distribute(R"(
    x = _Arg() {T: int32, index: 0} on "/task:0"
    limit = Const() {dtype: int32, value: int32(20)} on "/task:0"
    enter = Enter(x) {T: int32, frame_name: "double", is_constant: false,
                      parallel_iterations: 10} on "/task:0"
    enter_limit = Enter(limit) {T: int32, frame_name: "double", is_constant: true,
                                parallel_iterations: 10} on "/task:0"
    merge = Merge(enter, next) {T: int32, N: 2} on "/task:0"
    less = TestLess(merge, enter_limit) on "/task:0"
    go_on = LoopCond(less) on "/task:0"
    switch = Switch(merge, go_on) {T: int32} on "/task:0"
    twice = TestAdd(switch:1, switch:1) on "/task:1"
    next = NextIteration(twice) {T: int32} on "/task:0"
    exit = Exit(switch) {T: int32} on "/task:0"
    result = _Retval(exit) {T: int32, index: 0} on "/task:0"
  )"),
            absl::OkStatus());

  Run({Tensor::Scalar<int32_t>(1)});

  ASSERT_TRUE(master_.status.ok()) << master_.status;
  ASSERT_TRUE(worker_.status.ok()) << worker_.status;
  EXPECT_EQ(master_.results.at(0).scalar<int32_t>(), 32);
  EXPECT_GE(master_.wire.num_received(), 5);
}

TEST_F(RemotePartsTest, EndTogetherWhenOneFails) {
  ASSERT_EQ(Distribute(R"(
    x = _Arg() {T: int32, index: 0} on "/task:0"
    fail = TestFail(x) on "/task:1"
    sum = TestAdd(fail, x) on "/task:0"
    result = _Retval(sum) {T: int32, index: 0} on "/task:0"
  )"),
            absl::OkStatus());

  Run({Tensor::Scalar<int32_t>(1)});

  EXPECT_EQ(worker_.status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(worker_.status.message()), HasSubstr("told to fail"));
  EXPECT_EQ(master_.status.code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tessera
