#include "runtime/session/queue_threads.h"

#include <memory>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/graph/testing/graph_text.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// A queue that is filled from another one, which stays empty.
constexpr char kStarving[] = R"(
  source = FIFOQueueV2() {component_types: [int64], shapes: [<>]}
  queue = FIFOQueueV2() {component_types: [int64], shapes: [<>]}
  next = QueueDequeueV2(source) {component_types: [int64]}
  enqueue = QueueEnqueueV2(queue, next) {Tcomponents: [int64]}
  close = QueueCloseV2(queue) {cancel_pending_enqueues: false}
  cancel = QueueCloseV2(queue) {cancel_pending_enqueues: true}
  element = QueueDequeueV2(queue) {component_types: [int64]}
  one = Const() {dtype: int64, value: int64(1)}
  put = QueueEnqueueV2(queue, one) {Tcomponents: [int64]}
)";

class QueueThreadsTest : public ::testing::Test {
 protected:
  QueueThreadsTest() : session_(Session::Create({}).value()) {
    EXPECT_TRUE(session_->Extend(GraphFromText(kStarving)).ok());
  }
  std::unique_ptr<QueueThreads> Start(CancellationManager* cancellation) {
    const QueueRunner runner{.queue = "queue",
                             .enqueue = {"enqueue"},
                             .close = "close",
                             .cancel = "cancel",
                             .end_codes = {absl::StatusCode::kOutOfRange}};
    return QueueThreads::Start({runner}, *session_, cancellation).value();
  }
  absl::Status Run(const std::string& target) { return session_->Run({}, {}, {target}, nullptr); }

  std::unique_ptr<Session> session_;
};

TEST_F(QueueThreadsTest, CancellingEndsTheWaitForAnElement) {
  CancellationManager cancellation;
  const auto threads = Start(&cancellation);
  absl::Status taken;
  std::thread consumer([&] { taken = Run("element"); });
  cancellation.Cancel();
  consumer.join();
  EXPECT_EQ(taken.code(), absl::StatusCode::kOutOfRange) << taken;
  EXPECT_TRUE(threads->status().ok()) << threads->status();
}

TEST_F(QueueThreadsTest, ElementsThatAreThereOutliveTheCancelling) {
  CancellationManager cancellation;
  const auto threads = Start(&cancellation);
  ASSERT_TRUE(Run("put").ok());
  cancellation.Cancel();
  EXPECT_TRUE(Run("element").ok());
  EXPECT_EQ(Run("element").code(), absl::StatusCode::kOutOfRange);
}

TEST_F(QueueThreadsTest, QueuesAreClosedIfTheCallerHasCancelledBefore) {
  CancellationManager cancellation;
  cancellation.Cancel();
  const auto threads = Start(&cancellation);
  EXPECT_EQ(Run("element").code(), absl::StatusCode::kOutOfRange);
}

TEST_F(QueueThreadsTest, DestructionEndsThreadsThatWait) {
  { const auto threads = Start(nullptr); }
  EXPECT_EQ(Run("element").code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace tessera
