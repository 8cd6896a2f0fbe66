#include "tests/random_cases/sequence.h"

#include <algorithm>
#include <map>
#include <set>

#include "gtest/gtest.h"
#include "runtime/host/host.h"
#include "runtime/tensor/tensor_proto.h"
#include "tests/random_cases/run_case.h"

namespace tessera {
namespace {

std::vector<tensorflow::NodeDef> CallsOf(const tensorflow::GraphDef& graph) {
  std::vector<tensorflow::NodeDef> calls;
  for (const tensorflow::NodeDef& node : graph.node()) {
    if (node.name().starts_with("op")) calls.push_back(node);
  }
  return calls;
}

bool HasControlFlow(const std::vector<tensorflow::NodeDef>& calls) {
  return std::any_of(calls.begin(), calls.end(), [](const tensorflow::NodeDef& call) {
    return call.op() == "Switch" || call.op() == "RefSwitch" || call.op() == "Enter";
  });
}

TEST(SequenceTest, SeedDecides) {
  for (const bool hostile : {false, true}) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Random one(seed), same(seed);
      EXPECT_EQ(MakeSequence(one, hostile).DebugString(),
                MakeSequence(same, hostile).DebugString());
    }
  }
}

// Branches and loops are left out: an edge from before a loop into it is none that graphs may have.
TEST(SequenceTest, EachCallWaitsForTheOneBefore) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    std::string before;
    const std::vector<tensorflow::NodeDef> calls = CallsOf(MakeSequence(random, false));
    if (HasControlFlow(calls)) continue;
    for (const tensorflow::NodeDef& call : calls) {
      const bool waits =
          std::find(call.input().begin(), call.input().end(), "^" + before) != call.input().end();
      EXPECT_TRUE(before.empty() || waits) << call.DebugString();
      before = call.name();
    }
  }
}

TEST(SequenceTest, AttributesFollowFromTheInputs) {
  Random random(1);
  Sequence sequence(random, false);
  const StepOutput number = sequence.Exactly(Tensor::Scalar(1.f));
  const StepOutput numbers = sequence.Step("Pack", {number, number, number})[0];
  EXPECT_EQ(numbers.dtype, DType::kFloat);
  const tensorflow::GraphDef graph = sequence.Finish();
  EXPECT_EQ(CallsOf(graph)[0].attr().at("N").i(), 3);
  EXPECT_EQ(CallsOf(graph)[0].attr().at("T").type(), tensorflow::DT_FLOAT);
}

TEST(SequenceTest, NothingFollowsAWrongValue) {
  int num_wrong = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    Sequence sequence(random, false);
    const Tensor right = Tensor::Scalar<int32_t>(77);
    const StepOutput given = sequence.Given(right);
    const bool goes_on = sequence.Continues();
    sequence.Step("Neg", {given});
    const tensorflow::GraphDef graph = sequence.Finish();
    const Tensor value = TensorFromProto(graph.node(0).attr().at("value").tensor()).value();
    const bool is_right = value.shape().IsScalar() && value.scalar<int32_t>() == 77;
    EXPECT_EQ(goes_on, is_right) << seed;
    num_wrong += !is_right;
  }
  EXPECT_GT(num_wrong, 5);
  EXPECT_LT(num_wrong, 100);
}

// Most sequences must run to their end: what follows an error is not compared.
TEST(SequenceTest, MostSequencesRun) {
  SessionOptions options;
  options.host =
      std::make_shared<Host>(Host::Options{.intra_op_threads = 1, .inter_op_threads = 1});
  options.default_timeout = absl::Seconds(60);
  std::set<std::string> ops;
  int num_run = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const tensorflow::GraphDef graph = MakeSequence(random, false);
    const CaseResult result = RunCase(graph, options);
    EXPECT_NE(result.status.code(), absl::StatusCode::kDeadlineExceeded) << graph.DebugString();
    if (!result.status.ok()) continue;
    ++num_run;
    for (const tensorflow::NodeDef& call : CallsOf(graph)) ops.insert(call.op());
  }
  EXPECT_GT(num_run, 280);
  EXPECT_GT(ops.size(), 200);
}

}  // namespace
}  // namespace tessera
