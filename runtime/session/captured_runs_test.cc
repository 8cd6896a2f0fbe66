// Runs whose work an accelerator captured, beside runs kernel by kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
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

using ::testing::HasSubstr;

REGISTER_OP("TestWaitsForDevice").Input("x: float").Output("y: float");
REGISTER_OP("TestIsStateful").Input("x: float").Output("y: float").Stateful().ReadsOutside();

class PassKernel : public OpKernel {
 public:
  explicit PassKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TestIsStateful", kTestAccelerator, PassKernel);

class WaitKernel final : public PassKernel {
 public:
  using PassKernel::PassKernel;
  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(ctx.stream()->Synchronize());
    return PassKernel::Compute(ctx);
  }
};
REGISTER_KERNEL("TestWaitsForDevice", kTestAccelerator, WaitKernel);

// One node for each line "NAME OP INPUT...".
tensorflow::GraphDef GraphOf(const std::vector<std::string>& nodes) {
  tensorflow::GraphDef graph = GraphFromText(R"(
    x = Placeholder() {dtype: float}
    dims = Placeholder() {dtype: int32}
    two = Const() {dtype: float, value: float(2)}
    axis = Const() {dtype: int32, value: int32(0)}
  )");
  for (const std::string& line : nodes) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    tensorflow::NodeDef* const node = graph.add_node();
    node->set_name(words[0]);
    node->set_op(words[1]);
    for (size_t i = 2; i < words.size(); ++i) node->add_input(words[i]);
    if (!absl::StartsWith(words[1], "Test"))
      (*node->mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
  }
  graph.mutable_versions()->set_producer(1000);
  return graph;
}

class CapturedRunsTest : public ::testing::Test {
 protected:
  void Make(const std::vector<std::string>& nodes) {
    SessionOptions options;
    options.devices.count["ACCEL"] = 1;
    session_ = *Session::Create(options);
    const absl::Status extended = session_->Extend(GraphOf(nodes));
    ASSERT_TRUE(extended.ok()) << extended;
  }
  int64_t NumCapturedEnqueued() const {
    return static_cast<const TestAccelerator*>(session_->ListDevices()[0])->num_captured_enqueued();
  }
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<NamedTensor>& feeds,
                                          const std::vector<std::string>& fetches) const {
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(session_->Run(feeds, fetches, {}, &outputs));
    return outputs;
  }
  // Runs y = tanh(2 x + x), sum = y_0 + ... + y_(length-1) for x_i = (i + from) / 10.
  void ExpectSum(int64_t length, int from) const {
    Tensor x = *Tensor::Allocate(DType::kFloat, {length});
    for (int64_t i = 0; i < length; ++i) x.flat<float>()[i] = 0.1f * static_cast<float>(i + from);
    const auto outputs = Run({{"x:0", x}}, {"y:0", "sum:0"});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    float sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      const float y = std::tanh(3 * x.flat<float>()[i]);
      EXPECT_NEAR((*outputs)[0].flat<float>()[i], y, 1e-5);
      sum += y;
    }
    EXPECT_NEAR((*outputs)[1].scalar<float>(), sum, 1e-4);
  }

  std::unique_ptr<Session> session_;
};

const std::vector<std::string> kSum = {"doubled Mul x two", "tripled AddV2 doubled x",
                                       "y Tanh tripled", "sum Sum y axis"};

TEST_F(CapturedRunsTest, ShapesThatComeAgainAreReplayedWithTheirOwnValues) {
  Make(kSum);
  for (int run = 0; run < 6; ++run) {
    ExpectSum(5, run);
    ExpectSum(300, 7 * run);
  }
  // All runs but the first of each shape.
  EXPECT_EQ(NumCapturedEnqueued(), 10);
  ExpectSum(0, 0);
  ExpectSum(0, 0);
}

TEST_F(CapturedRunsTest, ForgottenShapesAreCapturedAnew) {
  Make(kSum);
  for (int round = 0; round < 2; ++round) {
    for (int64_t length = 1; length <= 20; ++length) {
      for (int run = 0; run < 3; ++run) ExpectSum(length, run);
    }
  }
  EXPECT_EQ(NumCapturedEnqueued(), 80);
}

TEST_F(CapturedRunsTest, RunsAtOnceDoNotMix) {
  Make(kSum);
  std::vector<std::thread> threads;
  for (int t = 0; t < 12; ++t) {  // more than streams, so that some share one
    threads.emplace_back([this, t] {
      for (int run = 0; run < 200; ++run) ExpectSum(run % 2 == 0 ? 64 : 65, 3 * t + run);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(NumCapturedEnqueued(), 100);
}

TEST_F(CapturedRunsTest, ArgumentsThatTheHostReadsKeepAProgramFromBeingCaptured) {
  Make({"y Reshape x dims"});
  for (int rows = 1; rows <= 4; ++rows) {
    const auto outputs =
        Run({{"x:0", Tensor::Vector<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})},
             {"dims:0", Tensor::Vector<int32_t>({rows, 12 / rows})}},
            {"y:0"});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ((*outputs)[0].shape(), Shape({rows, 12 / rows}));
  }
  EXPECT_EQ(NumCapturedEnqueued(), 0);
}

TEST_F(CapturedRunsTest, StateKeepsAProgramFromBeingCaptured) {
  Make({"state TestIsStateful x", "y Neg state"});
  for (int run = 0; run < 4; ++run) {
    const auto outputs = Run({{"x:0", Tensor::Scalar<float>(run)}}, {"y:0"});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ((*outputs)[0].scalar<float>(), -run);
  }
  EXPECT_EQ(NumCapturedEnqueued(), 0);
}

TEST_F(CapturedRunsTest, AKernelThatWaitsForTheDeviceRunsEachTime) {
  Make({"doubled Mul x two", "waited TestWaitsForDevice doubled", "y Neg waited"});
  for (int run = 0; run < 4; ++run) {
    const auto outputs = Run({{"x:0", Tensor::Scalar<float>(run)}}, {"y:0"});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ((*outputs)[0].scalar<float>(), -2 * run);
  }
  EXPECT_EQ(NumCapturedEnqueued(), 0);
}

TEST_F(CapturedRunsTest, ALostDeviceFailsReplays) {
  Make(kSum);
  for (int run = 0; run < 3; ++run) ExpectSum(5, run);
  static_cast<LateStream*>(session_->ListDevices()[0]->stream())->Lose();
  const auto outputs = Run({{"x:0", Tensor::Vector<float>({1, 2, 3, 4, 5})}}, {"sum:0"});
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CapturedRunsTest, OutOfMemoryNamesTheNodeThatAsked) {
  Make({"large Fill dims two"});
  const auto outputs = Run({{"dims:0", Tensor::Vector<int32_t>({1 << 20, 1 << 10})}}, {"large:0"});
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(outputs.status().message()), HasSubstr("; asked for by 'large'"));
}

}  // namespace
}  // namespace tessera
