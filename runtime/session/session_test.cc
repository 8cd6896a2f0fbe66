#include "runtime/session/session.h"

#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "runtime/exec/testing/executor_test_ops.h"
#include "runtime/host/background.h"
#include "runtime/host/host.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/step_stats.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

tensorflow::GraphDef Parse(const std::string& text) {
  tensorflow::GraphDef graph;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &graph)) << text;
  graph.mutable_versions()->set_producer(1000);
  return graph;
}

// sum = a + b; twice = sum + sum; wait ends when it is cancelled; count counts its runs; sleep
// takes a milliseconds.
tensorflow::GraphDef SampleGraph() {
  return Parse(R"pb(
    node {
      name: "a"
      op: "Placeholder"
      attr {
        key: "dtype"
        value { type: DT_INT32 }
      }
    }
    node {
      name: "b"
      op: "Placeholder"
      attr {
        key: "dtype"
        value { type: DT_INT32 }
      }
    }
    node { name: "sum" op: "TestAdd" input: "a" input: "b" }
    node { name: "twice" op: "TestAdd" input: "sum" input: "sum" }
    node { name: "wait" op: "TestWait" input: "a" }
    node { name: "count" op: "TestCount" input: "a" }
    node { name: "sleep" op: "TestSleep" input: "a" }
  )pb");
}

Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SessionOptions options;
    options.host = host_;
    session_ = *Session::Create(options);
    ASSERT_TRUE(session_->Extend(SampleGraph()).ok());
  }
  const std::shared_ptr<Host> host_ =
      std::make_shared<Host>(Host::Options{.intra_op_threads = 2, .inter_op_threads = 2});
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, RunsFromFeedsToFetches) {
  std::vector<Tensor> outputs;
  ASSERT_TRUE(
      session_->Run({{"a:0", Int(1)}, {"b", Int(2)}}, {"twice:0", "sum"}, {}, &outputs).ok());
  ASSERT_EQ(outputs.size(), 2);
  EXPECT_EQ(outputs[0].scalar<int32_t>(), 6);
  EXPECT_EQ(outputs[1].scalar<int32_t>(), 3);
}

TEST_F(SessionTest, OrderOfFeedsAndFetchesIsTheCallers) {
  for (int i = 0; i < 2; ++i) {
    std::vector<Tensor> outputs;
    ASSERT_TRUE(
        session_->Run({{"b", Int(10)}, {"a", Int(1)}}, {"twice", "sum", "b", "a"}, {}, &outputs)
            .ok());
    EXPECT_EQ(outputs[0].scalar<int32_t>(), 22);
    EXPECT_EQ(outputs[1].scalar<int32_t>(), 11);
    EXPECT_EQ(outputs[2].scalar<int32_t>(), 10);
    EXPECT_EQ(outputs[3].scalar<int32_t>(), 1);
  }
}

TEST_F(SessionTest, AnyTensorCanBeFed) {
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session_->Run({{"sum:0", Int(50)}}, {"twice"}, {}, &outputs).ok());
  EXPECT_EQ(outputs[0].scalar<int32_t>(), 100);
}

TEST_F(SessionTest, FeedOfAnotherTypeIsRefusedInWordsClientsKnow) {
  std::vector<Tensor> outputs;
  const absl::Status status =
      session_->Run({{"a:0", Tensor::Scalar("text")}, {"b:0", Int(2)}}, {"sum"}, {}, &outputs);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("expects a:0 to be int32 but string is provided"));
}

TEST_F(SessionTest, UnknownNamesAreNotFound) {
  std::vector<Tensor> outputs;
  EXPECT_EQ(session_->Run({}, {"nothing"}, {}, &outputs).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(session_->Run({{"nothing", Int(1)}}, {"sum"}, {}, &outputs).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(session_->Run({}, {}, {"nothing"}, &outputs).code(), absl::StatusCode::kNotFound);
}

TEST_F(SessionTest, NamesWithLineBreaksAreNoOtherNames) {
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session_->Run({{"a", Int(1)}, {"b", Int(2)}}, {"a", "b"}, {}, &outputs).ok());
  EXPECT_EQ(session_->Run({{"a", Int(1)}, {"b", Int(2)}}, {"a\nb"}, {}, &outputs).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(SessionTest, PlaceholderThatIsNotFedIsNamed) {
  std::vector<Tensor> outputs;
  const absl::Status status = session_->Run({{"a", Int(1)}}, {"sum"}, {}, &outputs);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'b'"));
}

TEST_F(SessionTest, ExtendAddsNodesAndAnErrorAddsNone) {
  ASSERT_TRUE(session_
                  ->Extend(Parse(R"pb(
                    node { name: "more" op: "TestAdd" input: "twice" input: "a" }
                  )pb"))
                  .ok());
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session_->Run({{"a", Int(1)}, {"b", Int(2)}}, {"more"}, {}, &outputs).ok());
  EXPECT_EQ(outputs[0].scalar<int32_t>(), 7);

  EXPECT_FALSE(session_
                   ->Extend(Parse(R"pb(
                     node { name: "fine" op: "TestAdd" input: "a" input: "a" }
                     node { name: "bad" op: "TestAdd" input: "a" input: "nobody" }
                   )pb"))
                   .ok());
  EXPECT_EQ(session_->Run({{"a", Int(1)}}, {"fine"}, {}, &outputs).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(SessionTest, StatefulNodesKeepTheirStateWhateverIsFetched) {
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session_->Run({{"a", Int(0)}}, {"count"}, {}, &outputs).ok());
  EXPECT_EQ(outputs[0].scalar<int32_t>(), 1);
  ASSERT_TRUE(session_->Run({{"a", Int(0)}}, {"count", "a"}, {}, &outputs).ok());
  EXPECT_EQ(outputs[0].scalar<int32_t>(), 2);
}

TEST_F(SessionTest, TimeoutEndsAStepThatWaits) {
  RunOptions options;
  options.timeout = absl::Milliseconds(20);
  std::vector<Tensor> outputs;
  EXPECT_EQ(session_->Run(options, {{"a", Int(0)}}, {"wait"}, {}, &outputs).code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(SessionTest, CallersCancellationEndsAStepThatWaits) {
  CancellationManager cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(20));
    cancellation.Cancel();
  });
  std::vector<Tensor> outputs;
  EXPECT_EQ(session_->Run(options, {{"a", Int(0)}}, {"wait"}, {}, &outputs).code(),
            absl::StatusCode::kCancelled);
  canceller.join();
  EXPECT_EQ(session_->Run(options, {{"a", Int(0)}}, {"wait"}, {}, &outputs).code(),
            absl::StatusCode::kCancelled);
}

TEST_F(SessionTest, CloseEndsRunningStepsAndRefusesNewOnes) {
  absl::Status running;
  std::thread runner([&] {
    std::vector<Tensor> outputs;
    running = session_->Run({{"a", Int(0)}}, {"wait"}, {}, &outputs);
  });
  absl::SleepFor(absl::Milliseconds(20));
  ASSERT_TRUE(session_->Close().ok());
  runner.join();
  EXPECT_FALSE(running.ok());
  std::vector<Tensor> outputs;
  EXPECT_EQ(session_->Run({{"a", Int(0)}}, {"count"}, {}, &outputs).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(session_->Extend(Parse("")).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SessionTest, CallableOutlivesItsSession) {
  auto callable = session_->MakeCallable({{"b", "a"}, {"sum", "b"}, {}});
  ASSERT_TRUE(callable.ok()) << callable.status();
  session_.reset();
  std::vector<Tensor> outputs;
  ASSERT_TRUE((*callable)->Run({}, {Int(3), Int(4)}, &outputs).ok());
  EXPECT_EQ(outputs[0].scalar<int32_t>(), 7);
  EXPECT_EQ(outputs[1].scalar<int32_t>(), 3);
  EXPECT_EQ((*callable)->Run({}, {Int(3)}, &outputs).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SessionTest, RunMetadataHasTheStepsNodes) {
  RunOptions options;
  options.collect_stats = true;
  std::vector<Tensor> outputs;
  tensorflow::RunMetadata metadata;
  ASSERT_TRUE(
      session_->Run(options, {{"a", Int(1)}, {"b", Int(2)}}, {"twice"}, {}, &outputs, &metadata)
          .ok());
  ASSERT_EQ(metadata.step_stats().dev_stats_size(), 1);
  EXPECT_GE(metadata.step_stats().dev_stats(0).node_stats_size(), 2);
}

TEST_F(SessionTest, PartialRunGoesAsFarAsItIsFed) {
  auto handle = session_->PartialRunSetup({{"a:0", "b:0"}, {"sum:0", "a:0", "twice:0"}, {}});
  ASSERT_TRUE(handle.ok()) << handle.status();
  std::vector<Tensor> outputs;
  EXPECT_EQ(session_->PartialRun(*handle, {{"a:0", Int(1)}}, {"sum:0"}, &outputs).code(),
            absl::StatusCode::kInvalidArgument)
      << "sum needs b";
  ASSERT_TRUE(session_->PartialRun(*handle, {{"a:0", Int(1)}}, {"a:0"}, &outputs).ok());
  EXPECT_EQ(outputs[0].scalar<int32_t>(), 1);
  EXPECT_EQ(session_->PartialRun(*handle, {{"a:0", Int(1)}}, {}, &outputs).code(),
            absl::StatusCode::kInvalidArgument)
      << "a was fed before";
  ASSERT_TRUE(session_->PartialRun(*handle, {{"b:0", Int(2)}}, {"sum:0"}, &outputs).ok());
  EXPECT_EQ(outputs[0].scalar<int32_t>(), 3);
  ASSERT_TRUE(session_->PartialRun(*handle, {}, {"twice:0"}, &outputs).ok());
  EXPECT_EQ(outputs[0].scalar<int32_t>(), 6);
  EXPECT_EQ(session_->PartialRun(*handle, {}, {"twice:0"}, &outputs).code(),
            absl::StatusCode::kInvalidArgument)
      << "the run is over";
}

TEST_F(SessionTest, PartialRunThatIsAbandonedIsCancelled) {
  auto handle = session_->PartialRunSetup({{"a:0"}, {"wait:0"}, {}});
  ASSERT_TRUE(handle.ok()) << handle.status();
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session_->PartialRun(*handle, {{"a:0", Int(1)}}, {}, &outputs).ok());
  session_.reset();  // returns
}

TEST_F(SessionTest, ListsItsDevices) {
  ASSERT_EQ(session_->ListDevices().size(), 1);
  EXPECT_EQ(session_->ListDevices()[0]->name().ToString(),
            "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST_F(SessionTest, ConcurrentRunsAndExtends) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        std::vector<Tensor> outputs;
        ASSERT_TRUE(session_->Run({{"a", Int(i)}, {"b", Int(t)}}, {"sum"}, {}, &outputs).ok());
        ASSERT_EQ(outputs[0].scalar<int32_t>(), i + t);
      }
      stop = true;
    });
  }
  for (int i = 0; i < 50 && !stop; ++i) {
    ASSERT_TRUE(session_
                    ->Extend(Parse("node { name: 'x" + std::to_string(i) +
                                   "' op: 'TestAdd' input: 'a' input: 'b' }"))
                    .ok());
  }
  for (std::thread& thread : threads) thread.join();
}

// Variables by reference, containers, two devices.

tensorflow::GraphDef VariableGraph() {
  return Parse(R"pb(
    node {
      name: "v"
      op: "VariableV2"
      attr {
        key: "dtype"
        value { type: DT_INT32 }
      }
      attr {
        key: "shape"
        value { shape {} }
      }
      attr {
        key: "container"
        value { s: "box" }
      }
    }
    node {
      name: "one"
      op: "Const"
      attr {
        key: "dtype"
        value { type: DT_INT32 }
      }
      attr {
        key: "value"
        value {
          tensor {
            dtype: DT_INT32
            tensor_shape {}
            int_val: 1
          }
        }
      }
    }
    node {
      name: "init"
      op: "Assign"
      input: "v"
      input: "one"
      attr {
        key: "T"
        value { type: DT_INT32 }
      }
    }
    node {
      name: "read"
      op: "Identity"
      input: "v"
      attr {
        key: "T"
        value { type: DT_INT32 }
      }
    }
  )pb");
}

TEST(SessionStateTest, VariablesLastUntilTheyAreDeleted) {
  std::unique_ptr<Session> session = *Session::Create({});
  ASSERT_TRUE(session->Extend(VariableGraph()).ok());
  std::vector<Tensor> outputs;
  EXPECT_EQ(session->Run({}, {"read"}, {}, &outputs).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(session->Run({}, {}, {"init"}, nullptr).ok());
  ASSERT_TRUE(session->Run({}, {"read"}, {}, &outputs).ok());
  EXPECT_EQ(outputs[0].scalar<int32_t>(), 1);
  ASSERT_TRUE(session->resources().Delete("box", Variable::kRefTypeName, "v").ok());
  EXPECT_EQ(session->Run({}, {"read"}, {}, &outputs).code(), absl::StatusCode::kFailedPrecondition);
}

// Has all slots of a host while it lives.
class AllSlots {
 public:
  explicit AllSlots(RunSlots& slots) {
    for (int64_t length = RunSlots::kLongNanoseconds; length < 1'000'000'000; length *= 8) {
      do {
        turns_.push_back(std::make_unique<RunSlots::Turn>(slots));
      } while (turns_.back()->Await(length, absl::InfinitePast(), nullptr).ok());
    }
  }
  ~AllSlots() {
    while (!turns_.empty()) turns_.pop_back();
  }

 private:
  std::vector<std::unique_ptr<RunSlots::Turn>> turns_;
};

TEST_F(SessionTest, LongRunsWaitForTheirTurnAndShortOnesDoNot) {
  const auto sleeps = session_->MakeCallable({{"a:0"}, {"sleep:0"}, {}}).value();
  const auto adds = session_->MakeCallable({{"a:0", "b:0"}, {"sum:0"}, {}}).value();
  std::vector<Tensor> results;
  // It is known to take long once it has run.
  ASSERT_TRUE(sleeps->Run({}, {Int(2)}, &results).ok());
  const RunOptions soon{.timeout = absl::Milliseconds(50)};
  {
    const AllSlots taken(host_->run_slots());
    EXPECT_EQ(sleeps->Run(soon, {Int(2)}, &results).code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_TRUE(adds->Run(soon, {Int(1), Int(2)}, &results).ok());
    ThreadPool pool({.name = "background", .num_threads = 1});
    const BackgroundScope background(&pool);
    EXPECT_TRUE(sleeps->Run({}, {Int(2)}, &results).ok());
  }
  EXPECT_TRUE(sleeps->Run({}, {Int(2)}, &results).ok());
}

TEST_F(SessionTest, CloseEndsARunThatWaitsForItsTurn) {
  const auto sleeps = session_->MakeCallable({{"a:0"}, {"sleep:0"}, {}}).value();
  std::vector<Tensor> results;
  ASSERT_TRUE(sleeps->Run({}, {Int(2)}, &results).ok());
  const AllSlots taken(host_->run_slots());
  std::thread closer([&] {
    while (host_->run_slots().num_waiting() == 0) absl::SleepFor(absl::Milliseconds(1));
    EXPECT_TRUE(session_->Close().ok());
  });
  EXPECT_EQ(sleeps->Run({}, {Int(2)}, &results).code(), absl::StatusCode::kCancelled);
  closer.join();
}

TEST(SessionDevicesTest, GraphIsSplitOverDevices) {
  SessionOptions options;
  options.devices.count = {{"CPU", 2}};
  std::unique_ptr<Session> session = *Session::Create(options);
  EXPECT_EQ(session->ListDevices().size(), 2);
  tensorflow::GraphDef graph = SampleGraph();
  for (tensorflow::NodeDef& node : *graph.mutable_node()) {
    if (node.name() == "twice") node.set_device("/cpu:1");
    if (node.name() == "sum") node.set_device("/cpu:0");
  }
  ASSERT_TRUE(session->Extend(graph).ok());
  for (const bool on_caller : {true, false}) {
    RunOptions run_options;
    run_options.run_on_caller = on_caller;
    std::vector<Tensor> outputs;
    const absl::Status status =
        session->Run(run_options, {{"a", Int(1)}, {"b", Int(2)}}, {"twice", "sum"}, {}, &outputs);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(outputs[0].scalar<int32_t>(), 6);
    EXPECT_EQ(outputs[1].scalar<int32_t>(), 3);
  }
}

}  // namespace
}  // namespace tessera
