// Steps of one session that wait for each other at a queue.
#include <gtest/gtest.h>

#include <thread>

#include "google/protobuf/text_format.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// A queue of floats, `x` to fill it, and `y` from it.
constexpr char kGraph[] = R"(
  node { name: "queue" op: "FIFOQueueV2"
    attr { key: "component_types" value { list { type: DT_FLOAT } } }
    attr { key: "shapes" value { list { shape { } } } }
    attr { key: "capacity" value { i: 1 } } }
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "put" op: "QueueEnqueueV2" input: "queue" input: "x"
    attr { key: "Tcomponents" value { list { type: DT_FLOAT } } } }
  node { name: "y" op: "QueueDequeueV2" input: "queue"
    attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "twice" op: "AddV2" input: "y" input: "y"
    attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "close" op: "QueueCloseV2" input: "queue" }
)";

std::unique_ptr<Session> MakeSession() {
  tensorflow::GraphDef graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kGraph, &graph));
  std::unique_ptr<Session> session = Session::Create({}).value();
  EXPECT_TRUE(session->Extend(graph).ok());
  return session;
}

absl::Status Put(Session& session, float value) {
  return session.Run({{"x:0", Tensor::Scalar(value)}}, {}, {"put"}, nullptr);
}

TEST(WaitingStepsTest, OneStepGetsWhatAnotherPuts) {
  const std::unique_ptr<Session> session = MakeSession();
  std::vector<Tensor> outputs;
  absl::Status status;
  std::thread reader([&] { status = session->Run({}, {"twice:0"}, {}, &outputs); });
  EXPECT_TRUE(Put(*session, 3).ok());
  reader.join();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(outputs[0].scalar<float>(), 6);
}

TEST(WaitingStepsTest, StepThatWaitsTooLongEndsAndTakesNothing) {
  const std::unique_ptr<Session> session = MakeSession();
  std::vector<Tensor> outputs;
  RunOptions options;
  options.timeout = absl::Milliseconds(20);
  EXPECT_EQ(session->Run(options, {}, {"y:0"}, {}, &outputs).code(),
            absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(Put(*session, 4).ok());
  ASSERT_TRUE(session->Run({}, {"y:0"}, {}, &outputs).ok());
  EXPECT_EQ(outputs[0].scalar<float>(), 4);
}

TEST(WaitingStepsTest, CancelledStepEnds) {
  const std::unique_ptr<Session> session = MakeSession();
  CancellationManager cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  std::vector<Tensor> outputs;
  absl::Status status;
  std::thread reader([&] { status = session->Run(options, {}, {"y:0"}, {}, &outputs); });
  cancellation.Cancel();
  reader.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
}

TEST(WaitingStepsTest, ClosingTheSessionEndsItsSteps) {
  const std::unique_ptr<Session> session = MakeSession();
  ASSERT_TRUE(Put(*session, 1).ok());
  absl::Status status;
  std::thread writer([&] { status = Put(*session, 2); });  // there is no room
  EXPECT_TRUE(session->Close().ok());
  writer.join();
  EXPECT_FALSE(status.ok());
}

TEST(WaitingStepsTest, ClosedQueueEndsTheReader) {
  const std::unique_ptr<Session> session = MakeSession();
  std::vector<Tensor> outputs;
  absl::Status status;
  std::thread reader([&] { status = session->Run({}, {"y:0"}, {}, &outputs); });
  EXPECT_TRUE(session->Run({}, {}, {"close"}, nullptr).ok());
  reader.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
}

}  // namespace
}  // namespace tessera
