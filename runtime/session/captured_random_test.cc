// Captured runs of programs that draw random numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/testing/test_accelerator.h"
#include "runtime/graph/testing/graph_text.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

class CapturedRandomTest : public ::testing::Test {
 protected:
  // A session of these nodes, a shape of three numbers, and a placeholder for a pair of seeds.
  static std::unique_ptr<Session> Make(const std::string& nodes, bool with_accelerator) {
    SessionOptions options;
    if (with_accelerator) options.devices.count["ACCEL"] = 1;
    std::unique_ptr<Session> session = *Session::Create(options);
    tensorflow::GraphDef graph = GraphFromText(absl::StrCat(R"(
      shape = Const() {dtype: int32, value: int32([3])}
      seed = Placeholder() {dtype: int64, shape: <2>}
    )",
                                                            nodes));
    graph.mutable_versions()->set_producer(1000);
    const absl::Status extended = session->Extend(graph);
    CHECK(extended.ok()) << extended;
    return session;
  }
  static int64_t NumCaptured(const Session& session) {
    return static_cast<const TestAccelerator*>(session.ListDevices()[0])->num_captured_enqueued();
  }
  // The values of "y:0" in several runs, with seeds that differ from run to run.
  static std::vector<std::vector<float>> Draws(Session& session, int runs) {
    std::vector<std::vector<float>> draws;
    for (int run = 0; run < runs; ++run) {
      std::vector<Tensor> outputs;
      const absl::Status status =
          session.Run({{"seed:0", Tensor::Vector<int64_t>({run / 2, 7})}}, {"y:0"}, {}, &outputs);
      CHECK(status.ok()) << status;
      const auto flat = outputs[0].flat<float>();
      draws.emplace_back(flat.begin(), flat.end());
    }
    return draws;
  }
  static void RunTarget(Session& session, const std::string& target) {
    const absl::Status status = session.Run({}, {}, {target}, nullptr);
    CHECK(status.ok()) << status;
  }
  // Expects that captured runs draw what the CPU draws, and that they are captured.
  static void ExpectDrawsOfTheCpu(const std::string& nodes) {
    constexpr int kRuns = 6;
    const std::unique_ptr<Session> cpu = Make(nodes, /*with_accelerator=*/false);
    const std::unique_ptr<Session> accelerator = Make(nodes, /*with_accelerator=*/true);
    EXPECT_EQ(Draws(*accelerator, kRuns), Draws(*cpu, kRuns));
    // All runs but the first.
    EXPECT_EQ(NumCaptured(*accelerator), kRuns - 1);
  }
};

TEST_F(CapturedRandomTest, GeneratorsOfNodesGoOn) {
  ExpectDrawsOfTheCpu(R"(
    uniform = RandomUniform(shape) {dtype: float, T: int32, seed: 5}
    normal = RandomStandardNormal(shape) {dtype: float, T: int32, seed: 6}
    any_seed = Cast(seed) {SrcT: int64, DstT: float}
    axis = Const() {dtype: int32, value: int32(0)}
    same = Sum(any_seed, axis) {T: float}
    sum = AddV2(uniform, normal) {T: float}
    y = AddV2(sum, same) {T: float}
  )");
}

TEST_F(CapturedRandomTest, ClassesAreDrawnByGeneratorsOfNodes) {
  ExpectDrawsOfTheCpu(R"(
    logits = Cast(seed) {SrcT: int64, DstT: float}
    rows = Const() {dtype: int32, value: int32([1, 2])}
    matrix = Reshape(logits, rows) {T: float}
    count = Const() {dtype: int32, value: int32(20)}
    drawn = Multinomial(matrix, count) {T: float, seed: 5}
    y = Cast(drawn) {SrcT: int64, DstT: float}
  )");
}

TEST_F(CapturedRandomTest, SeedsAreReadInEachRun) {
  ExpectDrawsOfTheCpu(R"(
    y = StatelessRandomUniform(shape, seed) {dtype: float}
  )");
}

TEST_F(CapturedRandomTest, KeysAreMadeOfSeedsInEachRun) {
  ExpectDrawsOfTheCpu(R"(
    key = StatelessRandomGetKeyCounter(seed)
    alg = StatelessRandomGetAlg()
    y = StatelessTruncatedNormalV2(shape, key, key:1, alg) {dtype: float}
  )");
}

TEST_F(CapturedRandomTest, SeedsThatTheDeviceComputes) {
  ExpectDrawsOfTheCpu(R"(
    next = AddV2(seed, seed) {T: int64}
    y = StatelessRandomNormal(shape, next) {dtype: float}
  )");
}

TEST_F(CapturedRandomTest, GeneratorsInVariablesGoOn) {
  // As tf.random.Generator draws, and by the older ops. The counter carries into its upper half.
  const std::string nodes = R"(
    state = VarHandleOp() {dtype: int64, shape: <3>, shared_name: "state"}
    first = Const() {dtype: int64, value: int64([-300, 1, 77])}
    init = AssignVariableOp(state, first) {dtype: int64}
    read = ReadVariableOp(state) {dtype: int64}
    alg = Const() {dtype: int32, value: int32(1)}
    numbers = Const() {dtype: int64, value: int64(3)}
    delta = Cast(numbers) {SrcT: int64, DstT: uint64}
    skipped = RngReadAndSkip(state, alg, delta)
    words = Bitcast(skipped) {T: int64, type: uint64}
    zero = Const() {dtype: int32, value: int32([0])}
    two = Const() {dtype: int32, value: int32([2])}
    three = Const() {dtype: int32, value: int32([3])}
    one = Const() {dtype: int32, value: int32([1])}
    counter = StridedSlice(words, zero, two, one) {T: uint64, Index: int32}
    key = StridedSlice(words, two, three, one) {T: uint64, Index: int32}
    uniform = StatelessRandomUniformV2(shape, key, counter, alg) {dtype: float}
    algorithm = Const() {dtype: int64, value: int64(1)}
    normal = StatefulStandardNormalV2(state, algorithm, shape, ^skipped) {dtype: float, shape_dtype: int32}
    any_seed = Cast(seed) {SrcT: int64, DstT: float}
    axis = Const() {dtype: int32, value: int32(0)}
    same = Sum(any_seed, axis) {T: float}
    sum = AddV2(uniform, normal) {T: float}
    y = AddV2(sum, same) {T: float}
  )";
  const std::unique_ptr<Session> cpu = Make(nodes, /*with_accelerator=*/false);
  const std::unique_ptr<Session> accelerator = Make(nodes, /*with_accelerator=*/true);
  RunTarget(*cpu, "init");
  RunTarget(*accelerator, "init");
  EXPECT_EQ(Draws(*accelerator, 6), Draws(*cpu, 6));
  EXPECT_EQ(NumCaptured(*accelerator), 5);
  std::vector<Tensor> states[2];
  ASSERT_TRUE(cpu->Run({}, {"read:0"}, {}, &states[0]).ok());
  ASSERT_TRUE(accelerator->Run({}, {"read:0"}, {}, &states[1]).ok());
  EXPECT_EQ(states[0][0].flat<int64_t>()[1], 2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(states[0][0].flat<int64_t>()[i], states[1][0].flat<int64_t>()[i]);
  }
}

TEST_F(CapturedRandomTest, StatesThatAreNoneAreRefusedOnDevices) {
  const std::unique_ptr<Session> session = Make(R"(
    state = VarHandleOp() {dtype: int64, shape: <2>, shared_name: "state"}
    first = Const() {dtype: int64, value: int64([1, 2])}
    init = AssignVariableOp(state, first) {dtype: int64}
    alg = Const() {dtype: int64, value: int64(1)}
    y = StatefulUniform(state, alg, shape) {dtype: float, shape_dtype: int32}
  )",
                                                /*with_accelerator=*/true);
  RunTarget(*session, "init");
  std::vector<Tensor> outputs;
  const absl::Status status = session->Run({}, {"y:0"}, {}, &outputs);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      testing::HasSubstr("must be a vector of three int64 or more, is of int64 and shape [2]"));
}

TEST_F(CapturedRandomTest, NumbersWithoutASeedDifferInEachRun) {
  const std::unique_ptr<Session> session = Make(R"(
    sizes = Const() {dtype: int64, value: int64([8])}
    drawn = NonDeterministicInts(sizes) {dtype: int32}
    axis = Const() {dtype: int32, value: int32(0)}
    numbers = Cast(drawn) {SrcT: int32, DstT: float}
    any_seed = Cast(seed) {SrcT: int64, DstT: float}
    same = Sum(any_seed, axis) {T: float}
    y = AddV2(numbers, same) {T: float}
  )",
                                                /*with_accelerator=*/true);
  const auto draws = Draws(*session, 6);
  for (size_t run = 1; run < draws.size(); ++run) EXPECT_NE(draws[run], draws[run - 1]);
  EXPECT_EQ(NumCaptured(*session), 5);
}

// A loop's body draws anew in each of its iterations.
TEST_F(CapturedRandomTest, BodiesOfLoopsDrawInEachIteration) {
  const std::string nodes = R"(
    def goes_on(i: int32, sum: float) -> (more: bool):
      end = Const() {dtype: int32, value: int32(10)}
      less = Less(i, end:output:0) {T: int32}
    return (more = less:z:0)
    stateful def step(i: int32, sum: float) -> (next: int32, total: float):
      one = Const() {dtype: int32, value: int32(1)}
      sizes = Const() {dtype: int32, value: int32([3])}
      plus = AddV2(i, one:output:0) {T: int32}
      drawn = RandomUniform(sizes:output:0) {dtype: float, T: int32, seed: 9}
      added = AddV2(sum, drawn:output:0) {T: float}
    return (next = plus:z:0, total = added:z:0)
    zero = Const() {dtype: int32, value: int32(0)}
    start = StatelessRandomUniform(shape, seed) {dtype: float}
    loop = While(zero, start) {T: [int32, float], cond: @goes_on, body: @step}
    y = Identity(loop:1) {T: float}
  )";
  const std::unique_ptr<Session> cpu = Make(nodes, /*with_accelerator=*/false);
  const std::unique_ptr<Session> accelerator = Make(nodes, /*with_accelerator=*/true);
  EXPECT_EQ(Draws(*accelerator, 4), Draws(*cpu, 4));
  EXPECT_GE(NumCaptured(*accelerator), 30);
}

}  // namespace
}  // namespace tessera
