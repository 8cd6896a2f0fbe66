// Runs at the same time on several streams of accelerators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/op.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

// Stateful, so that no run of it is captured.
REGISTER_OP("TestMeet").Input("x: float").Output("y: float").Stateful().ReadsOutside();

// The streams on which runs of TestMeet were. Each run waits there until `expected` have come.
struct Meeting {
  absl::Mutex mu;
  int expected = 0, come = 0;
  std::set<Stream*> streams;

  void Begin(int count) {
    absl::MutexLock lock(&mu);
    expected = count;
    come = 0;
    streams.clear();
  }
  void Come(Stream* stream) {
    absl::MutexLock lock(&mu);
    ++come;
    streams.insert(stream);
    const auto all_are_there = [this] { return come >= expected; };
    EXPECT_TRUE(mu.AwaitWithTimeout(absl::Condition(&all_are_there), absl::Seconds(30)));
  }
};
Meeting& TheMeeting() {
  static auto* const meeting = new Meeting;
  return *meeting;
}

class MeetKernel final : public OpKernel {
 public:
  explicit MeetKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    TheMeeting().Come(ctx.stream());
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TestMeet", kTestAccelerator, MeetKernel);

class StreamsTest : public ::testing::Test {
 protected:
  void Make(const char* nodes, int num_accelerators = 1) {
    SessionOptions options;
    options.devices.count["ACCEL"] = num_accelerators;
    options.inter_op_threads = 4;
    session_ = *Session::Create(options);
    tensorflow::GraphDef graph = GraphFromText(nodes);
    graph.mutable_versions()->set_producer(1000);
    const absl::Status extended = session_->Extend(graph);
    ASSERT_TRUE(extended.ok()) << extended;
  }
  const TestAccelerator& accelerator(int i) const {
    return *static_cast<const TestAccelerator*>(session_->ListDevices()[i]);
  }
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<NamedTensor>& feeds,
                                          const std::vector<std::string>& fetches) const {
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(session_->Run(feeds, fetches, {}, &outputs));
    return outputs;
  }

  std::unique_ptr<Session> session_;
};

TEST_F(StreamsTest, RunsAtOnceUseAStreamEach) {
  Make(R"(
    x = Placeholder() {dtype: float}
    met = TestMeet(x)
    y = Neg(met) {T: float}
  )");
  const auto run = [&](float value) {
    const auto outputs = Run({{"x:0", Tensor::Vector<float>({value})}}, {"y:0"});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT((*outputs)[0].flat<float>(), ElementsAre(-value));
  };
  TheMeeting().Begin(TestAccelerator::kNumStreams);
  std::vector<std::thread> threads;
  for (int i = 0; i < TestAccelerator::kNumStreams; ++i) {
    threads.emplace_back([&run, i] { run(static_cast<float>(i)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(TheMeeting().streams.size(), TestAccelerator::kNumStreams);
  // One after the other they use the first.
  TheMeeting().Begin(1);
  for (int i = 0; i < 5; ++i) run(1);
  EXPECT_THAT(TheMeeting().streams, ElementsAre(accelerator(0).stream()));
}

TEST_F(StreamsTest, RunsWithVariablesUseTheFirstStream) {
  Make(R"(
    x = Placeholder() {dtype: float}
    met = TestMeet(x)
    v = VarHandleOp() {dtype: float, shape: <>}
    set = AssignVariableOp(v, x) {dtype: float}
    add = AssignAddVariableOp(v, met) {dtype: float}
    read = ReadVariableOp(v, ^add) {dtype: float}
  )");
  ASSERT_TRUE(session_->Run({{"x:0", Tensor::Scalar(0.f)}}, {}, {"set"}, nullptr).ok());
  constexpr int kNumRuns = 4;
  TheMeeting().Begin(kNumRuns);
  std::vector<std::thread> threads;
  for (int i = 0; i < kNumRuns; ++i) {
    threads.emplace_back([this] {
      const auto outputs = Run({{"x:0", Tensor::Scalar(1.f)}}, {"read:0"});
      EXPECT_TRUE(outputs.ok()) << outputs.status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(TheMeeting().streams, ElementsAre(accelerator(0).stream()));
  TheMeeting().Begin(1);
  EXPECT_EQ((*Run({{"x:0", Tensor::Scalar(1.f)}}, {"read:0"}))[0].scalar<float>(), kNumRuns + 1);
}

// Values go from one accelerator to the other and back, in programs that are captured and, for
// shapes that come once, in programs that are not. All memory is poisoned when it is released, and
// the second accelerator pauses at random.
TEST_F(StreamsTest, RandomRunsOnTwoAcceleratorsDoNotMix) {
  Make(R"(
    x = Placeholder() {dtype: float}
    w = Const() {dtype: float, value: float(3)} on "/device:ACCEL:0"
    a = Mul(x, w) {T: float} on "/device:ACCEL:0"
    b = Tanh(a) {T: float} on "/device:ACCEL:0"
    c = AddV2(b, a) {T: float} on "/device:ACCEL:1"
    d = Square(c) {T: float} on "/device:ACCEL:1"
    e = Sub(d, b) {T: float} on "/device:ACCEL:0"
    # Wholly on one of them, which is captured.
    p = Mul(x, w) {T: float} on "/device:ACCEL:0"
    q = Square(p) {T: float} on "/device:ACCEL:0"
    r = Sub(q, p) {T: float} on "/device:ACCEL:0"
  )",
       2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([this, t] {
      std::minstd_rand random(t + 1);
      for (int i = 0; i < 60; ++i) {
        const int64_t length = random() % 4 == 0 ? 1 + random() % 2000 : 64 << (random() % 3);
        Tensor x = *Tensor::Allocate(DType::kFloat, {length});
        for (float& value : x.flat<float>()) value = static_cast<float>(random() % 1000) * 0.001f;
        const bool on_both = random() % 2 == 0;
        const auto outputs = Run({{"x:0", x}}, {on_both ? "e:0" : "r:0"});
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        for (int64_t k = 0; k < length; ++k) {
          const float a = 3 * x.flat<float>()[k], b = std::tanh(a);
          ASSERT_NEAR((*outputs)[0].flat<float>()[k], on_both ? (b + a) * (b + a) - b : a * a - a,
                      1e-4);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(accelerator(0).num_captured_enqueued(), 0);
  EXPECT_GT(accelerator(0).memory().num_orders() + accelerator(1).memory().num_orders(), 0)
      << "memory never went from stream to stream";
}

}  // namespace
}  // namespace tessera
