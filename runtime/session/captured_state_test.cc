// Captured runs of programs that read and write variables, and of functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CapturedStateTest : public ::testing::Test {
 protected:
  // The variable `name` of two floats, its value `name`/read, and the target `name`/init that sets
  // it to what placeholder `first` is fed with.
  static std::string Variable(absl::string_view name) {
    return absl::Substitute(R"(
      $0 = VarHandleOp() {dtype: float, shape: <2>, shared_name: "$0"}
      $0_read = ReadVariableOp($0) {dtype: float}
      $0_init = AssignVariableOp($0, first) {dtype: float}
    )",
                            name);
  }
  // Makes a session of these nodes and two placeholders.
  void Make(const std::string& nodes, bool with_accelerator = true) {
    SessionOptions options;
    if (with_accelerator) options.devices.count["ACCEL"] = 1;
    options.inter_op_threads = 2;
    session_ = *Session::Create(options);
    tensorflow::GraphDef graph = GraphFromText(absl::StrCat(R"(
      first = Placeholder() {dtype: float}
      x = Placeholder() {dtype: float}
    )",
                                                            nodes));
    graph.mutable_versions()->set_producer(1000);
    const absl::Status extended = session_->Extend(graph);
    ASSERT_TRUE(extended.ok()) << extended;
  }
  int64_t NumCaptured() const {
    return static_cast<const TestAccelerator*>(session_->ListDevices()[0])->num_captured_enqueued();
  }
  static Tensor Pair(float a, float b) { return Tensor::Vector<float>({a, b}); }
  // Feeds "x" unless it has no value.
  absl::StatusOr<std::vector<Tensor>> Run(const Tensor& x, const std::vector<std::string>& fetches,
                                          const std::vector<std::string>& targets = {}) const {
    std::vector<NamedTensor> feeds;
    if (x.has_value()) feeds.emplace_back("x:0", x);
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(session_->Run(feeds, fetches, targets, &outputs));
    return outputs;
  }
  void Set(const std::string& variable, const Tensor& value) const {
    const absl::Status status =
        session_->Run({{"first:0", value}}, {}, {variable + "_init"}, nullptr);
    ASSERT_TRUE(status.ok()) << status;
  }
  std::vector<float> Value(const std::string& variable) const {
    const auto outputs = Run(Tensor(), {variable + "_read:0"});
    CHECK(outputs.ok()) << outputs.status();
    const auto flat = (*outputs)[0].flat<float>();
    return {flat.begin(), flat.end()};
  }

  // Momentum with the gradient w * x, and a count of the steps that is assigned anew each time.
  static std::string Training() {
    return absl::StrCat(Variable("w"), Variable("momentum"), Variable("count"), Variable("rate"),
                        R"(
      one = Const() {dtype: float, value: float(1)}
      decay = Const() {dtype: float, value: float(0.5)}
      axis = Const() {dtype: int32, value: int32(0)}
      gradient = Mul(w_read, x) {T: float}
      loss = Sum(gradient, axis) {T: float}
      lr = Max(rate_read, axis) {T: float}
      update = ResourceApplyMomentum(w, momentum, lr, gradient, decay) {T: float}
      counted = AddV2(count_read, one) {T: float}
      count_up = AssignVariableOp(count, counted) {dtype: float}
      train = NoOp(^update, ^count_up)
    )");
  }
  void SetAll() const {
    Set("w", Pair(1, -2));
    Set("momentum", Pair(0, 0));
    Set("count", Pair(0, 10));
    Set("rate", Pair(0.1f, 0.01f));
  }

  std::unique_ptr<Session> session_;
};

TEST_F(CapturedStateTest, StepsAreReplayedWithTheNumbersOfOtherDevices) {
  std::vector<std::vector<float>> curves[2], finals[2];
  for (const bool on_accelerator : {false, true}) {
    Make(Training(), on_accelerator);
    SetAll();
    for (int step = 0; step < 8; ++step) {
      const auto outputs = Run(Pair(0.1f * step, 1), {"loss:0", "count_read:0"}, {"train"});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      // What is fetched was read before it was written.
      EXPECT_THAT((*outputs)[1].flat<float>(), ElementsAre(step, step + 10));
      curves[on_accelerator].push_back({(*outputs)[0].scalar<float>()});
    }
    finals[on_accelerator] = {Value("w"), Value("momentum"), Value("count")};
  }
  EXPECT_EQ(curves[0], curves[1]);
  EXPECT_EQ(finals[0], finals[1]);
  EXPECT_THAT(finals[1][2], ElementsAre(8, 18));
  // All steps but the first.
  EXPECT_GE(NumCaptured(), 7);
}

TEST_F(CapturedStateTest, VariablesThatWereSetElsewhereAreCapturedAnew) {
  Make(Training());
  SetAll();
  for (int round = 0; round < 3; ++round) {
    Set("w", Pair(round, 1));
    Set("momentum", Pair(0, 0));
    // No decay of an earlier momentum, and a rate that is another one each time.
    Set("rate", Pair(0.25f * round, 0));
    const int64_t before = NumCaptured();
    std::vector<float> w = {static_cast<float>(round), 1}, m = {0, 0};
    for (int step = 0; step < 5; ++step) {
      const auto outputs = Run(Pair(1, 2), {"loss:0"}, {"train"});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_NEAR((*outputs)[0].scalar<float>(), w[0] + 2 * w[1], 1e-4f);
      for (int i = 0; i < 2; ++i) {
        m[i] = m[i] * 0.5f + w[i] * (i == 0 ? 1 : 2);
        w[i] -= 0.25f * round * m[i];
      }
    }
    EXPECT_NEAR(Value("w")[1], w[1], 1e-4f);
    EXPECT_GT(NumCaptured(), before) << "in round " << round;
  }
}

TEST_F(CapturedStateTest, AVariableWithoutAValueIsAnErrorAndIsCapturedOnceItHasOne) {
  Make(Training());
  for (int run = 0; run < 4; ++run) {
    const auto outputs = Run(Pair(1, 1), {"loss:0"}, {"train"});
    EXPECT_EQ(outputs.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(outputs.status().message()), HasSubstr("no value yet"));
  }
  EXPECT_EQ(NumCaptured(), 0);
  SetAll();
  for (int run = 0; run < 5; ++run) ASSERT_TRUE(Run(Pair(1, 1), {"loss:0"}, {"train"}).ok());
  EXPECT_THAT(Value("count"), ElementsAre(5, 15));
  EXPECT_GT(NumCaptured(), 0);
}

TEST_F(CapturedStateTest, VariablesMayGetEachOthersValues) {
  Make(absl::StrCat(Variable("a"), Variable("b"), R"(
    to_a = AssignVariableOp(a, b_read, ^a_read) {dtype: float}
    to_b = AssignVariableOp(b, a_read, ^b_read) {dtype: float}
    swap = NoOp(^to_a, ^to_b)
  )"));
  Set("a", Pair(1, 2));
  Set("b", Pair(3, 4));
  for (int run = 1; run <= 6; ++run) {
    ASSERT_TRUE(Run(Tensor(), {}, {"swap"}).ok());
    EXPECT_THAT(Value("a"), run % 2 == 1 ? ElementsAre(3, 4) : ElementsAre(1, 2)) << run;
    EXPECT_THAT(Value("b"), run % 2 == 1 ? ElementsAre(1, 2) : ElementsAre(3, 4)) << run;
  }
}

TEST_F(CapturedStateTest, RunsAtOnceKeepVariablesWhole) {
  Make(Variable("sum") + "add = AssignAddVariableOp(sum, x) {dtype: float}");
  Set("sum", Pair(0, 0));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int run = 0; run < 50; ++run) {
        const auto status = Run(Pair(1, t), {}, {"add"}).status();
        ASSERT_TRUE(status.ok()) << status;
        if (run % 10 == 0) Value("sum");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Value("sum"), ElementsAre(200, 50 * (0 + 1 + 2 + 3)));
}

// While n < 6: n += 1, x = x * w, in functions. `w` is a variable.
constexpr char kLoop[] = R"(
  def cond(n: float, x: float, w: resource) -> (go_on: bool):
    limit = Const() {dtype: float, value: float(6)}
    less = Less(n, limit:output:0) {T: float}
  return (go_on = less:z:0)

  def body(n: float, x: float, w: resource) -> (n_out: float, x_out: float, w_out: resource):
    one = Const() {dtype: float, value: float(1)}
    next = AddV2(n, one:output:0) {T: float}
    factor = ReadVariableOp(w) {dtype: float}
    scaled = Mul(x, factor:value:0) {T: float}
  return (n_out = next:z:0, x_out = scaled:z:0, w_out = w)
)";

TEST_F(CapturedStateTest, BodiesOfLoopsAreCaptured) {
  Make(absl::StrCat(Variable("w"), kLoop, R"(
    zero = Const() {dtype: float, value: float(0)}
    loop = While(zero, x, w) {T: [float, float, resource], cond: @cond, body: @body,
        _lower_using_switch_merge: false}
  )"));
  for (const float w : {2.0f, 3.0f}) {
    Set("w", Pair(w, 1));
    for (int run = 1; run <= 3; ++run) {
      const auto outputs = Run(Pair(run, run), {"loop:1"});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_THAT((*outputs)[0].flat<float>(), ElementsAre(run * std::pow(w, 6), run));
    }
  }
  // Two functions, six or seven calls a loop, of which the first few are not captured.
  EXPECT_GE(NumCaptured(), 40);
}

}  // namespace
}  // namespace tessera
